// Drain: carries the rows of an outbox to the broker. One thread keeps the connection: it
// negotiates before anything is sent, tries the brokers in turn, and continues to try. The others
// send, each from one lane at a time.
//
//   a transient answer     its lane waits
//   429                    everything waits as long as the broker requires, then one lane tries
//   401, 403, 426          everything waits until a negotiation succeeds; tried every 30 s at least
//   no connection          everything waits for one; no row is an attempt older
//
// Nothing is logged per row: changes of the connection are, and how many rows were given up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "apps/daemon/broker_link.h"
#include "apps/server/server_log.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/threads.h"
#include "delivery/daemon/backoff.h"
#include "delivery/daemon/lane_board.h"
#include "delivery/daemon/outbox.h"

namespace holdfast::delivery {

struct DrainOptions {
  BrokerSettings broker = {};
  std::size_t senders = 8;
  BackoffSettings backoff = {};
  std::int64_t longest_probe_ms = 30'000;
  std::int64_t renegotiate_ms = 600'000;
  std::uint64_t poison_after = 20;  // equal answers of 5xx, while others get through
  std::int64_t poison_wait_ms = 300'000;
};

struct DrainCounters {
  std::atomic<std::uint64_t> sent = 0;  // accepted by the broker
  std::atomic<std::uint64_t> dead = 0;
  std::atomic<std::uint64_t> expired = 0;
  std::atomic<std::uint64_t> transient = 0;
  std::atomic<std::uint64_t> ambiguous = 0;
  std::atomic<std::uint64_t> unsent = 0;
  std::atomic<std::uint64_t> fenced = 0;
  std::atomic<std::uint64_t> parked = 0;
  std::atomic<std::uint64_t> history_pruned = 0;
  std::atomic<std::uint64_t> connects = 0;
};

struct DrainStatus {
  bool connected = false;
  bool paused = false;  // by the broker
  std::string broker;   // URL; of the connection
  std::string trouble;  // why there is no connection
  std::size_t inflight = 0;
  std::int64_t max_age_ms = 0;
  std::uint64_t inline_bytes = 0;
};

class Drain {
 public:
  // All must outlive it. clock must not go backwards.
  Drain(Outbox& outbox, DrainOptions options, Clock& clock, Random& random, ServerLog& log);
  ~Drain() { stop(); }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  Result<void> start();
  // What is on its way is completed or left to the next start; returns when all threads have ended.
  void stop();
  // The lane has a new row.
  void wake(const Lane& lane);

  [[nodiscard]] DrainStatus status();
  [[nodiscard]] const DrainCounters& counters() const { return counters_; }
  // Whether the broker has a row. unknown without a connection.
  BrokerKnowledge query(const OutboxEntry& entry);
  // Another request of the member. unavailable without a connection; the errors of the broker.
  Result<std::string> call(const BrokerRequest& request);
  void set_backoff(const BackoffSettings& backoff);

 private:
  using Session = std::shared_ptr<const BrokerSession>;

  Session current_session();
  void keep_connection();
  void connect();
  void connected(BrokerSession session);
  void not_connected(const Error& error);
  void lose(const Session& session, const std::string& why);
  void release_leases();

  void send_rows();
  void work_on(const Lane& lane, const Session& session);
  bool step(const Lane& lane, const Session& session, OutboxEntry entry,
            std::optional<Claim>& next);
  void account(const Transmitted& sent, Completed completed);
  void settle(const Lane& lane, const Claim& claim);
  [[nodiscard]] ClaimTerms terms(const BrokerSession& session);
  Completion planned(const OutboxEntry& entry, Completion completion, std::int64_t pause_ms);
  std::int64_t now() { return clock_.now().value; }
  BackoffSettings current_backoff();
  void wait(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
            std::int64_t until);

  Outbox& outbox_;
  const DrainOptions options_;
  Clock& clock_;
  Random& random_;
  ServerLog& log_;
  DrainCounters counters_;
  std::stop_source stop_;

  std::mutex mutex_;  // guards what follows
  BackoffSettings backoff_;
  std::condition_variable changed_;  // of the board, for senders
  std::condition_variable lost_;     // of the connection, for the thread that keeps it
  LaneBoard board_;
  Session session_;
  std::string trouble_ = "not connected yet";
  std::int64_t next_connect_ = 0;
  std::uint64_t failed_connects_ = 0;
  std::int64_t last_success_ = INT64_MIN;

  ThreadGroup threads_;
};

}  // namespace holdfast::delivery
