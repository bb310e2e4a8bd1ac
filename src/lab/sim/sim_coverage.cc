#include "lab/sim/sim_coverage.h"

#include <set>

#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_store.h"
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

void add_facts(std::vector<std::string>& names) {
  for (const char* kind : {"run_queued",
                           "attempt_scheduled",
                           "attempt_claimed",
                           "attempt_heartbeat",
                           "attempt_completed",
                           "attempt_failed",
                           "live_wakeup_emitted",
                           "run_signal_received",
                           "run_started",
                           "runnables_planned",
                           "runnable_applied",
                           "child_run_started",
                           "manual_step_paused",
                           "manual_step_resolved",
                           "run_terminal",
                           "dynamic_graph_mutated",
                           "run_continuation_requested",
                           "run_continued_from",
                           "external_event_wait_opened",
                           "external_event_buffered",
                           "external_event_received",
                           "external_event_wait_timeout_selected",
                           "external_event_wait_resolved",
                           "search_attributes_updated",
                           "run_definition_migrated",
                           "run_archived",
                           "run_unarchived",
                           "runnables_withdrawn",
                           "compensation_started",
                           "steps_adopted",
                           "run_indexed",
                           "run_cataloged",
                           "definition_registered",
                           "workflow_registered"}) {
    names.push_back(std::string("fact:") + kind);
  }
}

}  // namespace

std::vector<std::string> required_coverage() {
  std::vector<std::string> names;
  add_facts(names);
  add_all<Act>(names, "act:");
  add_all<WriteFate>(names, "write:", {WriteFate::good});
  add_all<DispatchReason>(names, "anomaly:dispatch:");
  add_all<RunReason>(names, "anomaly:run:");
  // `terminal` is not a reason of a live run; the last three are reasons of runs that nothing will
  // move.
  add_all<Reason>(
      names, "reason:",
      {Reason::terminal, Reason::idle, Reason::run_started, Reason::waiting_for_dispatch});
  for (const char* what : {"recovery:unscheduled",
                           "recovery:unapplied",
                           "recovery:unprogressed",
                           "recovery:children",
                           "store_returned:landed",
                           "store_returned:lost",
                           "store_returned:nothing_open",
                           "maintenance:checkpoint_saved",
                           "maintenance:seal",
                           "maintenance:save_directory",
                           "check:restart",
                           "check:past",
                           "check:twice",
                           "damage:reported",
                           "damage:harmless",
                           "side_write:crash_landed",
                           "side_write:crash_lost",
                           "side_write:lost",
                           "refusal:stale_claim",
                           "refusal:expired_claim",
                           "refusal:conflicting_completion",
                           "refusal:terminal_run",
                           "refusal:run_not_found",
                           "refusal:run_exists",
                           "refusal:invalid_transition",
                           "refusal:stale_manual_resolution",
                           "refusal:idempotency_conflict",
                           "refusal:invalid_graph_mutation",
                           "refusal:invalid_argument",
                           "refusal:unsafe_replay",
                           "refusal:unknown_runnable_intent",
                           "worker:good",
                           "worker:stalls",
                           "worker:dies",
                           "worker:repeats",
                           "worker:contradicts",
                           "worker:reports_late",
                           "worker:reports_at_expiry",
                           "worker:forges",
                           "worker:hangs"}) {
    names.emplace_back(what);
  }
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
