// BrokerMetrics: what a broker counts besides its messages, and all of it in the text format of
// Prometheus. Counting is safe from any thread and never blocks.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "apps/server/metrics.h"
#include "base/clock.h"
#include "delivery/broker/broker.h"
#include "delivery/broker/broker_listing.h"
#include "delivery/broker/deliveries.h"
#include "delivery/broker/queues.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/rejection.h"
#include "holdfast/result.h"
#include "net/http_server.h"

namespace holdfast::delivery {

enum class BrokerJob : std::uint8_t { sweep, orphan_check, lease_sweep };
inline constexpr std::size_t kBrokerJobs = 3;
inline constexpr std::size_t kPriorities = 3;
#define HOLDFAST_COUNT_REJECTION(...) +1
inline constexpr std::size_t kRejections = 0 HOLDFAST_DELIVERY_REJECTIONS(HOLDFAST_COUNT_REJECTION);
#undef HOLDFAST_COUNT_REJECTION

class DeliveryPolls;
class PushHub;
class WebhookSender;

// What counts for itself; null: there is none.
struct MetricsSources {
  const Broker* broker = nullptr;
  const Deliveries* deliveries = nullptr;
  const Queues* queues = nullptr;
  const DeliveryPolls* polls = nullptr;
  const DeliveryPolls* queue_polls = nullptr;
  const PushHub* push = nullptr;
  const WebhookSender* webhooks = nullptr;
  const net::HttpServer* listener = nullptr;
};

class BrokerMetrics {
 public:
  BrokerMetrics();

  void accept_took(std::chrono::steady_clock::duration time);
  // What the sender of a message got.
  void count_answer(const Result<AcceptReply>& reply, Priority priority);
  // A setting that would lose dedupe rows before their messages, or is otherwise not valid.
  void count_misconfig() { ++misconfig_; }
  void job_ended(BrokerJob job, const Result<void>& result, TimeMs now);
  void orphans_found(std::uint64_t rows) { orphans_ = rows; }

  // depth: no value when the store cannot be read.
  [[nodiscard]] std::string text(const MetricsSources& sources, const Result<DeliveryDepth>& depth,
                                 TimeMs now) const;

 private:
  using Count = std::atomic<std::uint64_t>;
  struct Job {
    Count runs = 0;
    Count failures = 0;
    std::atomic<std::int64_t> last_success_ms = 0;
  };

  void write_answers(MetricsText& text) const;
  void write_jobs(MetricsText& text) const;

  Histogram<14> accept_us_;
  std::array<Count, kPriorities> routed_{};
  std::array<Count, kRejections> rejected_{};
  Count misconfig_ = 0;
  Count orphans_ = 0;
  std::array<Job, kBrokerJobs> jobs_;
};

}  // namespace holdfast::delivery

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<delivery::BrokerJob>[] = {"sweep", "orphan_check",
                                                                       "lease_sweep"};

}  // namespace holdfast
