// RunWaits: who wants to know when a run ends. Belongs to the core. Those who wait are notify once,
// as an effect of the commit that made the end durable; also when nothing is known of the run, and
// when the core stops: whoever is notify looks for himself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runs/engine/live_state.h"

namespace holdfast {

// How a run ended, for those who waited here.
struct RunEnd {
  RunId run_id;
  SharedText workflow;
  TerminalStatus status = TerminalStatus::completed;
  Payload result;  // of a completed run
  Payload error;
};
// Empty while it has not.
std::optional<RunEnd> run_end_of(const RunProjection& run);

class RunWaits {
 public:
  // With the end, when it was at hand; without it whoever is notify looks for himself.
  using Notify = std::function<void(const std::optional<RunEnd>& end)>;
  using Effects = std::vector<std::function<void()>>;
  using Ticket = std::uint64_t;

  Ticket add(const RunId& run, Notify notify) {
    waits_.emplace(run, Wait{++last_, std::move(notify)});
    return last_;
  }
  void remove(const RunId& run, Ticket ticket) {
    const auto [first, last] = waits_.equal_range(run);
    for (auto wait = first; wait != last; ++wait) {
      if (wait->second.ticket == ticket) {
        waits_.erase(wait);
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
    for (auto wait = first; wait != last; ++wait) {
      effects.push_back([notify = std::move(wait->second.notify), end] { notify(end); });
    }
    waits_.erase(first, last);
  }
  // Others have written.
  void check(const LiveState& state, Effects& effects) {
    std::erase_if(waits_, [&](auto& wait) {
      const bool ended = !state.runs().is_live(wait.first);
      if (ended) {
        effects.push_back([notify = std::move(wait.second.notify)] { notify(std::nullopt); });
      }
      return ended;
    });
  }
  void stop(Effects& effects) {
    for (auto& [run, wait] : waits_) {
      effects.push_back([notify = std::move(wait.notify)] { notify(std::nullopt); });
    }
    waits_.clear();
  }

 private:
  struct Wait {
    Ticket ticket;
    Notify notify;
  };

  std::unordered_multimap<RunId, Wait, RunIdHash> waits_;
  Ticket last_ = 0;
};

}  // namespace holdfast
