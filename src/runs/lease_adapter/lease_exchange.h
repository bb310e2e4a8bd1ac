// LeaseExchange: what one queue of an engine and its lease backend exchange. It enqueues the
// attempts of the queue there, and turns the signals of workers into dispatch facts.
//
// It has no threads and reads no clock: its caller calls send_round() and receive_round(), each
// with a handle of its own, and says when a backend has failed. A signal is acknowledged after its
// facts are durable and its answer is sent. After a failure, everything that is pending in the
// journal is ensured in the backend again. All members may be called from any thread; of each kind
// of round, one at a time.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runs/lease_adapter/lease_commands.h"

namespace holdfast {

// The engine, as an exchange needs it.
class LeaseEngine {
 public:
  virtual ~LeaseEngine() = default;
  // Decides in the loop, and returns when everything that the decision read is durable. The
  // decision may be made several times; the last one counts.
  virtual Result<void> execute(std::function<Result<void>(Turn&)> decide) = 0;
  virtual TimeMs now() = 0;
  // Of a clock that is never set.
  virtual std::chrono::milliseconds elapsed() = 0;
  virtual Journal& journal() = 0;
  // Who the engine is when it claims something itself.
  virtual Applicant applicant() = 0;
};

// How a backend is doing.
struct LeaseHealth {
  std::string queue;
  std::string backend;                      // its name
  std::optional<Error> why;                 // it cannot be reached
  std::optional<TimeMs> unreachable_since;  // set together with why
  std::optional<TimeMs> next_try_at;        // likewise
  std::optional<LeaseTick> tick;            // what it last reported
  std::uint64_t reconnects = 0;
};

class LeaseExchange {
 public:
  // The engine must outlive it. work_added: called when a send round has something new to do.
  LeaseExchange(LeaseEngine& engine, SharedText queue, std::function<void()> work_added);

  [[nodiscard]] const SharedText& queue() const { return queue_; }
  // New attempts of the queue. Only hints: the exchange finds attempts by itself, later.
  void wake(const std::vector<SharedText>& keys);
  // The journal is compared with the backend in the next round.
  void request_scan();
  LeaseHealth health();
  // What is known about the items of a run, by the keys of their attempts.
  std::map<SharedText, KnownItem> items_of(const RunId& run);

  // Sends what is new, and keeps time for the backend.
  Result<void> send_round(LeaseBackend& backend);
  // When the next one is due, unless work is added before.
  std::chrono::milliseconds until_next_send();
  // Waits for signals, or a short time.
  Result<void> receive_round(LeaseBackend& backend);
  // A round failed, or a handle could not be opened; the next try comes after this pause.
  void failed(const Error& why, std::chrono::milliseconds pause);

 private:
  using Lock = std::scoped_lock<std::mutex>;
  // Work for the next send round.
  struct Outbox {
    std::vector<SharedText> added;                  // perhaps new
    std::map<SharedText, ItemPlan::Put> take_back;  // from a worker
  };

  template <typename T>
  Result<T> execute(std::function<Result<T>(Turn&)> decide);
  Result<void> send_outbox(LeaseBackend& backend, const Outbox& outbox);
  Result<void> scan(LeaseBackend& backend);
  Result<void> put(LeaseBackend& backend, const std::vector<ItemPlan::Put>& puts);
  Result<void> put_some(LeaseBackend& backend, const std::vector<ItemPlan::Put>& puts,
                        EnqueueMode mode);
  Result<void> fail_dead_letters(LeaseBackend& backend, const std::vector<std::string>& ids);
  Result<void> remove(LeaseBackend& backend, const std::vector<SharedText>& keys);
  Result<void> handle(LeaseBackend& backend, const std::vector<LeaseSignal>& signals);
  // False: nothing was added.
  bool note(const LeaseSignal& signal, const SignalOutcome& outcome);
  void check_epoch(const std::string& epoch);
  void reached(const LeaseTick& tick);

  LeaseEngine& engine_;
  const SharedText queue_;
  const std::function<void()> work_added_;
  std::mutex mutex_;  // guards what follows
  bool scan_requested_ = true;
  Outbox outbox_;
  KnownItems known_;
  std::string epoch_;
  LeaseHealth health_;
  bool was_reached_ = false;
  std::optional<TimeMs> next_lease_end_;
  std::chrono::milliseconds next_scan_{0};
};

}  // namespace holdfast
