// RunWaits: callers that wait for the end of a run. Belongs to the core. A caller is notified once,
// as an effect of the commit that made the end durable; also if the run is not known, and when the
// core stops: the caller then reads the run itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runs/engine/live_state.h"

namespace holdfast {

// How a run ended.
struct RunEnd {
  RunId run_id;
  SharedText workflow;
  TerminalStatus status = TerminalStatus::completed;
  Payload result;  // of a completed run
  Payload error;
};
// Empty while the run has not ended.
std::optional<RunEnd> run_end_of(const RunProjection& run);

struct RunWait {
  RunId run;
  // With the end if it is at hand; otherwise the caller reads the run.
  std::function<void(const std::optional<RunEnd>& end)> notify;
};
using RunWaitPtr = std::shared_ptr<RunWait>;

class RunWaits {
 public:
  using Effects = std::vector<std::function<void()>>;

  void add(const RunWaitPtr& wait) { waits_.emplace(wait->run, wait); }
  void remove(const RunWaitPtr& wait) {
    const auto [first, last] = waits_.equal_range(wait->run);
    for (auto known = first; known != last; ++known) {
      if (known->second == wait) {
        waits_.erase(known);
        return;
      }
    }
  }

  [[nodiscard]] bool has_waiter(const RunId& run) const {
    return !waits_.empty() && waits_.contains(run);
  }
  // This process wrote the end of the run.
  void ended(const RunId& run, const std::optional<RunEnd>& end, Effects& effects) {
    const auto [first, last] = waits_.equal_range(run);
    for (auto known = first; known != last; ++known) {
      effects.push_back([wait = std::move(known->second), end] { wait->notify(end); });
    }
    waits_.erase(first, last);
  }
  // Other processes have written.
  void check(const LiveState& state, Effects& effects) {
    std::erase_if(waits_, [&](auto& entry) {
      const bool ended = !state.runs().is_live(entry.first);
      if (ended) {
        effects.push_back([wait = std::move(entry.second)] { wait->notify(std::nullopt); });
      }
      return ended;
    });
  }
  void stop(Effects& effects) {
    for (auto& [run, wait] : waits_) {
      effects.push_back([stopped = std::move(wait)] { stopped->notify(std::nullopt); });
    }
    waits_.clear();
  }

 private:
  std::unordered_multimap<RunId, RunWaitPtr, RunIdHash> waits_;
};

}  // namespace holdfast
