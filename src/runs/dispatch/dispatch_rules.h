// The rules of the dispatch protocol, each stated once. judge gives the verdict on a fact: it is
// accepted, it repeats what is known, or it breaks a rule. The projection records a broken rule as
// an anomaly; decide refuses the command before anything is written. So the projection accepts what
// decide allows.
#pragma once

#include "runs/dispatch/dispatch_facts.h"

namespace holdfast {

class DispatchProjection;

HOLDFAST_ENUM(DispatchReason, malformed_entry, terminal_run, conflicting_runnable_intent,
              unknown_runnable_intent, terminal_attempt, active_claim, attempt_not_visible,
              stale_claim, expired_claim, conflicting_completion, result_not_completed,
              wrong_circuit_state);

struct Verdict {
  enum class Kind : std::uint8_t { accept, repeat, refuse };
  Kind kind = Kind::accept;
  DispatchReason reason = DispatchReason::malformed_entry;  // of a refusal

  static Verdict accept() { return {}; }
  static Verdict repeat() { return {Kind::repeat, {}}; }
  static Verdict refuse(DispatchReason reason) { return {Kind::refuse, reason}; }
};

// The result of the attempt became part of the run. Recorded in the run thread, not in the queue.
struct ResultApplied {
  static constexpr std::string_view kKind = "runnable_applied";
  RunId run_id;
  SharedText runnable_key;
  bool routed = false;     // the run continues by a transition, which a failure may also take
  bool withdrawn = false;  // the run no longer needs it
};

Verdict judge(const DispatchProjection& state, TimeMs at, const RunQueued& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const AttemptScheduled& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const AttemptClaimed& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const AttemptHeartbeat& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const AttemptCompleted& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const AttemptFailed& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const LiveWakeupEmitted& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const CircuitOpened& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const CircuitProbed& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const CircuitClosed& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const CircuitReset& fact);
Verdict judge(const DispatchProjection& state, TimeMs at, const ResultApplied& fact);

// The intent that a failure with a retry schedules.
struct Attempt;
AttemptScheduled retry_intent(const Attempt& failed, const AttemptFailed& fact);

}  // namespace holdfast
