// InvariantChecker: checks the invariants of a world file against what happened in runs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/sim/user_world.h"

namespace holdfast::sim {

// One run, as the author of the workflow sees it.
struct RunRecord {
  // A step, or an item of one, that was applied to the run or executed by a handler.
  struct Done {
    std::string step;  // without visit and item, with the prefix compensate:
    std::string item;  // empty if it is not an item
    Invariant::As as = Invariant::As::applied;
  };
  RunId id;
  std::string label;  // "run 1"
  std::string workflow;
  std::int64_t started_us = 0;
  std::int64_t ended_us = 0;
  std::optional<TerminalStatus> ended;
  std::string context;  // at the end: the context, and "run" for how it ended
  std::vector<Done> history;
};

class InvariantChecker {
 public:
  // Receives a violated invariant and what happened instead.
  using Report =
      std::function<void(const Invariant& invariant, const RunRecord& run, const std::string&)>;
  InvariantChecker(const Workflows& workflows, const UserWorld& world, Report report_violation);

  // The last element of the run's history has just happened.
  void done(const RunRecord& run);
  // The run has just ended.
  void ended(const RunRecord& run);
  // The simulation has ended.
  void simulation_ended(const RunRecord& run);

 private:
  [[nodiscard]] bool applies_to(const Invariant& invariant, const RunRecord& run) const;
  [[nodiscard]] bool counts(const Invariant& invariant, const RunRecord::Done& done,
                            const std::string& step) const;
  void check_history(const Invariant& invariant, const RunRecord& run, std::size_t at);
  void check_progress(const Invariant& invariant, const RunRecord& run);
  void check_compensation(const Invariant& invariant, const RunRecord& run);
  void check_end(const Invariant& invariant, const RunRecord& run);

  const UserWorld& world_;
  Report report_;
  std::set<std::string> executed_;  // steps that a worker executes
  std::map<std::string, bool>
      compensated_;  // WORKFLOW/STEP with a compensation: whether it has for_each
};

}  // namespace holdfast::sim
