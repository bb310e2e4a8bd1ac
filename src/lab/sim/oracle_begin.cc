// How a step starts, and the steps that the engine executes itself.
//
// Guarantees: the input of a step is what its mapping selects from the context at that moment, the
// same for all its attempts; a missing path is a fault before a handler is called; no step
// starts more often than max_visits allows; no more items of a list are in progress than its
// concurrency allows; a step of the engine is executed in the commit that plans it, or when its
// time has come, never before.
#include <algorithm>

#include "lab/sim/oracle_next_facts.h"
#include "lab/sim/oracle_values.h"

namespace holdfast::sim::model {

namespace {

void copy_if_there(Value& to, const std::string& name, const Value& from) {
  if (!from.is_null()) {
    to.set(name, from);
  }
}

// A step that was planned for later starts when its timer fires.
bool has_begun(const Run& run, const Runnable& runnable) {
  const Runnable* timer = run.find(runnable.key + ":begin");
  return runnable.visible_at <= runnable.planned_at || (timer != nullptr && timer->applied);
}

}  // namespace

Value policy_of(const Definition& definition, const Runnable& runnable) {
  const Step* step = definition.find(runnable.name.base);
  if (step == nullptr) {
    return runnable.retry;
  }
  return runnable.name.compensates ? step->spec["compensate"]["retry"] : step->spec["retry"];
}

ExpectedFact& NextFacts::plan(const std::string& key, const std::string& step, std::int64_t number,
                              const std::string& guarantee) {
  ExpectedFact& expected = add(ExpectedFact::Kind::plan, key, guarantee);
  expected.members.set("step", step);
  expected.members.set("attempt_number", number);
  expected.members.set("runnable_key", key);
  // All attempts at one visit or item of a step share it, also retries and deferrals.
  expected.members.set("idempotency_key", run_.id + ":" + step + ":1");
  expected.members.set("queue", run_.queue);
  return expected;
}

void NextFacts::begin(const Step& step, const std::string& path, std::int64_t visible_at,
                      const std::string& because) {
  std::int64_t visit = 1;
  for (const auto& [name, key] : run_.newest) {
    const StepName known = StepName::parse(name);
    if (known.base == step.name && !known.item.has_value() && !known.compensates) {
      visit = std::max(visit, known.visit + 1);
    }
  }
  if (visit > definition_.max_visits(step)) {
    fail_run(error_of("visit_limit_exceeded", step.name), "the step was visited too often");
    return;
  }
  const std::string name = visit == 1 ? step.name : step.name + "@" + std::to_string(visit);
  ExpectedFact& expected =
      plan(run_.id + ":" + name + ":1", name, 1, step.after.empty() ? "branch" : "join");
  expected.because = because;
  expected.earliest = expected.latest = visible_at;
  if (!path.empty() && path != name) {
    expected.members.set("path", path);
  }
  fill_visit(expected, step);
}

void NextFacts::fill_visit(ExpectedFact& expected, const Step& step) {
  copy_if_there(expected.members, "queue", step.spec["queue"]);
  if (!step.for_each()) {
    fill_plan(expected, step, run_.context);
    return;
  }
  const Value& items = step.spec["for_each"]["items"];
  const auto list = items.is_list() ? std::optional(items) : at_path(run_.context, items.string());
  expected.members.set("handler", "__engine__");
  if (list.has_value() && list->is_list()) {
    Value input = Value::object();
    input.set("items", *list);
    expected.members.set("input", input);
  } else {
    expected.failure = error_of("invalid_items", step.name);
  }
}

void NextFacts::begin_item(const Step& step, const Runnable& list, std::int64_t item) {
  const std::string name = list.step + "[" + std::to_string(item) + "]";
  ExpectedFact& expected = plan(run_.id + ":" + name + ":1", name, 1, "items");
  expected.because = "it is the next item of its list";
  expected.earliest = expected.latest = std::max(now_, list.visible_at);
  copy_if_there(expected.members, "path", list.plan["path"]);
  fill_item(expected, step, list, item);
}

void NextFacts::fill_item(ExpectedFact& expected, const Step& step, const Runnable& list,
                          std::int64_t item) {
  const std::string as =
      step.spec["for_each"].has("as") ? step.spec["for_each"]["as"].string() : "item";
  Value data = step.spec.has("input") ? run_.context : Value::object();
  data.set(as, list.plan["input"]["items"].list()[static_cast<std::size_t>(item)]);
  data.set("index", item);
  copy_if_there(expected.members, "queue", step.spec["queue"]);
  fill_plan(expected, step, data);
}

// Fills in the handler and the input.
void NextFacts::fill_plan(ExpectedFact& expected, const Step& step, const Value& data) {
  expected.members.set("input", Value::object());
  expected.members.set("handler", "__engine__");
  if (step.is_call()) {
    fill_input(expected, step, data);
  }
  if (step.is_work() && !expected.failure.has_value()) {
    expected.members.set("handler", step.handler());
    for (const char* option : kClaimOptions) {
      copy_if_there(expected.members, option, step.spec[option]);
    }
    for (const char* limit : kTimeouts) {
      copy_if_there(expected.members, limit, step.spec["timeout"][limit]);
    }
    const Value& circuit = step.spec["circuit_breaker"];
    copy_if_there(expected.members, "circuit_failures", circuit["failures"]);
    copy_if_there(expected.members, "circuit_probe_after_ms", circuit["probe_after_ms"]);
  }
  if (step.kind == StepKind::log) {
    Value line;
    line.set("level", step.spec["log"]["level"]);
    line.set("message", fill_in(step.spec["log"]["message"].string(), data));
    expected.members.set("input", line);
  }
  if (step.kind == StepKind::wait) {
    fill_wait(expected, step, data);
  }
}

void NextFacts::fill_input(ExpectedFact& expected, const Step& step, const Value& data) {
  Value input = data;
  if (!given_.is_null()) {
    expected.members.set("input", given_);
    return;
  }
  if (step.spec.has("input")) {
    const Mapped mapped = map_values(step.spec["input"], data);
    if (mapped.missing) {
      expected.failure = error_of("missing_input_path", step.name);
      return;
    }
    input = mapped.value;
  }
  if (step.spec.has("input_schema") && !fits_contract(step.spec["input_schema"], input)) {
    expected.failure = error_of("invalid_input", step.name);
    return;
  }
  expected.members.set("input", input);
}

void NextFacts::fill_wait(ExpectedFact& expected, const Step& step, const Value& data) {
  const Value& wait = step.spec["wait"];
  std::int64_t until = expected.earliest + wait["for_ms"].integer();
  if (wait.has("until")) {
    auto time = time_in(wait["until"]);
    if (!time.has_value()) {
      time = time_in(at_path(data, wait["until"].string()).value_or(Value()));
    }
    if (!time.has_value()) {
      expected.failure = error_of("invalid_wait_time", step.name);
      return;
    }
    until = std::max(*time, expected.earliest);
  }
  expected.guarantee = "wait";
  expected.earliest = expected.latest = until;
  if (until > now_) {
    expected.members.set("handler", "__timer__");
  }
}

// The items of a list that may start now, and the ones to withdraw after one has failed.
void NextFacts::items(const Runnable& list, const Step& step) {
  const auto size = static_cast<std::int64_t>(list.plan["input"]["items"].list().size());
  const std::int64_t most = step.spec["for_each"]["concurrency"].integer();
  std::int64_t next = 0;
  std::int64_t ended = 0;
  bool broken = false;
  bool blocked = false;  // no item begins while the definition has a fault at one
  std::set<std::string> others;
  for (; next < size; ++next) {
    const Runnable* item = run_.newest_of(list.step + "[" + std::to_string(next) + "]");
    if (item == nullptr) {
      break;
    }
    ended += item->applied && !item->is_deferred() ? 1 : 0;
    broken = broken || (item->applied && !item->is_done());
    const Attempt* made = attempt(item->key);
    const bool kept = step.spec.has("compensate") && made != nullptr && made->is_claimed();
    if (item->is_open() && !kept) {
      others.insert(item->key);
    }
    blocked = blocked || has_fault(*item, step);
  }
  if (broken && step.spec["for_each"]["on_error"].string() != "collect") {
    if (!others.empty()) {
      ExpectedFact& expected = add(ExpectedFact::Kind::withdraw, list.key, "items");
      expected.because = "another item failed";
      expected.keys = others;
    }
    return;
  }
  for (; !blocked && next < size && (most == 0 || next - ended < most); ++next) {
    begin_item(step, list, next);
  }
}

Ending NextFacts::ending_of_list(const Runnable& list) const {
  Ending ending;
  const Step& step = *definition_.find(list.name.base);
  const bool collects = step.spec["for_each"]["on_error"].string() == "collect";
  const auto& all = list.plan["input"]["items"].list();
  Value results = Value(Value::List{});
  const Runnable* broken = nullptr;
  bool in_progress = false;
  bool missing = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Runnable* item = run_.newest_of(list.step + "[" + std::to_string(i) + "]");
    missing = missing || item == nullptr || !item->applied || item->is_deferred();
    if (item == nullptr) {
      continue;
    }
    if (item->applied && !item->is_done() &&
        (broken == nullptr || item->applied_order < broken->applied_order)) {
      broken = item;
    }
    const Attempt* made = attempt(item->key);
    const bool kept = step.spec.has("compensate") && made != nullptr && made->is_claimed();
    in_progress = in_progress || (item->is_open() && !kept);
    results.push(item->result);
  }
  if (broken != nullptr && !collects) {
    if (!in_progress) {
      ending.kind = Ending::Kind::failed;
      ending.error = broken->result["error"];
      if (ending.error.is_object()) {
        ending.error.set("item", *broken->name.item);
      }
    }
  } else if (!missing) {
    ending.kind = Ending::Kind::done;
    ending.result = results;
  }
  return ending;
}

