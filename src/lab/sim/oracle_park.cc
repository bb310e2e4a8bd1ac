// Parked steps: the last attempt failed, and an operator decides.
#include "lab/sim/oracle_next_facts.h"

namespace holdfast::sim::model {

std::int64_t attempts_made(const Value& plan) {
  return plan["attempt_number"].integer() - plan["earlier_attempts"].integer();
}

bool NextFacts::parks(const Runnable& runnable) const {
  const Attempt* made = attempt(runnable.key);
  if (made == nullptr || made->outcome != Attempt::Outcome::failed || !made->retry_key.empty() ||
      policy_of(definition_, runnable)["then"].string() != "park") {
    return false;
  }
  if (run_.is_compensating() && !runnable.name.compensates) {
    return false;
  }
  const Runnable* list = nullptr;
  if (runnable.name.item.has_value()) {
    list = run_.newest_of(runnable.step.substr(0, runnable.step.rfind('[')));
  }
  return list == nullptr || list->is_open();
}

bool NextFacts::park(const Runnable& runnable) {
  if (!parks(runnable)) {
    return false;
  }
  const auto at = run_.manual.find(runnable.step);
  if (at == run_.manual.end() || at->second.key != runnable.key) {
    ExpectedFact& expected = add(ExpectedFact::Kind::pause, runnable.step, "parked");
    expected.because = "the last attempt failed";
    expected.members.set("kind", "parked");
    expected.members.set("runnable_key", runnable.key);
    expected.members.set("queue", runnable.plan["queue"]);
    expected.members.set("error", attempt(runnable.key)->error);
    return true;
  }
  const Manual& manual = at->second;
  if (manual.open || manual.action != "retried") {
    return manual.open;
  }
  const std::int64_t number = runnable.plan["attempt_number"].integer() + 1;
  ExpectedFact& expected = plan(run_.id + ":" + runnable.step + ":" + std::to_string(number),
                                runnable.step, number, "parked");
  expected.because = "an operator retried the parked step";
  for (const auto& [name, value] : runnable.plan.members()) {
    if (!expected.members.has(name) && name != "deferred") {
      expected.members.set(name, value);
    }
  }
  expected.members.set("queue", runnable.plan["queue"]);
  expected.members.set("earlier_attempts", runnable.plan["attempt_number"]);
  if (!manual.input.is_null()) {
    expected.members.set("input", manual.input);
  }
  expected.earliest = expected.latest = manual.resolved_at;
  return true;
}

}  // namespace holdfast::sim::model
