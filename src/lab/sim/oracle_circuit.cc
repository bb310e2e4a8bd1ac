// Circuit breakers of step types.
//
// Guarantees: a breaker opens with the failure that makes enough consecutive ones, and opens again
// with the failure of a probe; it closes with any success; while it is open, no worker is given an
// attempt of the type, except one probe at a time, not before it is due. An attempt that no worker
// had in time says nothing about the step. An operator closes what is open, and nothing else does
// so without a success; what was closed so counts from zero.
#include "lab/sim/oracle_model.h"

namespace holdfast::sim::model {

namespace {

constexpr const char* kGuarantee = "circuit";

std::int64_t limit_of(const Attempt& attempt) {
  return attempt.intent["circuit_failures"].integer();
}

}  // namespace

std::string OracleModel::circuit_of(const Attempt& attempt) const {
  return attempt.queue + " " + attempt.intent["workflow"].string() + " " +
         StepName::parse(attempt.intent["step"].string()).base;
}

bool OracleModel::is_held_back(const Attempt& attempt, std::int64_t at) const {
  if (limit_of(attempt) == 0) {
    return false;
  }
  const auto known = circuits.find(circuit_of(attempt));
  if (known == circuits.end() || !known->second.open) {
    return false;
  }
  const auto probe = attempts.find(known->second.probe);
  const bool probing = probe != attempts.end() && !probe->second.withdrawn &&
                       probe->second.is_held(at) &&
                       probe->second.claims.back().id == known->second.probe_claim &&
                       !runs.at(probe->second.run).has_ended();
  return probing || at < known->second.probe_at;
}

void OracleModel::circuit_claimed(const Attempt& attempt) {
  if (limit_of(attempt) > 0 && circuits[circuit_of(attempt)].open) {
    circuit_follows[attempt.key] = "circuit_probed";
  }
}

void OracleModel::circuit_completed(const Attempt& attempt) {
  if (limit_of(attempt) == 0) {
    return;
  }
  Circuit& circuit = circuits[circuit_of(attempt)];
  circuit.failures = 0;
  circuit_follows.erase(attempt.key);
  if (circuit.open) {
    circuit_follows[attempt.key] = "circuit_closed";
  }
}

void OracleModel::circuit_failed(const Attempt& attempt) {
  // The engine claims an attempt to let it fail. That does not probe.
  circuit_follows.erase(attempt.key);
  if (limit_of(attempt) == 0 || attempt.error["code"].string() == "schedule_to_start_timeout") {
    return;
  }
  Circuit& circuit = circuits[circuit_of(attempt)];
  ++circuit.failures;
  const bool opens =
      circuit.open ? circuit.probe == attempt.key : circuit.failures >= limit_of(attempt);
  if (opens) {
    circuit_follows[attempt.key] = "circuit_opened";
  }
}

void OracleModel::circuit_fact(const StoredFact& fact, const Value& data, const Attempt& attempt) {
  Circuit& circuit = circuits[circuit_of(attempt)];
  const std::int64_t at = fact.at.value;
  const auto follows = circuit_follows.find(attempt.key);
  check(follows != circuit_follows.end() && follows->second == fact.kind, kGuarantee,
        "nothing happened that this follows from");
  check(data["workflow"].string() + " " + data["step"].string() ==
            attempt.intent["workflow"].string() + " " +
                StepName::parse(attempt.intent["step"].string()).base,
        kGuarantee, "the attempt is not of that step");
  if (fact.kind == "circuit_opened") {
    check(data["probe_at"].integer() == at + attempt.intent["circuit_probe_after_ms"].integer(),
          kGuarantee, "the probe is due at another time than the definition says");
    check(data["failures"].integer() == circuit.failures, kGuarantee,
          "there were " + std::to_string(circuit.failures) + " failures");
    circuit.open = true;
    circuit.probe_at = data["probe_at"].integer();
    circuit.probe.clear();
  } else if (fact.kind == "circuit_probed") {
    const bool held =
        !attempt.claims.empty() && attempt.claims.back().id == data["probe_claim_id"].string();
    check(held, kGuarantee, "the probe is not the current claim of the attempt");
    check(!is_held_back(attempt, at), kGuarantee, "another attempt probes, or none is due");
    circuit.probe = attempt.key;
    circuit.probe_claim = data["probe_claim_id"].string();
  } else {
    circuit = Circuit();
  }
  circuit_follows.erase(attempt.key);
}

void OracleModel::circuit_reset(const std::string& queue, const Value& data) {
  const std::string name = queue + " " + data["workflow"].string() + " " + data["step"].string();
  check(circuits[name].open, kGuarantee, "an operator closed what is not open: " + name);
  check(requested_resets.contains(name), kGuarantee, "no operator closed " + name);
  check(data["actor"].string() == "ann" && data["reason"].string() == "repaired", kGuarantee,
        "the fact does not say who closed " + name + ", and why");
  circuits[name] = Circuit();
  resets.insert(name);
}

// What a fact about an attempt means for its breaker is in the same batch.
void OracleModel::check_circuits(bool whole) {
  for (const auto& [key, kind] : circuit_follows) {
    check(!whole, kGuarantee, "a fact is missing: " + kind + " of attempt " + key);
  }
  circuit_follows.clear();
}

}  // namespace holdfast::sim::model