void NextFacts::execute_step(const Runnable& runnable, const Step& step) {
  if (step.for_each() && !runnable.name.item.has_value()) {
    items(runnable, step);
    return;
  }
  if (runnable.handler() != "__engine__") {
    return;
  }
  if (!has_begun(run_, runnable)) {
    plan_timer(runnable, "begin", "begin", runnable.visible_at);
    return;
  }
  switch (step.kind) {
    case StepKind::log:
    case StepKind::wait: {
      Ending ending;
      ending.kind = Ending::Kind::done;
      done(runnable, step, ending);
      return;
    }
    case StepKind::pause:
    case StepKind::approval:
      open_manual(runnable, step);
      return;
    case StepKind::event:
      open_wait(runnable, step);
      return;
    case StepKind::child:
      start_child(runnable, step);
      return;
    case StepKind::handler:
    case StepKind::http:
    case StepKind::exec:
      return;
  }
}

void NextFacts::plan_timer(const Runnable& of, const std::string& suffix, const std::string& does,
                           std::int64_t at) {
  const std::string key = of.key + ":" + suffix;
  if (run_.find(key) != nullptr) {
    return;
  }
  ExpectedFact& expected = plan(key, of.step, of.plan["attempt_number"].integer(), "timer");
  Value timer;
  timer.set(does, of.key);
  expected.members.set("idempotency_key", key);
  expected.members.set("timer", timer);
  expected.members.set("handler", "__timer__");
  expected.members.set("input", Value::object());
  expected.members.set("queue", of.plan["queue"]);
  copy_if_there(expected.members, "path", of.plan["path"]);
  expected.earliest = expected.latest = at;
}

