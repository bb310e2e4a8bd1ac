// What the decisions of this room share: how facts are filled in, which runnables a run plans
// next and when it is complete.
#pragma once

#include <string>
#include <string_view>

#include "workflow/decide.h"

namespace holdfast {

// A refusal that names the run.
Error refusal(const RunProjection& run, ErrorCode code, const std::string& message);
// The same, and the step and key of the attempt.
Error refusal(const RunProjection& run, const Attempt& attempt, ErrorCode code,
              const std::string& message);

inline Payload or_empty(const Payload& payload) {
  return payload.empty() ? Payload::trusted("{}") : payload;
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
// active_manual_step when the run waits for somebody already.
Result<void> check_not_waiting(const RunProjection& run, const Attempt& attempt);
RunnableApplied applied_fact(const RunProjection& run, const Attempt& attempt, TimeMs now);
// The same for a step after which the run waits or hands over: it cannot put itself off as well.
RunnableApplied final_fact(const RunProjection& run, const Attempt& attempt, TimeMs now);

RunTerminal terminal_fact(const RunProjection& run, TerminalStatus status,
                          const Payload& error = Payload());
// An error as run_terminal carries it: {"code","message","step","retryable":false}.
Payload terminal_error(std::string_view code, std::string_view message, std::string_view step);

// The first attempt at a step; queue: that of the run.
Runnable first_attempt(const RunId& run, const SharedText& queue, const Step& step,
                       const Payload& input, TimeMs visible_at);

inline bool is_target(std::string_view text) {
  return text == kNextTarget || text == kCompleteTarget || text == kFailTarget;
}

// Appends what follows once a step is done: runnables_planned for the steps and graph nodes that
// waited for nothing else, or run_terminal(completed) when nothing is left, or nothing while
// others are at work. The run itself may know or not know yet that the step is done.
struct StepDone {
  SharedText step;
  Payload result;
  TimeMs at;
  std::uint64_t delay_ms = 0;  // of what follows
};
void add_what_follows(RunFacts& facts, const RunProjection& run, const StepDone& done);
// The same by one of the targets of decide.h; the error is that of a run which fails.
void add_target(RunFacts& facts, const RunProjection& run, const StepDone& done,
                std::string_view target, const Payload& error);

// True when the step or graph node needs nothing more; `just_done` needs nothing more, whatever
// the run says.
bool is_done(const RunProjection& run, std::string_view step, std::string_view just_done);

// Graph nodes (decide_graph.cc): those that waited for nothing but `done`, and whether all are.
void add_ready_nodes(std::vector<Runnable>& runnables, const RunProjection& run,
                     const StepDone& done);
bool are_nodes_done(const RunProjection& run, std::string_view just_done);

}  // namespace holdfast
