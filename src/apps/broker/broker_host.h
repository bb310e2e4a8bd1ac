// BrokerHost: a broker in this process: its store, limiter, jobs, and the threads that serve its
// requests. It has no listener of its own: BrokerServer gives it one, `holdfast server` another.
//
// Threads wait for the store in place of the threads of connections. Messages have a thread of
// their own, which accepts all that wait in one commit, and deliveries have threads too, so that a
// long read does not delay them.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "apps/broker/broker_jobs.h"
#include "apps/broker/broker_service.h"
#include "apps/broker/delivery_polls.h"
#include "apps/broker/message_loop.h"
#include "apps/broker/push_hub.h"
#include "apps/broker/webhook_sender.h"
#include "apps/server/readers.h"
#include "apps/server/server_log.h"
#include "delivery/broker/broker.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/commit_notifier.h"
#include "delivery/broker/postgres_commit_link.h"
#include "delivery/broker/rate_limiter.h"
#include "net/http_server.h"

namespace holdfast::delivery {

// sqlite:PATH or postgres://…; creates it, or brings its tables up to date. invalid_url, and the
// errors of the stores.
Result<std::unique_ptr<BrokerStore>> open_broker_store(const std::string& url,
                                                       const FaultHook& fault = {});

// The store of the URL to read it, also while a broker uses it; it must exist.
Result<std::unique_ptr<BrokerStore>> open_broker_snapshot(const std::string& url);

// Whether other brokers may use the same store.
enum class BrokerCount : std::uint8_t { single, several };

struct BrokerHostOptions {
  std::string store = "sqlite:broker.db";
  // memory, or memory:PATH for the file that keeps the counters; redis://… or redis+unix://….
  std::string limiter = "memory";
  BrokerCount brokers = BrokerCount::several;
  std::string admin_token = {};  // empty: none
  DedupeAdvertising dedupe = DedupeAdvertising::advertised;
  JobTimes jobs = {};
  DeliveryRules deliveries = {};
  PushOptions push = {};
  WebhookOptions webhooks = {};  // `several` is set by the store
  std::size_t delivery_threads = 32;
  std::size_t read_threads = 2;
  FaultHook fault = {};  // empty outside tests
};

class BrokerHost {
 public:
  // clock, random and log must outlive it. invalid_argument: a limiter that does not exist, or one
  // of a single broker for a store of several. invalid_url: a Redis URL that is not valid.
  static Result<std::unique_ptr<BrokerHost>> start(const BrokerHostOptions& options, Clock& clock,
                                                   Random& random, ServerLog& log);
  ~BrokerHost() { stop(); }
  BrokerHost(const BrokerHost&) = delete;
  BrokerHost& operator=(const BrokerHost&) = delete;

  // Its connections are part of the metrics until it is null again.
  void set_listener(const net::HttpServer* listener) { service_->listener = listener; }
  // Any thread; the response follows later.
  void serve(const net::ExchangePtr& exchange);
  // Requests that wait for deliveries are answered now, and later ones do not wait.
  void release_polls();
  // Requests that were taken are still answered.
  void stop();

 private:
  BrokerHost(const BrokerHostOptions& options, Clock& clock, Random& random, ServerLog& log);
  Result<void> open(const BrokerHostOptions& options);
  Result<void> start_webhooks(const BrokerHostOptions& options);
  void log_failure(const net::Request& request, const Served& served);
  void give_all(std::vector<ServedRequest> served);
  void serve_poll(const DeliveryPollPtr& poll);
  void serve_other(const net::ExchangePtr& exchange);

  Clock& clock_;
  Random& random_;
  ServerLog& log_;
  std::mutex failures_mutex_;
  std::chrono::steady_clock::time_point next_failure_line_ = {};  // guarded by failures_mutex_
  std::uint64_t failures_not_logged_ = 0;                         // guarded by failures_mutex_
  BrokerMetrics metrics_;
  std::unique_ptr<BrokerStore> store_;
  std::unique_ptr<PostgresCommitLink> link_;  // of a store of several brokers
  std::unique_ptr<RateLimiter> limiter_;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<Deliveries> deliveries_;
  std::unique_ptr<Queues> queues_;
  std::unique_ptr<DeliveryPolls> polls_;
  std::unique_ptr<DeliveryPolls> queue_polls_;
  std::optional<CommitWatcher> watcher_;  // wakes the polls; also for commits of other brokers
  std::unique_ptr<BrokerService> service_;
  std::unique_ptr<PushHub> push_;
  std::optional<CommitWatcher> push_watcher_;
  std::unique_ptr<WebhookSender> webhooks_;
  std::optional<CommitWatcher> webhook_watcher_;
  std::unique_ptr<BrokerJobs> jobs_;
  std::unique_ptr<MessageLoop> messages_;
  std::unique_ptr<Readers> receives_;  // deliveries
  std::unique_ptr<Readers> reads_;
};

}  // namespace holdfast::delivery