void NextFacts::open_manual(const Runnable& runnable, const Step& step) {
  const auto known = run_.manual.find(runnable.step);
  if (known != run_.manual.end() && known->second.kind != "parked") {
    return;
  }
  const bool pause = step.kind == StepKind::pause;
  ExpectedFact& expected = add(ExpectedFact::Kind::pause, runnable.step, "manual");
  expected.members.set("kind", pause ? "pause" : "approval");
  const Value& spec = step.spec[pause ? "pause" : "approval"];
  if (spec.has("reason")) {
    expected.members.set("reason", fill_in(spec["reason"].string(), run_.context));
  }
}

void NextFacts::open_wait(const Runnable& runnable, const Step& step) {
  const Value& spec = step.spec["await_event"];
  if (const auto known = run_.waits.find(runnable.key); known != run_.waits.end()) {
    const EventWait& wait = known->second;
    const Runnable* timer = run_.find(runnable.key + ":timeout");
    if (spec.has("timeout_ms") && timer == nullptr) {
      ExpectedFact& expected = plan(runnable.key + ":timeout", runnable.step,
                                    runnable.plan["attempt_number"].integer(), "event");
      expected.members.set("idempotency_key", runnable.key + ":timeout");
      expected.members.set("queue", runnable.plan["queue"]);
      expected.members.set("handler", "__timer__");
      expected.members.set("input", Value::object());
      expected.members.set("event_wait_timeout", wait.opened["timeout"]);
      expected.earliest = expected.latest = wait.opened_at + spec["timeout_ms"].integer();
      return;
    }
    for (const Value& event : run_.buffered) {
      if (wait.is_open() && wait.awaits(event)) {
        add(ExpectedFact::Kind::receive, wait.id, "event").members = event;
        return;
      }
    }
    if (!wait.is_open() && !wait.resolved) {
      add(ExpectedFact::Kind::resolve, wait.id, "event")
          .members.set("action", wait.timed_out ? "timed_out" : "received");
    }
    return;
  }
  ExpectedFact& expected = add(ExpectedFact::Kind::open_wait, runnable.key, "event");
  expected.members.set("step", runnable.step);
  Value events = Value(Value::List{});
  for (const Value& event : spec["any_of"].list()) {
    Value awaited;
    awaited.set("event", event["event"]);
    const Value& correlation = event["correlation"];
    if (correlation.is_string()) {
      awaited.set("correlation", correlation);
    } else if (correlation.has("path")) {
      const auto found = at_path(run_.context, correlation["path"].string());
      if (!found.has_value()) {
        expected_.pop_back();
        fault(runnable, &step, error_of("missing_input_path", step.name));
        return;
      }
      const std::string text = found->is_string() ? found->string() : found->text();
      if (!text.empty()) {
        awaited.set("correlation", text);
      }
    }
    events.push(awaited);
  }
  expected.members.set("events", events);
  if (spec.has("timeout_ms")) {
    expected.members.set("due_at", now_ + spec["timeout_ms"].integer());
    expected.members.set("target", spec.has("on_timeout") ? spec["on_timeout"] : Value("error"));
  }
}

