// Shared by the decisions of this module: refusals, common facts, errors of runs, and the nodes of
// a changed graph.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "runs/facts/execution_opts.h"
#include "runs/run/run_draft.h"

namespace holdfast {

// A refusal that names the run.
Error refusal(const RunProjection& run, ErrorCode code, const std::string& message);
// The same, and the step and key of the attempt.
Error refusal(const RunProjection& run, const Attempt& attempt, ErrorCode code,
              const std::string& message);

// Many runs hold these at once, so all share one.
inline const Payload& empty_object() {
  static const Payload object = Payload::trusted("{}");
  return object;
}
inline const SharedText& timer_handler() {
  static const SharedText handler(kTimerHandler);
  return handler;
}

inline Payload or_empty(const Payload& payload) {
  return payload.empty() ? empty_object() : payload;
}

// By at most kMaxDurationMs.
TimeMs later(TimeMs time, std::uint64_t by_ms);

// run_not_found unless the run was started.
Result<void> check_started(const RunProjection& run);

RunSignalReceived receipt(const RunId& run, SignalType type, const CommandSource& source,
                          const Payload& payload);

// The plan of a completed attempt that may be applied now; nullptr when it was applied before.
// wrong_run, unknown_runnable_intent, terminal_run, result_not_completed; invalid_transition when
// it is a timer.
Result<const PlannedRunnable*> find_applicable(const RunProjection& run, const Attempt& attempt);

// The first attempt at a step, visit or item, in this queue; empty: in that of the run. What is
// done, with what and when is left to the caller.
Runnable first_attempt(const RunProjection& run, const SharedText& step, const SharedText& queue);

// The step that began the path of a runnable.
SharedText path_name(const Runnable& plan);
// The way that a run takes after a step.
TransitionTaken taken_by(const Runnable& plan, RouteOn on, const SharedText& to);

RunTerminal terminal_fact(const RunProjection& run, TerminalStatus status,
                          const Payload& error = Payload());
// The first of them that fits; nullptr when none does.
const Transition* choose(const std::vector<Transition>& transitions, const DataView& data);
TransitionTaken chosen_by(const Runnable& plan, RouteOn on, const Transition& transition);
// The result of a step that failed, as its error routes see it.
Payload error_result(const Payload& error);
// The error of an item, as the error of its list.
Payload item_error(const Payload& error, std::uint64_t item);
RunnableApplied applied_fact(const RunProjection& run, const Runnable& plan, const StepEnd& end,
                             TimeMs now);

// An error as run_terminal carries it: {"code","message","step","retryable":false}.
Payload terminal_error(std::string_view code, std::string_view message, std::string_view step);
Payload no_transition_error(const Runnable& plan);
Payload failed_by_transition(const Runnable& plan);
Payload missing_path_error(std::string_view code, const MissingPath& missing,
                           std::string_view step);
Payload misfit_error(std::string_view code, std::string_view what, const ContractMisfit& misfit,
                     std::string_view step);

// The code of a step's error; empty when it has none.
std::string error_code_of(const Payload& error);

// The policy a runnable is retried by.
const RetryPolicy& policy_of(const RunProjection& run, const Runnable& plan);
// The run waits for an operator when the last attempt has failed. Not what no longer matters: steps
// of a run that compensates, and items of a list that has failed.
bool parks(const RunProjection& run, const Runnable& plan);
// The attempt after a parked one, as an operator requests it. Its number of attempts begins anew.
Runnable retried_by_operator(const Runnable& parked, const Payload& input, TimeMs now);
// invalid_argument unless the input is an object and something that takes one is parked,
// invalid_payload unless it fits the step.
Result<void> check_retry_input(const RunProjection& run, const PlannedRunnable& parked,
                               const Payload& input);
// Whether the run is parked there because its definition has a fault: what cannot be done is a step
// of the engine, or has a result already.
bool is_fault(const RunProjection& run, const ManualState& state);
// What a decision of an operator causes: that the boundary is resolved, and what follows.
void resolve_boundary(RunDraft& draft, const ManualState& state, const ResolveStep& command);
// When the attempt after this one may begin; empty: no more attempts.
std::optional<TimeMs> retry_at(const RunProjection& run, const Runnable& plan,
                               const Failure& failure, TimeMs now);

// True when the step or graph node needs nothing more.
bool is_done(const RunProjection& run, std::string_view step);
// Graph nodes (decide_graph.cc) that wait for nothing more and are not planned, and whether all
// are done.
std::vector<Runnable> ready_nodes(const RunProjection& run, TimeMs now);
bool are_nodes_done(const RunProjection& run);
// The fact of a mutation; empty when it was made before. Errors of decide_mutate_graph.
Result<std::optional<DynamicGraphMutated>> plan_mutation(const RunProjection& run,
                                                         const MutateGraph& command);
// The same for a mutation that the result of a step requests.
Result<std::optional<DynamicGraphMutated>> plan_step_mutation(const RunProjection& run,
                                                              const Runnable& plan,
                                                              const Payload& graph);
// The failure of a step whose mutation is refused.
Payload mutation_error(const Error& refused, std::string_view step);

// The input of a run as its trigger wants it, with defaults. invalid_payload names every field;
// invalid_trigger when there is none of that name.
Result<Payload> checked_input(const Definition& definition, std::string_view trigger,
                              const Payload& input, TimeMs now);

}  // namespace holdfast
