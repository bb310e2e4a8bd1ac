// Circuit breakers: what the facts mean for them, and what they let through.
#include <algorithm>

#include "base/json_slice.h"
#include "runs/dispatch/dispatch_decide.h"
#include "runs/dispatch/dispatch_projection.h"
#include "runs/facts/activation.h"

namespace holdfast {

namespace {

using Reason = DispatchReason;

// A longer error is only in the fact of the failure.
constexpr std::size_t kMostErrorBytes = 2048;

// What holds for every fact about a circuit. On success `attempt` is set.
template <typename Fact>
Verdict judge_type(const DispatchProjection& state, const Fact& fact, const Attempt*& attempt) {
  if (fact.queue != state.queue()) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  attempt = state.find(fact.runnable_key.view());
  if (attempt == nullptr || attempt->run_id != fact.run_id) {
    return Verdict::refuse(Reason::unknown_runnable_intent);
  }
  const QueuedRun* run = state.find_run(fact.run_id);
  if (run != nullptr && run->terminal) {
    return Verdict::refuse(Reason::terminal_run);
  }
  const bool same = step_type_of(*attempt) == StepType{fact.workflow, fact.step};
  return attempt->circuit.is_set() && same ? Verdict::accept()
                                           : Verdict::refuse(Reason::malformed_entry);
}

// About the attempt, without what only this kind of fact has.
template <typename Fact>
Fact about(const DispatchProjection& state, const Attempt& attempt) {
  StepType type = step_type_of(attempt);
  Fact fact;
  fact.run_id = attempt.run_id;
  fact.runnable_key = attempt.runnable_key;
  fact.queue = state.queue();
  fact.workflow = std::move(type.workflow);
  fact.step = std::move(type.step);
  return fact;
}

template <typename Fact>
std::optional<Fact> if_accepted(const DispatchProjection& state, TimeMs now, Fact fact) {
  return judge(state, now, fact).kind == Verdict::Kind::accept ? std::optional(std::move(fact))
                                                               : std::nullopt;
}

}  // namespace

StepType step_type_of(const Attempt& attempt) {
  const std::string_view step = parse_activation(attempt.step.view()).step;
  return {attempt.workflow, step == attempt.step.view() ? attempt.step : SharedText(step)};
}

bool counts_for_circuit(const Payload& error) {
  if (!error.is_object()) {
    return true;
  }
  JsonSlicer members(error.view());
  while (const auto member = members.next()) {
    if (member->name == "code") {
      return member->value != R"("schedule_to_start_timeout")";
    }
  }
  return true;
}

// --- What is let through ---

const Circuit* DispatchProjection::find_circuit(const StepType& type) const {
  const auto found = circuits_.find(type);
  return found == circuits_.end() ? nullptr : &found->second;
}

const Circuit* DispatchProjection::open_circuit(const Attempt& attempt) const {
  if (!attempt.circuit.is_set() || circuits_.empty()) {
    return nullptr;
  }
  const Circuit* circuit = find_circuit(step_type_of(attempt));
  return circuit != nullptr && circuit->is_open() ? circuit : nullptr;
}

const Attempt* DispatchProjection::live_probe(const Circuit& circuit, TimeMs at) const {
  const Attempt* probe = circuit.probe.empty() ? nullptr : find(circuit.probe.view());
  const bool live = probe != nullptr && probe->status == AttemptStatus::claimed &&
                    !probe->applied && probe->claim->claim_id == circuit.probe_claim &&
                    probe->claim->lease_until > at && claimable_run(probe->run_id);
  return live ? probe : nullptr;
}

std::optional<TimeMs> DispatchProjection::held_back_until(const Attempt& attempt,
                                                          TimeMs now) const {
  const Circuit* circuit = open_circuit(attempt);
  if (circuit == nullptr) {
    return std::nullopt;
  }
  if (const Attempt* probe = live_probe(*circuit, now)) {
    return probe->claim->lease_until;
  }
  return circuit->probe_at > now ? std::optional(circuit->probe_at) : std::nullopt;
}

// As live_probe, but a lease has expired when advance() has found that, not at a time: whatever
// changes what is claimable must note the change.
std::optional<TimeMs> DispatchProjection::passes_at(const StepType& type,
                                                    const Attempt& attempt) const {
  const Circuit* circuit = find_circuit(type);
  if (circuit == nullptr || !circuit->is_open()) {
    return attempt.visible_at;
  }
  const Attempt* probe = circuit->probe.empty() ? nullptr : find(circuit->probe.view());
  const bool live = probe != nullptr && probe->in_leases && probe->heap_slot != UINT32_MAX &&
                    probe->claim->claim_id == circuit->probe_claim;
  return live ? std::nullopt : std::optional(std::max(attempt.visible_at, circuit->probe_at));
}

// --- The rules ---

Verdict judge(const DispatchProjection& state, TimeMs at, const CircuitOpened& fact) {
  const Attempt* attempt = nullptr;
  const Verdict verdict = judge_type(state, fact, attempt);
  if (verdict.kind == Verdict::Kind::refuse) {
    return verdict;
  }
  const Circuit* circuit = state.find_circuit({fact.workflow, fact.step});
  if (circuit == nullptr || attempt->status != AttemptStatus::failed) {
    return Verdict::refuse(Reason::wrong_circuit_state);
  }
  if (circuit->is_open() && circuit->cause == fact.runnable_key) {
    return Verdict::repeat();
  }
  if (fact.probe_at <= at) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  const bool opens = circuit->is_open() ? circuit->probe == fact.runnable_key
                                        : circuit->failures >= attempt->circuit.failures;
  return opens ? Verdict::accept() : Verdict::refuse(Reason::wrong_circuit_state);
}

Verdict judge(const DispatchProjection& state, TimeMs at, const CircuitProbed& fact) {
  const Attempt* attempt = nullptr;
  const Verdict verdict = judge_type(state, fact, attempt);
  if (verdict.kind == Verdict::Kind::refuse) {
    return verdict;
  }
  const Circuit* circuit = state.find_circuit({fact.workflow, fact.step});
  const bool held =
      attempt->status == AttemptStatus::claimed && attempt->claim->claim_id == fact.probe_claim_id;
  if (circuit == nullptr || !circuit->is_open() || !held) {
    return Verdict::refuse(Reason::wrong_circuit_state);
  }
  if (circuit->probe == fact.runnable_key && circuit->probe_claim == fact.probe_claim_id) {
    return Verdict::repeat();
  }
  const bool due = at >= circuit->probe_at && state.live_probe(*circuit, at) == nullptr;
  return due ? Verdict::accept() : Verdict::refuse(Reason::wrong_circuit_state);
}

Verdict judge(const DispatchProjection& state, TimeMs /*at*/, const CircuitClosed& fact) {
  const Attempt* attempt = nullptr;
  const Verdict verdict = judge_type(state, fact, attempt);
  if (verdict.kind == Verdict::Kind::refuse) {
    return verdict;
  }
  if (attempt->status != AttemptStatus::completed) {
    return Verdict::refuse(Reason::wrong_circuit_state);
  }
  const Circuit* circuit = state.find_circuit({fact.workflow, fact.step});
  return circuit != nullptr && circuit->is_open() ? Verdict::accept() : Verdict::repeat();
}

Verdict judge(const DispatchProjection& state, TimeMs /*at*/, const CircuitReset& fact) {
  if (fact.queue != state.queue()) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  const Circuit* circuit = state.find_circuit({fact.workflow, fact.step});
  return circuit != nullptr && circuit->is_open() ? Verdict::accept() : Verdict::repeat();
}

// --- The fold ---

void DispatchProjection::set_circuit(const StepType& type, const std::optional<Circuit>& circuit) {
  note_change();
  if (circuit.has_value()) {
    circuits_.insert_or_assign(type, *circuit);
  } else {
    circuits_.erase(type);
  }
}

template <typename Change>
void DispatchProjection::edit_circuit(const StepType& type, Change change) {
  const Circuit* known = find_circuit(type);
  const std::optional<Circuit> old = known == nullptr ? std::nullopt : std::optional(*known);
  Circuit circuit = old.value_or(Circuit());
  change(circuit);
  set_circuit(type, circuit == Circuit() ? std::nullopt : std::optional(std::move(circuit)));
  if (undo_ != nullptr) {
    undo_->add([this, type, old] { set_circuit(type, old); });
  }
}

void DispatchProjection::count_failure(const Attempt& attempt, const Payload& error) {
  if (attempt.circuit.is_set() && counts_for_circuit(error)) {
    edit_circuit(step_type_of(attempt), [](Circuit& circuit) { ++circuit.failures; });
  }
}

void DispatchProjection::count_success(const Attempt& attempt) {
  if (attempt.circuit.is_set() && find_circuit(step_type_of(attempt)) != nullptr) {
    edit_circuit(step_type_of(attempt), [](Circuit& circuit) { circuit.failures = 0; });
  }
}

void DispatchProjection::apply(TimeMs at, const CircuitOpened& fact) {
  edit_circuit({fact.workflow, fact.step}, [&](Circuit& circuit) {
    circuit.opened_at = circuit.opened_at.value_or(at);
    circuit.probe_at = fact.probe_at;
    circuit.cause = fact.runnable_key;
    circuit.error = fact.error;
    circuit.probe = {};
    circuit.probe_claim = {};
  });
}

void DispatchProjection::apply(TimeMs at, const CircuitProbed& fact) {
  edit_circuit({fact.workflow, fact.step}, [&](Circuit& circuit) {
    HOLDFAST_ASSERT(circuit.is_open() && circuit.probe_at <= at);  // D12
    circuit.probe = fact.runnable_key;
    circuit.probe_claim = fact.probe_claim_id;
  });
}

void DispatchProjection::apply(TimeMs /*at*/, const CircuitClosed& fact) {
  edit_circuit({fact.workflow, fact.step}, [](Circuit& circuit) { circuit = Circuit(); });
}

void DispatchProjection::apply(TimeMs /*at*/, const CircuitReset& fact) {
  edit_circuit({fact.workflow, fact.step}, [](Circuit& circuit) { circuit = Circuit(); });
}

// --- The decisions ---

std::optional<CircuitOpened> decide_circuit_opened(const DispatchProjection& state,
                                                   std::string_view runnable_key, TimeMs now) {
  const Attempt* attempt = state.find(runnable_key);
  if (attempt == nullptr || !attempt->circuit.is_set() || !attempt->outcome) {
    return std::nullopt;
  }
  auto fact = about<CircuitOpened>(state, *attempt);
  const Circuit* circuit = state.find_circuit({fact.workflow, fact.step});
  fact.failures = circuit == nullptr ? 0 : circuit->failures;
  fact.probe_at = TimeMs{now.value + attempt->circuit.probe_after_ms};
  if (attempt->outcome->error.view().size() <= kMostErrorBytes) {
    fact.error = attempt->outcome->error;
  }
  return if_accepted(state, now, std::move(fact));
}

std::optional<CircuitProbed> decide_circuit_probed(const DispatchProjection& state,
                                                   std::string_view runnable_key, TimeMs now) {
  const Attempt* attempt = state.find(runnable_key);
  if (attempt == nullptr || !attempt->claim || state.open_circuit(*attempt) == nullptr) {
    return std::nullopt;
  }
  auto fact = about<CircuitProbed>(state, *attempt);
  fact.probe_claim_id = attempt->claim->claim_id;
  return if_accepted(state, now, std::move(fact));
}

std::optional<CircuitClosed> decide_circuit_closed(const DispatchProjection& state,
                                                   std::string_view runnable_key, TimeMs now) {
  const Attempt* attempt = state.find(runnable_key);
  if (attempt == nullptr || state.open_circuit(*attempt) == nullptr) {
    return std::nullopt;
  }
  return if_accepted(state, now, about<CircuitClosed>(state, *attempt));
}

std::optional<CircuitReset> decide_circuit_reset(const DispatchProjection& state,
                                                 const StepType& type, std::string_view actor,
                                                 std::string_view reason) {
  const Circuit* circuit = state.find_circuit(type);
  if (circuit == nullptr || !circuit->is_open()) {
    return std::nullopt;
  }
  return CircuitReset{state.queue(), type.workflow, type.step, SharedText(actor),
                      SharedText(reason)};
}

}  // namespace holdfast
