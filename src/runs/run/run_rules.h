// The rules of a run, each stated once; see dispatch_rules.h for how verdicts are used. judge gives
// the verdict on one fact for a projection.
#pragma once

#include "runs/run/run_projection.h"

namespace holdfast {

HOLDFAST_ENUM(RunReason, malformed_entry, terminal_run, conflicting_terminal,
              unknown_runnable_intent, conflicting_child_run, conflicting_continuation,
              malformed_graph_operations, conflicting_graph_mutation, discontinuous_graph_version,
              runnable_intent_fingerprint_mismatch, active_manual_step, stale_manual_resolution,
              conflicting_definition_migration, stale_definition_migration, idempotency_conflict,
              invalid_archive_transition, conflicting_run_start, stale_event_wait,
              conflicting_compensation, stale_dead_letter);

struct RunVerdict {
  enum class Kind : std::uint8_t { accept, repeat, refuse };
  Kind kind = Kind::accept;
  RunReason reason = RunReason::malformed_entry;  // of a refusal
  std::string_view detail;                        // for operators, where the reason is not enough

  static RunVerdict accept() { return {}; }
  static RunVerdict repeat() { return {Kind::repeat, {}, {}}; }
  static RunVerdict refuse(RunReason reason, std::string_view detail = {}) {
    return {Kind::refuse, reason, detail};
  }
};

RunVerdict judge(const RunProjection& run, TimeMs at, const RunFact& fact);

}  // namespace holdfast
