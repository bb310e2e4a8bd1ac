// RunWaits: who wants to know when a run ends. Belongs to the core. Those who wait are told once,
// as an effect of the commit that made the end durable; also when nothing is known of the run, and
// when the core stops: whoever is told looks for himself.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/live_state.h"

namespace holdfast {

class RunWaits {
 public:
  using Effects = std::vector<std::function<void()>>;
  using Ticket = std::uint64_t;

  Ticket add(const RunId& run, std::function<void()> told) {
    waits_.emplace(run, Wait{++last_, std::move(told)});
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

  // This process wrote the end of the run.
  void ended(const RunId& run, Effects& effects) {
    if (waits_.empty()) {
      return;
    }
    const auto [first, last] = waits_.equal_range(run);
    for (auto wait = first; wait != last; ++wait) {
      effects.push_back(std::move(wait->second.told));
    }
    waits_.erase(first, last);
  }
  // Others have written.
  void look(const LiveState& state, Effects& effects) {
    std::erase_if(waits_, [&](auto& wait) {
      const bool over = !state.is_live(wait.first);
      if (over) {
        effects.push_back(std::move(wait.second.told));
      }
      return over;
    });
  }
  void stop(Effects& effects) {
    for (auto& [run, wait] : waits_) {
      effects.push_back(std::move(wait.told));
    }
    waits_.clear();
  }

 private:
  struct Wait {
    Ticket ticket;
    std::function<void()> told;
  };

  std::unordered_multimap<RunId, Wait, RunIdHash> waits_;
  Ticket last_ = 0;
};

}  // namespace holdfast
