// LeaseAdapter: connects one queue of an engine with a lease backend. It enqueues the attempts of
// the queue there, and turns the signals of workers into dispatch facts.
//
// Two threads, each with a handle of its own: one sends items and keeps time for the backend, one
// receives signals. A signal is acknowledged after its facts are durable and its answer is sent. If
// the backend fails, both threads try again, with back-off; then everything that is pending in the
// journal is ensured in the backend again. All members may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/retry_pause.h"
#include "base/threads.h"
#include "runs/engine/engine_loop.h"
#include "runs/lease_adapter/lease_commands.h"

namespace holdfast {

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

class LeaseAdapter {
 public:
  // The loop must outlive it, and must carry the queue (CoreOptions::carried_queues).
  LeaseAdapter(Loop& loop, SharedText queue, OpenLeaseBackend open);
  ~LeaseAdapter() { stop(); }
  LeaseAdapter(const LeaseAdapter&) = delete;
  LeaseAdapter& operator=(const LeaseAdapter&) = delete;

  // The backend need not be available. io_error when threads cannot be started.
  Result<void> start();
  // Before the loop is closed. Items stay in the backend.
  void stop();

  [[nodiscard]] const SharedText& queue() const { return queue_; }
  // New attempts of the queue. Only hints: the adapter finds attempts by itself, later.
  void wake(const std::vector<SharedText>& keys);

  [[nodiscard]] TimeMs now() { return loop_.clock().now(); }
  LeaseHealth health();
  // What is known about the items of a run, by the keys of their attempts.
  std::map<SharedText, KnownItem> items_of(const RunId& run);

 private:
  using Lock = std::unique_lock<std::mutex>;
  using SteadyClock = std::chrono::steady_clock;

  // Work for the thread that sends.
  struct Outbox {
    std::vector<SharedText> added;           // perhaps new
    std::map<SharedText, TimeMs> take_back;  // from a worker; visible from then on
    std::vector<SharedText> remove;
  };

  void send_all();
  void receive_all();
  Result<void> send_once(LeaseBackend& backend);
  Result<void> send_outbox(LeaseBackend& backend, const Outbox& outbox);
  Result<void> scan(LeaseBackend& backend);
  Result<void> put(LeaseBackend& backend, const std::vector<ItemPlan::Put>& puts);
  Result<void> put_some(LeaseBackend& backend, const std::vector<ItemPlan::Put>& puts,
                        EnqueueMode mode);
  Result<void> fail_dead_letters(LeaseBackend& backend, const std::vector<std::string>& ids);
  Result<void> remove(LeaseBackend& backend, const std::vector<SharedText>& keys);
  Result<void> handle(LeaseBackend& backend, const std::vector<LeaseSignal>& signals);
  Result<std::vector<SignalOutcome>> decide(const std::vector<LeaseSignal>& signals);
  void note(const LeaseSignal& signal, const SignalOutcome& outcome);
  void check_epoch(const std::string& epoch);
  // The backend failed: waits before the next try. False: the adapter stops.
  bool pause_after(const Error& why, std::chrono::milliseconds pause);
  void reached();
  void wait_for_work();
  bool stopping();

  Loop& loop_;
  const SharedText queue_;
  const OpenLeaseBackend open_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  bool stopping_ = false;
  bool scan_requested_ = true;
  Outbox outbox_;
  KnownItems known_;
  std::string epoch_;
  LeaseHealth health_;
  bool was_reached_ = false;
  std::optional<TimeMs> next_lease_end_;
  SteadyClock::time_point next_scan_ = {};

  ThreadGroup threads_;
};

}  // namespace holdfast
