#include <fmt/format.h>

#include "runs/facts/activation.h"
#include "runs/run/run_planning.h"
#include "runs/view/causes.h"
#include "runs/view/view_words.h"

namespace holdfast {

void CauseFinder::about_parked(Cause& cause, const ManualState& parked,
                               const PlannedRunnable& planned) const {
  const std::string step = parked.step.str();
  const std::string since = format_time(parked.paused_at);
  const bool fault = is_fault(run_, parked);
  if (fault) {
    const std::string what = step == kOutputStep ? "its output" : "step " + step;
    cause.summary = fmt::format("has parked {} since {}, because of its definition: {}", what,
                                since, error_text(parked.error));
    cause.next_actions.push_back({"migrate_run",
                                  "correct the workflow, register it, and continue the run on it",
                                  fmt::format("holdfast migrate {} --to newest", id())});
  } else {
    cause.summary = fmt::format("has parked step {} since {}, because attempt {} failed: {}", step,
                                since, planned.plan.attempt_number, error_text(parked.error));
  }
  cause.next_actions.push_back({"retry_parked_step",
                                fault ? "or retry it, if the fault was outside this definition"
                                      : "after fixing the cause, retry the step",
                                fmt::format("holdfast retry {} --step {}", id(), step)});
  cause.next_actions.push_back(
      {"discard_parked_step", "or give up: the step fails, and the run continues as it defines",
       fmt::format("holdfast dead-letters discard {} --step {}", id(), step)});
}

void CauseFinder::about_dead_letter(Cause& cause) const {
  const auto& decided = run_.dead_letter();
  if (!decided.has_value() && run_.terminal()->exhausted.has_value()) {
    cause.next_actions.push_back({"redrive_dead_letter", "or repeat it once, as a dead letter",
                                  "holdfast dead-letters redrive " + id()});
  } else if (decided.has_value() && decided->action == DeadLetterEnd::redriven) {
    cause.next_actions.push_back({"inspect_redriven_run", "inspect the run that repeats it",
                                  "holdfast explain " + to_string(decided->replay_run_id)});
  }
}

}  // namespace holdfast
