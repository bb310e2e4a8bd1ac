#include "apps/embed/run_wait.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace holdfast {

namespace {

using Instant = std::chrono::steady_clock::time_point;

// Shared with the callback, so that it outlives a waiter that gave up.
struct Bell {
  std::mutex mutex;
  std::condition_variable changed;
  bool rung = false;

  void ring() {
    const std::scoped_lock lock(mutex);
    rung = true;
    changed.notify_all();
  }
  bool wait_until(Instant when) {
    std::unique_lock lock(mutex);
    return changed.wait_until(lock, when, [this] { return rung; });
  }
};

Instant after(std::chrono::milliseconds timeout) {
  // So that the sum of times does not overflow.
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  return std::chrono::steady_clock::now() + std::clamp(timeout, {}, kLongest);
}

// Registers before it checks, so that no end is missed. True: the run has ended, or the time is up.
Result<bool> wait_once(Loop& loop, const RunId& run, Instant deadline) {
  const auto bell = std::make_shared<Bell>();
  Loop::Waiter waiter;
  Result<bool> ended = false;
  const auto wait = std::make_shared<RunWait>();
  wait->run = run;
  wait->notify = [bell](const std::optional<RunEnd>&) { bell->ring(); };
  std::vector<LoopRequest> requests{AddRunWait{wait}, WatchChanges{}};
  requests.emplace_back(std::make_shared<FunctionCommand<bool>>(
      [run](Turn& turn) -> Result<bool> {
        HOLDFAST_TRY(const RunProjection* known, turn.state().runs().get(run));
        return known->is_terminal();
      },
      [&](Result<bool> result) {
        ended = std::move(result);
        waiter.wake();
      }));
  loop.enqueue(std::move(requests));
  loop.drive_until(waiter);
  const bool rung = ended.ok() && !ended.value() && bell->wait_until(deadline);
  loop.submit(std::vector<LoopRequest>{RemoveRunWait{wait}, UnwatchChanges{}});
  HOLDFAST_CHECK(ended.ok() ? Result<void>() : Result<void>(ended.error()));
  // Rung: the run has ended or the engine has stopped; the next check finds out.
  return ended.value() || !rung;
}

}  // namespace

Result<void> wait_for_end(Loop& loop, const RunId& run, std::chrono::milliseconds timeout) {
  const Instant deadline = after(timeout);
  for (;;) {
    HOLDFAST_TRY(const bool finished, wait_once(loop, run, deadline));
    if (finished) {
      return {};
    }
  }
}

}  // namespace holdfast
