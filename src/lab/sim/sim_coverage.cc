#include "lab/sim/sim_coverage.h"

#include <set>
#include <sstream>

#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_store.h"
#include "lab/sim/sim_workers.h"
#include "runs/dispatch/dispatch_rules.h"
#include "runs/run/run_rules.h"
#include "runs/view/explanation.h"

namespace holdfast::sim {

namespace {

template <typename E>
void add_all(std::vector<std::string>& names, const std::string& prefix,
             const std::set<E>& without = {}) {
  for (std::size_t i = 0; i < std::size(kEnumNames<E>); ++i) {
    if (!without.contains(static_cast<E>(i))) {
      names.push_back(prefix + std::string(kEnumNames<E>[i]));
    }
  }
}

void add_words(std::vector<std::string>& names, const std::string& prefix, const char* words) {
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    names.push_back(prefix + word);
  }
}

}  // namespace

std::vector<std::string> required_coverage() {
  std::vector<std::string> names;
  add_words(names, "fact:",
            "run_queued attempt_scheduled attempt_claimed attempt_heartbeat attempt_completed "
            "attempt_failed live_wakeup_emitted circuit_opened circuit_probed circuit_closed "
            "circuit_reset run_signal_received run_started runnables_planned "
            "runnable_applied child_run_started manual_step_paused manual_step_resolved "
            "run_terminal dynamic_graph_mutated run_continuation_requested run_continued_from "
            "external_event_wait_opened external_event_buffered external_event_received "
            "external_event_wait_timeout_selected external_event_wait_resolved "
            "search_attributes_updated run_definition_migrated run_archived run_unarchived "
            "runnables_withdrawn compensation_started steps_adopted dead_letter_resolved "
            "run_indexed run_cataloged "
            "definition_registered workflow_registered");
  add_all<Act>(names, "act:");
  add_all<WriteFate>(names, "write:", {WriteFate::good});
  // Writers that ignore the rules do not write facts of circuit breakers here; the table of
  // docs/protocol.md is tested with every state instead.
  add_all<DispatchReason>(names, "anomaly:dispatch:", {DispatchReason::wrong_circuit_state});
  add_all<RunReason>(names, "anomaly:run:");
  // `terminal` is not a reason of a live run; the last three are reasons of runs that nothing will
  // move.
  add_all<Reason>(
      names, "reason:",
      {Reason::terminal, Reason::idle, Reason::run_started, Reason::waiting_for_dispatch});
  add_words(names, "recovery:", "unscheduled unapplied unprogressed children");
  add_words(names, "store_returned:", "landed lost nothing_open");
  add_words(names, "maintenance:", "checkpoint_saved seal save_directory");
  add_words(names, "check:", "restart past twice explained_anew");
  add_words(names, "damage:", "reported harmless");
  add_words(names, "side_write:", "crash_landed crash_lost lost");
  add_words(names, "lease:", "granted refused round_failed lost_signal lost_answer lost_enqueue");
  add_words(names, "refusal:",
            "stale_claim expired_claim conflicting_completion terminal_run run_not_found "
            "run_exists invalid_transition stale_manual_resolution idempotency_conflict "
            "invalid_graph_mutation invalid_argument unsafe_replay unknown_runnable_intent");
  add_all<Behaviour>(names, "worker:");
  return names;
}

std::vector<std::string> Coverage::missing() const {
  std::vector<std::string> missing;
  for (const std::string& what : required_coverage()) {
    if (of(what) == 0) {
      missing.push_back(what);
    }
  }
  return missing;
}

}  // namespace holdfast::sim
