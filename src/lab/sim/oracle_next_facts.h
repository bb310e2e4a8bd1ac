// NextFacts: the facts that must come next in a run, derived only from the known state of the run.
// It can be read as the specification of what a definition means. Private to oracle*.cc.
//
//   oracle_steps.cc         from step to step: results, failures, transitions, joins, the end
//   oracle_begin.cc         how a step starts: input, visits, lists, waits, children
//   oracle_fault.cc         what the definition has a fault at
//   oracle_compensation.cc  withdrawals and compensations
//   oracle_graph.cc         steps that are added to the run
#pragma once

#include <string>
#include <vector>

#include "lab/sim/oracle_model.h"

namespace holdfast::sim::model {

// The outcome of a runnable.
struct Ending {
  enum class Kind : std::uint8_t { none, done, failed };
  Kind kind = Kind::none;
  std::optional<Value> result;
  Value opts;
  Value error;                     // the members that it must have
  bool may_replace_child = false;  // a new child run may replace the failed one
};

class NextFacts {
 public:
  NextFacts(const OracleModel& model, const Run& run, std::int64_t now)
      : model_(model), run_(run), definition_(*run.definition), now_(now) {}

  std::vector<ExpectedFact> all();

 private:
  // oracle_steps.cc
  void forward();
  void timers();
  void cancelled();
  void close(const Runnable& runnable, const Ending& ending);
  void done(const Runnable& runnable, const Step& step, const Ending& ending);
  void failed(const Runnable& runnable, const Step& step, const Value& error);
  void failed_item(const Runnable& runnable, const Value& error);
  void continue_path(const std::string& path);
  void join(const Step& step);
  void complete();
  // exhausted: of the attempt that fails it; null: none does.
  void fail_run(const Value& error, const std::string& because, const Value& exhausted = {},
                bool must = true);
  Value exhausted_by(const Runnable& failed) const;
  Ending ending_of(const Runnable& runnable) const;
  Ending ending_of_attempt(const Runnable& runnable) const;
  Ending ending_of_wait(const Runnable& runnable, const Step& step) const;
  Ending ending_of_child(const Runnable& runnable, const Step& step) const;
  Ending ending_of_list(const Runnable& runnable) const;
  void retry(const Runnable& runnable);
  // The last attempt failed, and the step is parked, or was retried by an operator. False: there is
  // nothing of that, or the step was discarded.
  bool park(const Runnable& runnable);
  bool parks(const Runnable& runnable) const;
  void defer(const Runnable& runnable);

  // oracle_fault.cc
  // Whether a fault of the definition parked it, whatever an operator decided.
  bool parked_by_fault(const Runnable& runnable);
  void fault(const Runnable& runnable, const Step* step, const Value& error);
  // The definition has a fault at the open item, and nothing takes the error.
  bool has_fault(const Runnable& item, const Step& step) const;
  void pause_at(const Runnable& runnable, const Value& error);
  bool takes_error(const Runnable& runnable, const Step* step, const Value& error) const;
  void begin_again(const Runnable& runnable, const Step* step, const Manual& manual);
  void undecided(const Runnable& runnable);
  void output_fault();

  // oracle_begin.cc
  void begin(const Step& step, const std::string& path, std::int64_t visible_at,
             const std::string& because);
  void begin_item(const Step& step, const Runnable& list, std::int64_t item);
  void fill_visit(ExpectedFact& expected, const Step& step);
  void fill_item(ExpectedFact& expected, const Step& step, const Runnable& list, std::int64_t item);
  void fill_plan(ExpectedFact& expected, const Step& step, const Value& data);
  void fill_input(ExpectedFact& expected, const Step& step, const Value& data);
  void fill_wait(ExpectedFact& expected, const Step& step, const Value& data);
  void items(const Runnable& list, const Step& step);
  void execute_step(const Runnable& runnable, const Step& step);
  void open_wait(const Runnable& runnable, const Step& step);
  void open_manual(const Runnable& runnable, const Step& step);
  void start_child(const Runnable& runnable, const Step& step);
  void retry_child(const Runnable& runnable, const Step& step, const Value& error);
  void plan_timer(const Runnable& of, const std::string& suffix, const std::string& does,
                  std::int64_t at);
  ExpectedFact& plan(const std::string& key, const std::string& step, std::int64_t number,
                     const std::string& guarantee);

  // oracle_compensation.cc
  void compensate();
  const Runnable* next_to_compensate() const;
  bool compensatable_in_progress() const;
  const Value* compensation_of(const Runnable& runnable) const;
  void plan_compensation(const Runnable& origin);

  // oracle_graph.cc
  void mutation_of(const Runnable& runnable, const Ending& ending);
  void begin_nodes();
  void close_node(const Runnable& runnable, const Ending& ending);
  bool are_nodes_done() const;

  ExpectedFact& add(ExpectedFact::Kind kind, const std::string& subject,
                    const std::string& guarantee);
  ExpectedFact& apply(const Runnable& runnable, const std::string& guarantee);
  const Attempt* attempt(const std::string& key) const;
  // The retry rule, if the attempt may be retried.
  std::optional<RetryRule> may_retry(const Runnable& runnable, const Value& error,
                                     bool retryable) const;

  const OracleModel& model_;
  const Run& run_;
  const Definition& definition_;
  std::int64_t now_;
  Value given_;  // by an operator: the input of what begins again
  std::vector<ExpectedFact> expected_;
};

// The number of attempts that count for the policy: those since an operator retried the step.
std::int64_t attempts_made(const Value& plan);
// The retry policy of a runnable.
Value policy_of(const Definition& definition, const Runnable& runnable);
Value error_of(const std::string& code, const std::string& step);

}  // namespace holdfast::sim::model
