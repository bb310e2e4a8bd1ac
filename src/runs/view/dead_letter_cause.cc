#include "runs/view/causes.h"

namespace holdfast {

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
