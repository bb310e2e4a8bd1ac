// RunFact: checks one fact of a run against the expected facts, then applies it to the model.
// Private to oracle*.cc.
//
//   oracle_run.cc     plans, results, the end, and what must be complete when a batch ends
//   oracle_waits.cc   decisions, events and children
//   oracle_fault.cc   the transition that a retry takes
//   oracle_replay.cc  what a replay adopts
//   oracle_graph.cc   steps that are added to the run
//   oracle_migration.cc  continuing on another definition
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/sim/oracle_model.h"

namespace holdfast::sim::model {

class RunFact {
 public:
  RunFact(OracleModel& model, Run& run, const StoredFact& fact, const Value& data)
      : model_(model), run_(run), at_(fact.at.value), kind_(fact.kind), data_(data) {}

  void process();

 private:
  bool check(bool holds, const std::string& guarantee, const std::string& violation) {
    return model_.check(holds, guarantee, violation);
  }
  [[nodiscard]] bool modelled() const {
    return run_.definition != nullptr && run_.unmodelled.empty();
  }

  // The expected fact that this fact matches; the violation lists what was expected instead.
  std::optional<ExpectedFact> match(ExpectedFact::Kind kind, const std::string& subject,
                                    const std::string& guarantee,
                                    const std::function<bool(const ExpectedFact&)>& fits = nullptr);

  // Each of these members is as expected; a member that is not expected is absent.
  void compare(const ExpectedFact& expected, const Value& found,
               const std::vector<std::string>& names);

  void receipt();

  // The effect of a command follows after the command was received, once.
  void expect_command(const std::set<std::string>& types);

  void started();
  void started_by_schedule();
  void adopted();
  void planned();
  void plan_one(const Value& plan);
  void applied();
  void withdrawn();
  void child();
  void paused();
  void resolved();
  void decided(const std::string& step, const Manual& manual);
  void wait_opened();
  void buffered();
  void received();
  void timed_out();
  void wait_resolved();
  void continues();
  void migrated();
  void compensation_started();
  void ends();
  void dead_letter();  // of a run that has ended
  void mutated();
  void check_mutation_origin();
  void close_children(const std::function<bool(const ChildLink&)>& meant);
  std::string why_not(const std::string& step) const;

  OracleModel& model_;
  Run& run_;
  std::int64_t at_;
  const std::string& kind_;
  const Value& data_;
};

}  // namespace holdfast::sim::model
