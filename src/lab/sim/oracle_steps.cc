// From step to step.
//
// Guarantees: a result is applied to its run once, in the commit that completes its attempt,
// together with everything that follows from it; the first transition that matches is taken and
// recorded; a step with `after` starts when the last of the steps it names has ended, never before;
// a failure that cannot be retried takes its error transition or ends the run, unless it is a fault
// of the definition (oracle_fault.cc); the run completes when every path has ended.
#include <algorithm>

#include "lab/sim/oracle_next_facts.h"
#include "lab/sim/oracle_values.h"

namespace holdfast::sim::model {

Value error_of(const std::string& code, const std::string& step) {
  return Value::object({{"code", code}, {"step", step}});
}

std::vector<ExpectedFact> expected_facts(const OracleModel& model, const Run& run,
                                         std::int64_t now) {
  const bool modelled =
      run.is_started() && !run.has_ended() && run.definition != nullptr && run.unmodelled.empty();
  return modelled ? NextFacts(model, run, now).all() : std::vector<ExpectedFact>();
}

ExpectedFact& NextFacts::add(ExpectedFact::Kind kind, const std::string& subject,
                             const std::string& guarantee) {
  ExpectedFact expected;
  expected.kind = kind;
  expected.subject = subject;
  expected.guarantee = guarantee;
  expected_.push_back(std::move(expected));
  return expected_.back();
}

ExpectedFact& NextFacts::apply(const Runnable& runnable, const std::string& guarantee) {
  return add(ExpectedFact::Kind::apply, runnable.key, guarantee);
}

const Attempt* NextFacts::attempt(const std::string& key) const {
  const auto found = model_.attempts.find(key);
  return found == model_.attempts.end() ? nullptr : &found->second;
}

std::vector<ExpectedFact> NextFacts::all() {
  if (!run_.continuation.is_null()) {
    add(ExpectedFact::Kind::finish, run_.id, "continue").members.set("status", "continued");
    return std::move(expected_);
  }
  cancelled();
  if (run_.is_compensating()) {
    compensate();
  } else {
    forward();
  }
  timers();
  return std::move(expected_);
}

// A cancelled run ends, or compensates first.
void NextFacts::cancelled() {
  if (!run_.cancel_requested) {
    return;
  }
  const bool defined = definition_.spec["compensate_on_cancel"].boolean();
  const std::string& how = run_.cancel_how;
  const bool unknown = how.empty();
  const bool compensates = how == "compensate" || (how == "as_defined" && defined);
  if (!run_.is_compensating() && (compensates || unknown)) {
    add(ExpectedFact::Kind::compensate, run_.id, "cancel").members.set("outcome", "cancelled");
  }
  if (!compensates || unknown) {
    add(ExpectedFact::Kind::finish, run_.id, "cancel").members.set("status", "cancelled");
  }
}

// Facts that are allowed from a certain time on.
void NextFacts::timers() {
  for (const auto& [key, runnable] : run_.runnables) {
    if (!runnable.is_open() || runnable.handler() != "__timer__") {
      continue;
    }
    if (runnable.plan.has("event_wait_timeout")) {
      // The timer of a wait that has ended does not matter.
      const auto wait = run_.waits.find(runnable.plan["event_wait_timeout"]["wait_id"].string());
      if (wait != run_.waits.end() && wait->second.resolved) {
        apply(runnable, "event").because = "the wait has ended";
      }
      continue;
    }
    if (now_ < runnable.visible_at) {
      continue;
    }
    if (runnable.plan["timer"].has("code")) {
      if (!run_.is_compensating()) {
        fail_run(runnable.plan["timer"], "the run timeout has expired", {}, false);
      }
    } else if (runnable.plan.has("timer")) {
      apply(runnable, "timer").must = false;
    }
  }
}

void NextFacts::forward() {
  const std::string& from = run_.adopted["from_step"].string();
  if (const Step* first = definition_.find(from); first != nullptr && !run_.newest_of(from)) {
    begin(*first, run_.adopted["path"].string(), now_, "the replay begins there");
  }
  for (const Step& step : definition_.steps) {
    join(step);
  }
  const std::string timer = run_.id + ":__run__:1";
  if (definition_.spec.has("timeout_ms") && run_.find(timer) == nullptr) {
    ExpectedFact& expected = plan(timer, "__run__", 1, "run_timeout");
    expected.members.set("handler", "__timer__");
    expected.members.set("input", Value::object());
    expected.members.set("timer", error_of("run_timeout", ""));
    expected.earliest = expected.latest =
        run_.started_at + definition_.spec["timeout_ms"].integer();
  }
  for (const std::string& key : run_.planned) {
    const Runnable& runnable = *run_.find(key);
    if (run_.is_newest(runnable) && runnable.is_open() && !runnable.is_timer()) {
      const Step* step = definition_.find(runnable.name.base);
      const Ending ending = ending_of(runnable);
      if (park(runnable) || parked_by_fault(runnable)) {
        continue;
      }
      if (runnable.failure.has_value()) {
        fault(runnable, step, *runnable.failure);
      } else if (ending.kind != Ending::Kind::none) {
        close(runnable, ending);
      } else if (step != nullptr && !runnable.name.compensates) {
        execute_step(runnable, *step);
      }
      retry(runnable);
    }
    if (run_.is_newest(runnable) && runnable.applied && runnable.is_deferred()) {
      defer(runnable);
    }
    if (run_.is_newest(runnable) && runnable.replaced) {
      retry_child(runnable, *definition_.find(runnable.name.base), ending_of(runnable).error);
    }
  }
  for (const std::string& path : definition_.path_steps) {
    continue_path(path);
  }
  begin_nodes();
  complete();
}

void NextFacts::close(const Runnable& runnable, const Ending& ending) {
  const Step* step = definition_.find(runnable.name.base);
  if (step == nullptr) {
    if (run_.graph.contains(runnable.step)) {
      close_node(runnable, ending);
    }
    return;
  }
  if (ending.kind == Ending::Kind::done) {
    done(runnable, *step, ending);
  } else if (ending.may_replace_child) {
    retry_child(runnable, *step, ending.error);
  } else {
    failed(runnable, *step, ending.error);
  }
}

void NextFacts::done(const Runnable& runnable, const Step& step, const Ending& ending) {
  const bool whole = !runnable.name.item.has_value();
  const bool deferred = ending.opts.has("defer");
  ExpectedFact expected;
  expected.kind = ExpectedFact::Kind::apply;
  expected.subject = runnable.key;
  expected.guarantee = "applied";
  expected.because = "the attempt completed";
  expected.must = runnable.handler() != "__timer__";
  if (ending.result.has_value()) {
    expected.members.set("result", *ending.result);
  }
  if (ending.opts.has("continue_as_new")) {
    add(ExpectedFact::Kind::continue_as_new, runnable.key, "continue").members =
        ending.opts["continue_as_new"];
    expected_.push_back(expected);
    return;
  }
  mutation_of(runnable, ending);
  if (!ending.opts.is_null()) {
    expected.members.set("execution_opts", ending.opts);
  }
  if (whole && !deferred) {
    const std::string key = step.output_key();
    if (!key.empty()) {
      expected.members.set("output_key", key);
    }
    Value data = run_.context;
    if (ending.result.has_value()) {
      model::join(data, key, *ending.result);
    }
    Value none = Value::object({{"from", runnable.step}, {"on", "ok"}, {"to", "__none__"}});
    for (const Value& transition : definition_.transitions_from(step.name, "ok")) {
      if (!transition.has("when") || holds(transition["when"], data)) {
        Value taken = transition;
        taken.set("from", runnable.step);
        expected.members.set("transition", taken);
        break;
      }
      expected.members.set("transition", none);
    }
  }
  expected_.push_back(expected);
}

void NextFacts::failed(const Runnable& runnable, const Step& step, const Value& error) {
  if (runnable.name.item.has_value()) {
    failed_item(runnable, error);
    return;
  }
  const auto wait = run_.waits.find(runnable.key);
  Value taken;
  if (wait != run_.waits.end() && wait->second.timed_out &&
      step.spec["await_event"].has("on_timeout")) {
    taken = Value::object({{"on", "timeout"}, {"to", step.spec["await_event"]["on_timeout"]}});
  } else {
    Value data = run_.context;
    data.set("error", error);
    for (const Value& transition : definition_.transitions_from(step.name, "error")) {
      if (!transition.has("when") || holds(transition["when"], data)) {
        taken = transition;
        break;
      }
    }
  }
  if (taken.is_null()) {
    fail_run(error, runnable.step + " failed and no error transition matches",
             exhausted_by(runnable));
    return;
  }
  taken.set("from", runnable.step);
  ExpectedFact& expected = apply(runnable, "error_route");
  expected.because = "the attempt failed";
  expected.members.set("result", Value::object({{"error", error}}));
  expected.members.set("transition", taken);
}

// The error of a failed item is its result in the list; with on_error: fail the list fails with it.
void NextFacts::failed_item(const Runnable& runnable, const Value& error) {
  ExpectedFact& expected = apply(runnable, "items");
  expected.because = "the attempt failed";
  expected.members = Value::object(
      {{"result", Value::object({{"error", error}})},
       {"transition",
        Value::object({{"from", runnable.step}, {"on", "error"}, {"to", runnable.name.list()}})}});
}

namespace {

// The newest runnable of a path.
const Runnable* last_on(const Run& run, const std::string& path) {
  const Runnable* last = nullptr;
  for (const std::string& key : run.planned) {
    const Runnable& runnable = *run.find(key);
    if (runnable.path == path && !runnable.name.item.has_value() && !runnable.name.compensates &&
        !runnable.is_timer() && run.is_newest(runnable)) {
      last = &runnable;
    }
  }
  return last;
}

// A result can request that the next step starts later.
std::int64_t not_before(const Runnable& runnable, std::int64_t now) {
  const std::int64_t delay = runnable.opts["schedule_in_ms"].integer();
  return delay == 0 ? now : std::max(now, runnable.applied_at + delay);
}

}  // namespace

bool has_path_ended(const Run& run, const std::string& step) {
  const auto& adopted = run.adopted["done"].list();
  if (std::find(adopted.begin(), adopted.end(), Value(step)) != adopted.end()) {
    return true;
  }
  const Runnable* last = last_on(run, step);
  if (last == nullptr || !last->applied || last->withdrawn || last->is_deferred()) {
    return false;
  }
  if (!last->transition.is_null()) {
    return last->transition["to"].string() == "complete";
  }
  return run.definition->transitions_from(last->name.base, "ok").empty();
}

// The path continues with the step that its last transition leads to.
void NextFacts::continue_path(const std::string& path) {
  const Runnable* last = last_on(run_, path);
  if (last == nullptr || !last->applied || last->withdrawn || last->is_deferred()) {
    return;
  }
  const std::string& on = last->transition["on"].string();
  const std::string& to = last->transition["to"].string();
  if (last->is_undecided()) {
    undecided(*last);
  } else if (to == "fail") {
    fail_run(on == "ok" ? error_of("failed_by_transition", last->step) : last->result["error"],
             "a transition leads to fail", on == "error" ? exhausted_by(*last) : Value());
  } else if (const Step* next = definition_.find(to)) {
    begin(*next, path, not_before(*last, now_), "a transition leads to it");
  }
}

// A step with `after` starts when the paths of all steps it names have ended.
void NextFacts::join(const Step& step) {
  if (run_.newest_of(step.name) != nullptr) {
    return;
  }
  const auto& paths = definition_.path_steps;
  if (std::find(paths.begin(), paths.end(), step.name) == paths.end() ||
      has_path_ended(run_, step.name)) {
    return;
  }
  std::int64_t visible_at = now_;
  for (const std::string& before : step.after) {
    if (!has_path_ended(run_, before)) {
      return;
    }
    if (const Runnable* last = last_on(run_, before)) {
      visible_at = not_before(*last, visible_at);
    }
  }
  if (!run_.adopted.is_null()) {
    const std::string& path = run_.adopted["path"].string();
    if (run_.adopted["from_step"].string() == step.name || path == step.name) {
      return;  // the replay starts there
    }
  }
  begin(step, "", visible_at,
        step.after.empty() ? "it has no dependencies" : "all of its dependencies have ended");
}

void NextFacts::complete() {
  const auto ended = [&](const std::string& path) { return has_path_ended(run_, path); };
  if (!std::all_of(definition_.path_steps.begin(), definition_.path_steps.end(), ended) ||
      !are_nodes_done()) {
    return;
  }
  for (const auto& [step, key] : run_.newest) {
    if (step != "__run__" && run_.find(key)->is_open()) {
      return;
    }
  }
  Value members = Value::object({{"status", "completed"}});
  if (definition_.spec.has("output")) {
    const Mapped mapped = map_values(definition_.spec["output"], run_.context);
    if (mapped.missing) {
      output_fault();
      return;
    }
    members.set("result", mapped.value);
  }
  ExpectedFact& expected = add(ExpectedFact::Kind::finish, run_.id, "end");
  expected.because = "every path has ended";
  expected.members = members;
}

// A failing run compensates first, if a step that has a compensation is completed or may still
// complete.
void NextFacts::fail_run(const Value& error, const std::string& because, const Value& exhausted,
                         bool must) {
  const bool compensates = next_to_compensate() != nullptr || compensatable_in_progress();
  ExpectedFact& expected =
      add(compensates ? ExpectedFact::Kind::compensate : ExpectedFact::Kind::finish, run_.id,
          compensates ? "compensation" : "end");
  expected.because = because;
  expected.must = must;
  expected.members.set(compensates ? "outcome" : "status", "failed");
  expected.members.set("error", error);
  if (!exhausted.is_null()) {
    expected.members.set("exhausted", exhausted);
  }
}

Ending NextFacts::ending_of(const Runnable& runnable) const {
  Ending ending;
  if (runnable.failure.has_value()) {
    return ending;
  }
  const Step* step = definition_.find(runnable.name.base);
  const bool whole_list =
      step != nullptr && step->for_each() && !runnable.name.item && !runnable.name.compensates;
  if (whole_list) {
    return ending_of_list(runnable);
  }
  if (runnable.handler() == "__timer__") {  // a wait step is only its timer
    if (now_ >= runnable.visible_at) {
      ending.kind = Ending::Kind::done;
    }
    return ending;
  }
  if (runnable.handler() != "__engine__") {
    return ending_of_attempt(runnable);
  }
  return step == nullptr ? ending : ending_of_wait(runnable, *step);
}

Ending NextFacts::ending_of_attempt(const Runnable& runnable) const {
  Ending ending;
  const Attempt* made = attempt(runnable.key);
  if (made == nullptr || made->outcome == Attempt::Outcome::none) {
    return ending;
  }
  if (made->outcome == Attempt::Outcome::completed) {
    ending.kind = Ending::Kind::done;
    ending.result = made->result;
    ending.opts = made->opts;
  } else if (made->retry_key.empty()) {
    ending.kind = Ending::Kind::failed;
    ending.error = made->error;
  }
  return ending;
}

Ending NextFacts::ending_of_wait(const Runnable& runnable, const Step& step) const {
  Ending ending;
  if (step.kind == StepKind::child) {
    return ending_of_child(runnable, step);
  }
  const auto manual = run_.manual.find(runnable.step);
  if (manual != run_.manual.end() && !manual->second.open && manual->second.kind != "parked") {
    const bool rejected = manual->second.action == "rejected";
    ending.kind = rejected ? Ending::Kind::failed : Ending::Kind::done;
    ending.result = manual->second.result;
    ending.error = error_of("rejected", runnable.step);
    return ending;
  }
  const auto wait = run_.waits.find(runnable.key);
  if (wait != run_.waits.end() && wait->second.resolved) {
    ending.kind = wait->second.timed_out ? Ending::Kind::failed : Ending::Kind::done;
    ending.error = error_of("event_timeout", runnable.step);
    if (wait->second.received.has_value()) {
      const Value& fact = *wait->second.received;
      ending.result = step.spec["await_event"]["any_of"].list().size() > 1
                          ? Value::object({{"event", fact["event"]}, {"payload", fact["payload"]}})
                          : fact["payload"];
    }
  }
  return ending;
}

Ending NextFacts::ending_of_child(const Runnable& runnable, const Step& step) const {
  Ending ending;
  const Runnable* expired = run_.find(runnable.key + ":timeout");
  for (const ChildLink& link : run_.children) {
    if (link.origin != runnable.key) {
      continue;
    }
    if (!link.awaited) {
      ending.kind = Ending::Kind::done;
      ending.result = Value::object({{"run_id", link.child}});
      return ending;
    }
    const Run* child = nullptr;  // a continued child run lives on in its successor
    for (std::string id = link.child; !id.empty();) {
      const auto found = model_.runs.find(id);
      child = found == model_.runs.end() ? nullptr : &found->second;
      id = child == nullptr ? "" : child->continuation["successor_run_id"].string();
    }
    const bool ended = child != nullptr && child->has_ended();
    const std::string status = ended ? child->terminal["status"].string() : "";
    if (status == "completed") {
      ending.kind = Ending::Kind::done;
      ending.result =
          child->terminal.has("result") ? child->terminal["result"] : Value(child->context);
    } else if (ended) {
      ending.kind = Ending::Kind::failed;
      ending.error =
          error_of(status == "failed" ? "child_failed" : "child_cancelled", runnable.step);
      ending.error.set("child_run_id", child->id);
      if (child->terminal.has("error")) {
        ending.error.set("error", child->terminal["error"]);
      }
      ending.may_replace_child = status == "failed";
    } else if (expired != nullptr && expired->applied && step.spec.has("timeout")) {
      ending.kind = Ending::Kind::failed;
      ending.error = error_of("start_to_close_timeout", runnable.step);
      ending.may_replace_child = true;
    }
  }
  return ending;
}

std::optional<RetryRule> NextFacts::may_retry(const Runnable& runnable, const Value& error,
                                              bool retryable) const {
  const Value policy = policy_of(definition_, runnable);
  const RetryRule rule = retry_rule(policy, error["code"].string(), attempts_made(runnable.plan));
  const bool exception = error["code"].string() == "step_exception" && rule.named;
  const bool more = attempts_made(runnable.plan) < rule.max_attempts;
  return more && (retryable || exception) ? std::optional(rule) : std::nullopt;
}

// The failure scheduled the next attempt; the run plans the same one.
void NextFacts::retry(const Runnable& runnable) {
  const Attempt* made = attempt(runnable.key);
  if (made == nullptr || made->retry_key.empty() || run_.find(made->retry_key) != nullptr) {
    return;
  }
  ExpectedFact& expected =
      plan(made->retry_key, runnable.step, runnable.plan["attempt_number"].integer() + 1, "retry");
  for (const auto& [name, value] : runnable.plan.members()) {
    if (!expected.members.has(name) && name != "deferred") {
      expected.members.set(name, value);
    }
  }
  expected.members.set("queue", runnable.plan["queue"]);
  const Attempt* next = attempt(made->retry_key);
  expected.earliest = expected.latest = next == nullptr ? now_ : next->visible_at;
}

// <key>:deferred, <key>:deferred:2 ...: the same attempt, later. The deferred attempt sees what the
// step stored in the context when it deferred itself.
void NextFacts::defer(const Runnable& runnable) {
  const std::string suffix = ":deferred";
  const std::size_t found = runnable.key.rfind(suffix);
  std::string key = runnable.key + suffix;
  if (runnable.plan.has("deferred") && found != std::string::npos) {
    const std::string times = runnable.key.substr(found + suffix.size());
    key = runnable.key.substr(0, found + suffix.size()) + ":" +
          std::to_string(times.empty() ? 2 : std::stoll(times.substr(1)) + 1);
  }
  if (run_.find(key) != nullptr) {
    return;
  }
  ExpectedFact& expected =
      plan(key, runnable.step, runnable.plan["attempt_number"].integer(), "defer");
  for (const auto& [name, value] : runnable.plan.members()) {
    if (!expected.members.has(name)) {
      expected.members.set(name, value);
    }
  }
  expected.members.set("queue", runnable.plan["queue"]);
  const Step* step = definition_.find(runnable.name.base);
  if (step != nullptr && !step->spec.has("input") && !runnable.name.item.has_value()) {
    expected.members.set("input", run_.context);
  }
  expected.earliest = expected.latest =
      runnable.applied_at + runnable.opts["defer"]["schedule_in_ms"].integer();
}

}  // namespace holdfast::sim::model
