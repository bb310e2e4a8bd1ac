// RemoteWorker: executes attempts of a server in this process.
//
// A number of threads execute handlers. Besides these, one thread sends reports in batches, each
// together with a claim request; one waits on the server for work; one sends heartbeats. If
// handlers are short compared to a round trip, the worker claims ahead: as many attempts as it can
// execute in that time.
//
// A call without a response is repeated under the same name until there is one, so that no result
// is lost and no claim is forgotten.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/client/attempt_handlers.h"
#include "apps/client/client_api.h"
#include "apps/client/work_messages.h"
#include "base/shared_text.h"
#include "holdfast/client.h"
#include "runs/facts/ids.h"

namespace holdfast::client {

using Instant = std::chrono::steady_clock::time_point;

struct WorkPlan {
  std::size_t threads = 1;
  std::size_t max_claimed = 1000;          // attempts claimed at the same time, at most
  std::chrono::milliseconds wait{30'000};  // the longest wait of one claim request on the server
  std::chrono::milliseconds patience{
      30'000};  // how long a stopped worker keeps calling an unavailable server
  std::vector<std::string> queues = {};
  std::function<void(const WorkEvent&)> observe = nullptr;
};

class RemoteWorker {
 public:
  // The arguments must outlive run().
  RemoteWorker(Api& api, const WorkerIdentity& worker,
               std::shared_ptr<const AttemptHandlers> handlers, WorkPlan plan);

  // Runs until stop is requested; attempts claimed by then are still executed and reported. Returns
  // the error that made it impossible to continue. Call it once.
  Result<void> run(const std::stop_token& stop);

 private:
  using Lock = std::unique_lock<std::mutex>;

  // An attempt from its claim to the response to its report.
  struct Held {
    ClaimedAttempt attempt;
    std::stop_source stop;
    Payload progress;
    Instant confirmed;    // when the server last confirmed the claim
    bool waiting = true;  // in ready_
    bool lost = false;
  };
  using HeldPtr = std::shared_ptr<Held>;
  struct Finished {
    HeldPtr held;
    Report report;
    StepResult::Kind kind = StepResult::Kind::ok;
    std::string message;
    std::chrono::milliseconds taken{0};
    bool replaced = false;  // the server rejected the original report
  };

  // Threads.
  void execute_all();
  void claim_all();
  void report_all();
  void keep_alive();

  void execute(Lock& lock, const HeldPtr& held);
  AttemptOutcome call(const HeldPtr& held);
  Result<StartedRun> start_child(const ClaimedAttempt& parent, std::string_view workflow,
                                 std::string_view key, std::string_view input,
                                 const ChildOptions& options);

  // One claim request, repeated until it has a response or is pointless.
  void claim_once(Lock& lock, RetryPause& backoff);
  void rest(Lock& lock, std::chrono::milliseconds time);
  void send_reports(Lock& lock, RetryPause& backoff);
  std::vector<Finished> next_batch();
  // Repeats the call until it has a response; empty if that is pointless.
  std::optional<ReportResponse> deliver(Lock& lock, std::vector<Finished>& batch,
                                        AttemptsRequest& claim, RetryPause& backoff);
  // The server rejected a batch as a whole: true if a part of it can be sent instead.
  bool split_or_replace(std::vector<Finished>& batch, const Error& why);
  void settle(Lock& lock, const std::vector<Finished>& batch, const ReportResponse& answer);
  void send_heartbeats(Lock& lock);
  void apply_results(Lock& lock, const std::vector<HeartbeatResult>& results);

  void take(std::vector<ClaimedAttempt> attempts);
  [[nodiscard]] std::size_t target() const;
  [[nodiscard]] std::size_t claimable() const;
  [[nodiscard]] bool all_executed() const;
  [[nodiscard]] std::chrono::milliseconds heartbeat_interval() const;
  // True: try again. False: the worker has failed. `since`: when the first try began.
  bool may_retry(Lock& lock, const Error& error, Instant since);
  void request_stop();
  void fail(Lock& lock, const Error& error);
  void set_reachable(Lock& lock, bool reachable, const std::string& why);
  void notify(Lock& lock, const WorkEvent& event);
  void note_draining(Lock& lock, bool draining);
  // A request for as many attempts as can be executed, with a name of its own.
  AttemptsRequest next_request();

  Api& api_;
  std::shared_ptr<const AttemptHandlers> handlers_;
  WorkPlan plan_;
  WorkerIdentity worker_;
  AttemptsRequest offer_;      // its queues and handlers
  std::stop_source claiming_;  // stopped with the worker: ends waiting claim requests
  std::stop_source calling_;   // stopped when no call can succeed any more

  std::mutex mutex_;  // guards what follows
  std::condition_variable ready_changed_;
  std::condition_variable finished_changed_;
  std::condition_variable claimable_changed_;
  std::condition_variable held_changed_;
  std::deque<HeldPtr> ready_;
  std::unordered_map<SharedText, HeldPtr, SharedTextHash, SharedTextEqual> held_;  // by claim id
  std::deque<Finished> finished_;
  std::size_t running_ = 0;
  std::size_t requested_ = 0;  // attempts that pending calls may return
  bool reporting_ = false;     // a report call is pending
  std::size_t executors_ = 0;  // threads that may still execute
  std::size_t batch_limit_;
  std::uint64_t shortest_lease_ms_ = 0;  // 0: unknown
  std::uint64_t requests_ = 0;
  bool stopping_ = false;
  bool reported_ = false;  // everything is reported
  bool reachable_ = true;
  bool draining_ = false;
  Instant stopped_at_ = {};
  std::optional<Error> failure_;
  double handler_us_ = 1000;  // moving averages
  double round_trip_us_ = 0;
};

}  // namespace holdfast::client