void NextFacts::start_child(const Runnable& runnable, const Step& step) {
  const Value& spec = step.spec["child"];
  const auto linked = [&](const ChildLink& link) { return link.origin == runnable.key; };
  if (std::any_of(run_.children.begin(), run_.children.end(), linked)) {
    if (step.spec["timeout"].has("start_to_close_ms") && !spec["detached"].boolean()) {
      plan_timer(runnable, "timeout", "expire",
                 runnable.planned_at + step.spec["timeout"]["start_to_close_ms"].integer());
    }
    return;
  }
  const auto current = model_.workflows.find(spec["workflow"].string());
  if (current == model_.workflows.end()) {
    fault(runnable, &step, error_of("unknown_workflow", step.name));
    return;
  }
  const Definition& child = model_.definitions.at(current->second);
  const auto& triggers = child.spec["triggers"].list();
  const std::string first = triggers.empty() ? "manual" : triggers.front()["name"].string();
  const std::string trigger = spec.has("trigger") ? spec["trigger"].string() : first;
  for (const Value& known : triggers) {
    if (known["name"].string() == trigger && known.has("payload") &&
        (!fits_contract(known["payload"], runnable.plan["input"]) ||
         !has_only(known["payload"], runnable.plan["input"]))) {
      fault(runnable, &step, error_of("invalid_payload", step.name));
      return;
    }
  }
  const std::int64_t number = runnable.plan["attempt_number"].integer();
  ExpectedFact& expected = add(ExpectedFact::Kind::child, runnable.key, "child");
  expected.members.set("child_workflow", spec["workflow"]);
  expected.members.set("child_trigger", trigger);
  expected.members.set("child_key", (spec.has("key") ? spec["key"].string() : step.name) +
                                        (number > 1 ? "#" + std::to_string(number) : ""));
  expected.members.set("input", runnable.plan["input"]);
  expected.members.set("on_parent_close", spec["on_parent_close"]);
  copy_if_there(expected.members, "child_queue", spec["queue"]);
  if (!spec["detached"].boolean()) {
    expected.members.set("awaited", true);
  }
}

// A failed child run is retried with a new one, as the policy of the step defines.
void NextFacts::retry_child(const Runnable& runnable, const Step& step, const Value& error) {
  const auto rule = may_retry(runnable, error, true);
  if (!rule.has_value()) {
    failed(runnable, step, error);
    return;
  }
  if (runnable.is_open()) {
    ExpectedFact& replaced = add(ExpectedFact::Kind::withdraw, runnable.key, "child");
    replaced.because = "a new child run replaces it";
    replaced.keys = {runnable.key};
  }
  const std::int64_t number = runnable.plan["attempt_number"].integer() + 1;
  ExpectedFact& expected = plan(run_.id + ":" + runnable.step + ":" + std::to_string(number),
                                runnable.step, number, "retry");
  for (const char* name : {"input", "queue", "handler", "path"}) {
    copy_if_there(expected.members, name, runnable.plan[name]);
  }
  expected.earliest = now_ + rule->shortest_ms;
  expected.latest = now_ + rule->longest_ms;
}

}  // namespace holdfast::sim::model
