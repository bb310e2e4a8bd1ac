// StepProgress: how far a run is with the steps of its definition. Counts what is applied, in any
// order; each application costs as much as the step has dependents.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "workflow/definition.h"
#include "workflow/facts.h"

namespace holdfast {

struct StepProgress {
  std::vector<std::uint32_t> unmet;        // dependencies that are not done, by step
  std::vector<bool> done;                  // by step
  std::map<StepIndex, TimeMs> not_before;  // dependencies asked to be followed later
  std::size_t done_count = 0;

  // Nothing is done yet.
  explicit StepProgress(const Definition& definition);

  // A runnable was applied. Its step is done unless execution_opts put it off; schedule_in_ms
  // delays what follows, and of several delays the longest counts.
  void apply(const Definition& definition, const Runnable& plan, TimeMs applied_at,
             const Payload& execution_opts);

  // What apply changes for a runnable, as it is before.
  struct Before {
    std::optional<StepIndex> step;
    bool done = false;
    std::vector<std::pair<StepIndex, std::optional<TimeMs>>> not_before;  // of the dependents
  };
  [[nodiscard]] Before before(const Definition& definition, const Runnable& plan) const;
  void restore(const Before& before);

  friend bool operator==(const StepProgress&, const StepProgress&) = default;
};

}  // namespace holdfast
