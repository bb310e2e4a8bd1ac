// Compensation.
//
// Guarantees: after `compensation_started` nothing new starts; unclaimed runnables are withdrawn,
// claimed ones end without retries; then the completed steps that have a compensation are
// compensated, newest first, one at a time; a compensation that fails permanently is recorded; the
// run ends with the outcome that the first fact recorded.
#include "lab/sim/oracle_next_facts.h"

namespace holdfast::sim::model {

const Value* Follow::compensation_of(const Runnable& runnable) const {
  const Step* step = definition_.find(runnable.name.base);
  const bool fits = step != nullptr && !runnable.name.compensates && !runnable.is_timer() &&
                    step->spec.has("compensate") &&
                    step->for_each() == runnable.name.item.has_value();
  return fits ? &step->spec["compensate"] : nullptr;
}

const Runnable* Follow::next_to_undo() const {
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
bool Follow::undoable_under_way() const {
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

void Follow::back() {
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
    const Ending ending = ending_of_attempt(runnable);
    if (ending.kind == Ending::Kind::none) {
      continue;
    }
    Duty& duty = apply(runnable, "compensation");
    if (ending.kind == Ending::Kind::done) {
      duty.expected.set("result", *ending.result);
      Value opts = ending.opts;
      if (!opts.is_null() && !opts.has("defer")) {
        duty.expected.set("execution_opts", opts);
      }
      const Step* step = definition_.find(runnable.name.base);
      const bool whole = !runnable.name.compensates && !runnable.name.item.has_value();
      if (whole && step != nullptr && !step->output_key().empty()) {
        duty.expected.set("output_key", step->output_key());
      }
      continue;
    }
    Value result;
    result.set("error", ending.error);
    Value taken;
    taken.set("from", runnable.step);
    taken.set("on", "error");
    taken.set("to", "compensation");
    duty.expected.set("result", result);
    duty.expected.set("transition", taken);
  }
  if (!unclaimed.empty()) {
    Duty& duty = add(Duty::Kind::withdraw, run_.id, "compensation");
    duty.because = "the run is compensating";
    duty.keys = unclaimed;
    return;
  }
  if (open) {
    return;
  }
  if (const Runnable* next = next_to_undo()) {
    undo(*next);
    return;
  }
  Duty& duty = add(Duty::Kind::finish, run_.id, "compensation");
  duty.because = "all steps are compensated";
  duty.expected.set("status", run_.compensation["outcome"]);
  if (run_.compensation.has("error")) {
    duty.expected.set("error", run_.compensation["error"]);
  }
}

void Follow::undo(const Runnable& origin) {
  const Value& spec = *compensation_of(origin);
  const std::string name = "compensate:" + origin.step;
  Duty& duty = plan(run_.id + ":" + name + ":1", name, 1, "compensation");
  duty.because = "it is the newest completed step";
  Value source;
  source.set("run_id", run_.id);
  if (run_.compensation.has("error")) {
    source.set("failure", run_.compensation["error"]);
  }
  Value step;
  step.set("name", origin.step);
  step.set("runnable_key", origin.key);
  step.set("input", origin.plan["input"]);
  step.set("output", origin.result);
  step.set("applied_at", origin.applied_at);
  Value input;
  input.set("source", source);
  input.set("step", step);
  duty.expected.set("input", input);
  duty.expected.set("queue", spec.has("queue") ? spec["queue"] : origin.plan["queue"]);
  duty.expected.set("handler", spec["handler"]);
  for (const char* option : kClaimOptions) {
    if (spec.has(option)) {
      duty.expected.set(option, spec[option]);
    }
  }
  duty.earliest = duty.latest = now_;
}

}  // namespace holdfast::sim::model
