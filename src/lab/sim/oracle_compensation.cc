// Compensation.
//
// Guarantees: after `compensation_started` nothing new starts; unclaimed runnables are withdrawn,
// claimed ones end without retries; then the completed steps that have a compensation are
// compensated, newest first, one at a time; a compensation that fails permanently is recorded; the
// run ends with the outcome that the first fact recorded.
#include "lab/sim/oracle_next_facts.h"

namespace holdfast::sim::model {

const Value* NextFacts::compensation_of(const Runnable& runnable) const {
  const Step* step = definition_.find(runnable.name.base);
  const bool fits = step != nullptr && !runnable.name.compensates && !runnable.is_timer() &&
                    step->spec.has("compensate") &&
                    step->for_each() == runnable.name.item.has_value();
  return fits ? &step->spec["compensate"] : nullptr;
}

const Runnable* NextFacts::next_to_compensate() const {
  const Runnable* next = nullptr;
  for (const auto& [step, key] : run_.newest) {
    const Runnable& runnable = *run_.find(key);
    if (runnable.is_done() && compensation_of(runnable) != nullptr &&
        run_.newest_of("compensate:" + step) == nullptr &&
        (next == nullptr || runnable.applied_order > next->applied_order)) {
      next = &runnable;
    }
  }
  return next;
}

// A claimed attempt may still complete, and would then have to be compensated.
bool NextFacts::compensatable_in_progress() const {
  for (const auto& [step, key] : run_.newest) {
    const Runnable& runnable = *run_.find(key);
    const Attempt* made = attempt(key);
    if (runnable.is_open() && compensation_of(runnable) != nullptr && made != nullptr &&
        made->is_claimed()) {
      return true;
    }
  }
  return false;
}

void NextFacts::compensate() {
  std::set<std::string> unclaimed;
  bool open = false;
  for (const std::string& key : run_.planned) {
    const Runnable& runnable = *run_.find(key);
    if (!runnable.is_open() || (!runnable.is_timer() && !run_.is_newest(runnable))) {
      continue;
    }
    const Attempt* made = attempt(key);
    if (!run_.withdrew && !runnable.name.compensates && (made == nullptr || !made->is_claimed())) {
      unclaimed.insert(key);
      continue;
    }
    if (runnable.is_timer()) {
      continue;
    }
    open = true;
    retry(runnable);
    if (park(runnable)) {
      continue;
    }
    const Ending ending = ending_of_attempt(runnable);
    if (ending.kind == Ending::Kind::none) {
      continue;
    }
    ExpectedFact& expected = apply(runnable, "compensation");
    if (ending.kind == Ending::Kind::done) {
      expected.members.set("result", *ending.result);
      Value opts = ending.opts;
      if (!opts.is_null() && !opts.has("defer")) {
        expected.members.set("execution_opts", opts);
      }
      const Step* step = definition_.find(runnable.name.base);
      const bool whole = !runnable.name.compensates && !runnable.name.item.has_value();
      if (whole && step != nullptr && !step->output_key().empty()) {
        expected.members.set("output_key", step->output_key());
      }
      continue;
    }
    expected.members = Value::object(
        {{"result", Value::object({{"error", ending.error}})},
         {"transition",
          Value::object({{"from", runnable.step}, {"on", "error"}, {"to", "compensation"}})}});
  }
  if (!unclaimed.empty()) {
    ExpectedFact& expected = add(ExpectedFact::Kind::withdraw, run_.id, "compensation");
    expected.because = "the run is compensating";
    expected.keys = unclaimed;
    return;
  }
  if (open) {
    return;
  }
  if (const Runnable* next = next_to_compensate()) {
    plan_compensation(*next);
    return;
  }
  ExpectedFact& expected = add(ExpectedFact::Kind::finish, run_.id, "compensation");
  expected.because = "all steps are compensated";
  expected.members.set("status", run_.compensation["outcome"]);
  if (run_.compensation.has("error")) {
    expected.members.set("error", run_.compensation["error"]);
  }
  if (run_.compensation.has("exhausted")) {
    expected.members.set("exhausted", run_.compensation["exhausted"]);
  }
}

void NextFacts::plan_compensation(const Runnable& origin) {
  const Value& spec = *compensation_of(origin);
  const std::string name = "compensate:" + origin.step;
  ExpectedFact& expected = plan(run_.id + ":" + name + ":1", name, 1, "compensation");
  expected.because = "it is the newest completed step";
  Value source = Value::object({{"run_id", run_.id}});
  if (run_.compensation.has("error")) {
    source.set("failure", run_.compensation["error"]);
  }
  const Value step = Value::object({{"name", origin.step},
                                    {"runnable_key", origin.key},
                                    {"input", origin.plan["input"]},
                                    {"output", origin.result},
                                    {"applied_at", origin.applied_at}});
  expected.members.set("input", Value::object({{"source", source}, {"step", step}}));
  expected.members.set("queue", spec.has("queue") ? spec["queue"] : origin.plan["queue"]);
  expected.members.set("handler", spec["handler"]);
  for (const char* option : kClaimOptions) {
    if (spec.has(option)) {
      expected.members.set(option, spec[option]);
    }
  }
  expected.earliest = expected.latest = now_;
}

}  // namespace holdfast::sim::model
