// Faults of a definition that show while a run executes.
//
// Guarantees: what cannot be done as the definition says is parked with its error, unless an error
// transition or a list that collects errors takes it; nothing that is done is repeated; a retry
// begins the step again from its start, as the next attempt with the idempotency key of the first;
// a result that no transition fits stays applied, its path does not continue, and a retry records
// the transition that fits; a run whose output cannot be mapped does not end; a migration retries
// every fault.
#include <algorithm>

#include "lab/sim/oracle_next_facts.h"
#include "lab/sim/oracle_run_fact.h"
#include "lab/sim/oracle_values.h"

namespace holdfast::sim::model {

namespace {

constexpr const char* kNoTransition = "__none__";
const Manual* parked_at(const Run& run, const Runnable& runnable) {
  const auto at = run.manual.find(runnable.step);
  const bool here =
      at != run.manual.end() && at->second.kind == "parked" && at->second.key == runnable.key;
  return here ? &at->second : nullptr;
}

}  // namespace

bool Runnable::is_undecided() const {
  return applied && !withdrawn && transition["to"].string() == kNoTransition;
}

bool is_fault(const Run& run, const Manual& manual) {
  const Runnable* runnable =
      manual.open && manual.kind == "parked" ? run.find(manual.key) : nullptr;
  return runnable != nullptr && (runnable->handler() == "__engine__" || runnable->applied);
}

bool takes_input(const Run& run, const Manual& parked) {
  const Runnable* runnable = run.find(parked.key);
  if (runnable == nullptr || runnable->applied || runnable->handler() != "__engine__") {
    return runnable == nullptr || !runnable->applied;
  }
  const Step* step =
      run.definition == nullptr ? nullptr : run.definition->find(runnable->name.base);
  return step != nullptr && step->is_call() &&
         (!step->for_each() || runnable->name.item.has_value());
}

bool NextFacts::parked_by_fault(const Runnable& runnable) {
  const Manual* manual = parked_at(run_, runnable);
  if (manual == nullptr || runnable.handler() != "__engine__") {
    return false;
  }
  fault(runnable, definition_.find(runnable.name.base), Value(manual->error));
  return true;
}

bool NextFacts::has_fault(const Runnable& item, const Step& step) const {
  if (!item.is_open() || item.handler() != "__engine__") {
    return false;
  }
  const Manual* manual = parked_at(run_, item);
  if (manual != nullptr) {
    return manual->open;
  }
  return item.failure.has_value() && !takes_error(item, &step, *item.failure);
}

void NextFacts::pause_at(const Runnable& runnable, const Value& error) {
  ExpectedFact& expected = add(ExpectedFact::Kind::pause, runnable.step, "fault");
  expected.because = "the definition has a fault";
  expected.members.set("kind", "parked");
  expected.members.set("runnable_key", runnable.key);
  expected.members.set("queue", runnable.plan["queue"]);
  expected.members.set("error", error);
}

void NextFacts::fault(const Runnable& runnable, const Step* step, const Value& error) {
  const Manual* manual = parked_at(run_, runnable);
  if (manual != nullptr && manual->open) {
    return;
  }
  if (manual != nullptr && manual->action == "retried") {
    begin_again(runnable, step, *manual);
  } else if (manual == nullptr && !takes_error(runnable, step, error)) {
    pause_at(runnable, error);
  } else if (step == nullptr) {
    fail_run(error, "the output was given up");
  } else {
    failed(runnable, *step, error);
  }
}

bool NextFacts::takes_error(const Runnable& runnable, const Step* step, const Value& error) const {
  if (step == nullptr) {
    return false;
  }
  Value seen = error;
  if (runnable.name.item.has_value()) {
    const Runnable* list = run_.newest_of(runnable.step.substr(0, runnable.step.rfind('[')));
    if (list == nullptr || !list->is_open() ||
        step->spec["for_each"]["on_error"].string() == "collect") {
      return true;
    }
    seen.set("item", *runnable.name.item);
  }
  Value data = run_.context;
  data.set("error", seen);
  const auto routes = definition_.transitions_from(step->name, "error");
  return std::any_of(routes.begin(), routes.end(), [&](const Value& route) {
    return !route.has("when") || holds(route["when"], data);
  });
}

void NextFacts::begin_again(const Runnable& runnable, const Step* step, const Manual& manual) {
  if (step == nullptr) {
    apply(runnable, "fault").because = "an operator retried the output";
    return;
  }
  const std::int64_t number = runnable.plan["attempt_number"].integer() + 1;
  ExpectedFact& expected = plan(run_.id + ":" + runnable.step + ":" + std::to_string(number),
                                runnable.step, number, "fault");
  expected.because = "an operator retried what the definition had a fault at";
  expected.earliest = expected.latest = std::max(manual.resolved_at, runnable.visible_at);
  expected.members.set("earlier_attempts", number - 1);
  if (runnable.plan.has("path")) {
    expected.members.set("path", runnable.plan["path"]);
  }
  given_ = manual.input;
  if (runnable.name.item.has_value()) {
    const Runnable* list = run_.newest_of(runnable.step.substr(0, runnable.step.rfind('[')));
    fill_item(expected, *step, *list, *runnable.name.item);
  } else {
    fill_visit(expected, *step);
  }
  given_ = Value();
}

void NextFacts::undecided(const Runnable& runnable) {
  const Manual* manual = parked_at(run_, runnable);
  if (manual != nullptr && manual->open) {
    return;
  }
  const Value error = error_of("no_matching_transition", runnable.step);
  if (manual != nullptr && manual->action == "discarded") {
    fail_run(error, "no transition matches, and the step was given up");
  } else {
    pause_at(runnable, error);
  }
}

void NextFacts::output_fault() {
  const Runnable* last = run_.newest_of(kOutputStep);
  const std::int64_t number = last == nullptr ? 1 : last->plan["attempt_number"].integer() + 1;
  ExpectedFact& expected = plan(run_.id + ":" + kOutputStep + ":" + std::to_string(number),
                                kOutputStep, number, "fault");
  expected.because = "a path of the output is missing";
  expected.members.set("handler", "__engine__");
  expected.failure = error_of("missing_output_path", "");
  expected.earliest = expected.latest = now_;
}

// The transition that the retry of a step takes whose result none fitted.
void RunFact::decided(const std::string& step, const Manual& manual) {
  const auto found = run_.runnables.find(manual.key);
  const bool undecided = found != run_.runnables.end() && found->second.is_undecided();
  if (!undecided || manual.action != "retried" || !modelled()) {
    check(!data_.has("transition"), "fault", step + " takes a transition without need");
    return;
  }
  Runnable& runnable = found->second;
  Value data = run_.context;
  join(data, runnable.output_key, runnable.result);
  Value taken;
  for (const Value& transition : run_.definition->transitions_from(runnable.name.base, "ok")) {
    if (taken.is_null() && (!transition.has("when") || holds(transition["when"], data))) {
      taken = transition;
      taken.set("from", runnable.step);
    }
  }
  check(taken == data_["transition"], "fault",
        step + " takes " + data_["transition"].text() + ", not " + taken.text());
  if (data_.has("transition")) {
    runnable.transition = data_["transition"];
  }
}

}  // namespace holdfast::sim::model
