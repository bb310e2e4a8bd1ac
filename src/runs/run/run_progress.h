// StepProgress: how far a run is with the steps of its definition. Counts what is applied, in any
// order; each application costs as much as the step has dependents. Only steps that begin a path
// are ever done: when their path has ended.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runs/language/definition/definition.h"
#include "runs/run/run_facts.h"

namespace holdfast {

struct PlannedRunnable;  // run_projection.h

// The step that began the path a runnable is on; empty: it is on none, like a compensation, an
// item or a node of the graph.
std::optional<StepIndex> path_of(const Definition& definition, const Runnable& plan);

struct StepProgress {
  std::vector<std::uint32_t> unmet;        // dependencies that are not done, by step
  std::vector<bool> done;                  // by step
  std::map<StepIndex, TimeMs> not_before;  // delays requested by dependencies
  std::size_t done_count = 0;

  // Nothing is done yet.
  explicit StepProgress(const Definition& definition);

  // A runnable was applied. Its path has ended unless a transition continues it or execution_opts
  // defer the step; schedule_in_ms delays what follows, and of several delays the longest counts.
  void apply(const Definition& definition, const PlannedRunnable& applied);
  // The step counts as done without a runnable.
  void adopt(const Definition& definition, std::string_view step);

  // What apply changes for a runnable, as it is before.
  struct Before {
    std::optional<StepIndex> step;
    bool done = false;
    std::vector<std::pair<StepIndex, std::optional<TimeMs>>> not_before;  // of the dependents
  };
  [[nodiscard]] Before before(const Definition& definition, const Runnable& plan) const;
  void restore(const Before& before);

 private:
  void finish(const Definition& definition, StepIndex step);

 public:
  friend bool operator==(const StepProgress&, const StepProgress&) = default;
};

}  // namespace holdfast
