// RemoteWorker: executes attempts of a server in this process.
//
// So many threads execute. Beside them one reports what is done, in batches, together with the wish
// for more; one waits at the server while there is nothing to do; one keeps claims alive. Claimed
// is a little ahead when handlers are short against a round trip: as many attempts as can be
// executed in the meantime.
//
// A call without an answer is repeated under the same name until there is one, so that no result is
// lost and no claim forgotten.
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
  std::size_t max_claimed = 1000;              // attempts at once, at most
  std::chrono::milliseconds wait{30'000};      // of one look for work, at the server
  std::chrono::milliseconds patience{30'000};  // for the server, once it was stopped
  std::vector<std::string> queues = {};
  std::function<void(const WorkEvent&)> observe = nullptr;
};

class RemoteWorker {
 public:
  // What is given outlives run().
  RemoteWorker(Api& api, const WorkerIdentity& worker,
               std::shared_ptr<const AttemptHandlers> handlers, WorkPlan plan);

  // Until stop is requested; what was claimed by then is still executed and reported. The error is
  // what made it impossible to go on. Once.
  Result<void> run(const std::stop_token& stop);

 private:
  using Lock = std::unique_lock<std::mutex>;

  // An attempt from its claim to the answer to its report.
  struct Held {
    ClaimedAttempt attempt;
    std::stop_source stop;
    Payload progress;
    Instant beaten;       // when the server last said that it is ours
    bool waiting = true;  // in ready_
    bool lost = false;
  };
  using HeldPtr = std::shared_ptr<Held>;
  struct Finished {
    HeldPtr held;
    std::string report;
    StepResult::Kind kind = StepResult::Kind::ok;
    std::string message;
    std::chrono::milliseconds taken{0};
    bool replaced = false;  // the report itself could not be taken
  };

  // Threads.
  void execute_all();
  void look_for_work();
  void report_all();
  void keep_alive();

  void execute(Lock& lock, const HeldPtr& held);
  AttemptOutcome call(const HeldPtr& held);
  Result<StartedRun> start_child(const ClaimedAttempt& parent, std::string_view workflow,
                                 std::string_view key, std::string_view input,
                                 const ChildOptions& options);

  // One look, repeated until it was answered or there is no more use in it.
  void look_once(Lock& lock, RetryPause& backoff);
  void rest(Lock& lock, std::chrono::milliseconds time);
  void send_reports(Lock& lock, RetryPause& backoff);
  std::vector<Finished> next_batch();
  // Until it is answered; empty when there is no more use in it.
  std::optional<WorkAnswer> deliver(Lock& lock, std::vector<Finished>& batch, ClaimWish& wish,
                                    RetryPause& backoff);
  // True when something else can be tried with a batch that was refused as a whole.
  bool split_or_replace(std::vector<Finished>& batch, const Error& why);
  void settle(Lock& lock, const std::vector<Finished>& batch, const WorkAnswer& answer);
  void beat(Lock& lock);
  void take_news(Lock& lock, const std::vector<ClaimNews>& news);

  void take(std::vector<ClaimedAttempt> attempts);
  [[nodiscard]] std::size_t target() const;
  [[nodiscard]] std::size_t wanted() const;
  [[nodiscard]] bool all_executed() const;
  [[nodiscard]] std::chrono::milliseconds beat_interval() const;
  // True: try again. False: it is over, for good. `since`: when the first try began.
  bool may_go_on(Lock& lock, const Error& error, Instant since);
  void request_stop();
  void fail(Lock& lock, const Error& error);
  void set_reachable(Lock& lock, bool reachable, const std::string& why);
  void tell(Lock& lock, const WorkEvent& event);
  void note_draining(Lock& lock, bool draining);
  std::string next_request() { return std::to_string(++requests_); }

  Api& api_;
  std::shared_ptr<const AttemptHandlers> handlers_;
  WorkPlan plan_;
  WorkWriter writer_;
  std::stop_source looking_;  // stopped with the worker: no more waiting at the server
  std::stop_source calling_;  // stopped when there is no use in any call

  std::mutex mutex_;  // guards what follows
  std::condition_variable ready_changed_;
  std::condition_variable finished_changed_;
  std::condition_variable wish_changed_;
  std::condition_variable held_changed_;
  std::deque<HeldPtr> ready_;
  std::unordered_map<SharedText, HeldPtr, SharedTextHash, SharedTextEqual> held_;  // by claim id
  std::deque<Finished> finished_;
  std::size_t running_ = 0;
  std::size_t asked_ = 0;      // attempts that calls under way may bring
  bool reporting_ = false;     // a report is under way
  std::size_t executors_ = 0;  // threads that may still execute
  std::size_t batch_limit_;
  std::uint64_t shortest_lease_ms_ = 0;  // 0: none is known
  std::uint64_t requests_ = 0;
  bool stopping_ = false;
  bool reported_ = false;  // nothing more will be held
  bool reachable_ = true;
  bool told_draining_ = false;
  Instant stopped_at_ = {};
  std::optional<Error> failure_;
  double handler_us_ = 1000;  // moving averages
  double round_trip_us_ = 0;
};

}  // namespace holdfast::client
