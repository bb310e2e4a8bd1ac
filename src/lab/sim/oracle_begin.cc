// How a step starts, and the steps that the engine executes itself.
//
// Guarantees: the input of a step is what its mapping selects from the context at that moment, the
// same for all its attempts; a missing path fails the step before a handler is called; no step
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
    return {};
  }
  return runnable.name.compensates ? step->spec["compensate"]["retry"] : step->spec["retry"];
}

Duty& Follow::plan(const std::string& key, const std::string& step, std::int64_t number,
                   const std::string& promise) {
  Duty& duty = add(Duty::Kind::plan, key, promise);
  duty.expected.set("step", step);
  duty.expected.set("attempt_number", number);
  duty.expected.set("runnable_key", key);
  // All attempts at one visit or item of a step share it, also retries and deferrals.
  duty.expected.set("idempotency_key", run_.id + ":" + step + ":1");
  duty.expected.set("queue", run_.queue);
  return duty;
}

void Follow::begin(const Step& step, const std::string& path, std::int64_t visible_at,
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
  Duty& duty = plan(run_.id + ":" + name + ":1", name, 1, step.after.empty() ? "branch" : "join");
  duty.because = because;
  duty.earliest = duty.latest = visible_at;
  if (!path.empty() && path != name) {
    duty.expected.set("path", path);
  }
  copy_if_there(duty.expected, "queue", step.spec["queue"]);
  if (!step.for_each()) {
    fill_plan(duty, step, run_.context);
    return;
  }
  const Value& items = step.spec["for_each"]["items"];
  const auto list = items.is_list() ? std::optional(items) : at_path(run_.context, items.string());
  duty.expected.set("handler", "__engine__");
  if (list.has_value() && list->is_list()) {
    Value input = Value::object();
    input.set("items", *list);
    duty.expected.set("input", input);
  } else {
    duty.failure = error_of("invalid_items", step.name);
  }
}

void Follow::begin_item(const Step& step, const Runnable& list, std::int64_t item) {
  const std::string name = list.step + "[" + std::to_string(item) + "]";
  const std::string as =
      step.spec["for_each"].has("as") ? step.spec["for_each"]["as"].string() : "item";
  Value data = step.spec.has("input") ? run_.context : Value::object();
  data.set(as, list.plan["input"]["items"].list()[static_cast<std::size_t>(item)]);
  data.set("index", item);
  Duty& duty = plan(run_.id + ":" + name + ":1", name, 1, "items");
  duty.because = "it is the next item of its list";
  duty.earliest = duty.latest = std::max(now_, list.visible_at);
  copy_if_there(duty.expected, "path", list.plan["path"]);
  copy_if_there(duty.expected, "queue", step.spec["queue"]);
  fill_plan(duty, step, data);
}

// Fills in the handler and the input.
void Follow::fill_plan(Duty& duty, const Step& step, const Value& data) {
  duty.expected.set("input", Value::object());
  duty.expected.set("handler", "__engine__");
  if (step.is_call()) {
    fill_input(duty, step, data);
  }
  if (step.is_work() && !duty.failure.has_value()) {
    duty.expected.set("handler", step.handler());
    for (const char* option : kClaimOptions) {
      copy_if_there(duty.expected, option, step.spec[option]);
    }
    for (const char* limit : kTimeouts) {
      copy_if_there(duty.expected, limit, step.spec["timeout"][limit]);
    }
  }
  if (step.kind == StepKind::log) {
    Value line;
    line.set("level", step.spec["log"]["level"]);
    line.set("message", fill_in(step.spec["log"]["message"].string(), data));
    duty.expected.set("input", line);
  }
  if (step.kind == StepKind::wait) {
    fill_wait(duty, step, data);
  }
}

void Follow::fill_input(Duty& duty, const Step& step, const Value& data) {
  Value input = data;
  if (step.spec.has("input")) {
    const Mapped mapped = map_values(step.spec["input"], data);
    if (mapped.missing) {
      duty.failure = error_of("missing_input_path", step.name);
      return;
    }
    input = mapped.value;
  }
  if (step.spec.has("input_schema") && !fits_contract(step.spec["input_schema"], input)) {
    duty.failure = error_of("invalid_input", step.name);
    return;
  }
  duty.expected.set("input", input);
}

void Follow::fill_wait(Duty& duty, const Step& step, const Value& data) {
  const Value& wait = step.spec["wait"];
  std::int64_t until = duty.earliest + wait["for_ms"].integer();
  if (wait.has("until")) {
    auto time = time_in(wait["until"]);
    if (!time.has_value()) {
      time = time_in(at_path(data, wait["until"].string()).value_or(Value()));
    }
    if (!time.has_value()) {
      duty.failure = error_of("invalid_wait_time", step.name);
      return;
    }
    until = std::max(*time, duty.earliest);
  }
  duty.promise = "wait";
  duty.earliest = duty.latest = until;
  if (until > now_) {
    duty.expected.set("handler", "__timer__");
  }
}

// The items of a list that may start now, and the ones to withdraw after one has failed.
void Follow::items(const Runnable& list, const Step& step) {
  const auto size = static_cast<std::int64_t>(list.plan["input"]["items"].list().size());
  const std::int64_t most = step.spec["for_each"]["concurrency"].integer();
  std::int64_t next = 0;
  std::int64_t over = 0;
  bool broken = false;
  std::set<std::string> others;
  for (; next < size; ++next) {
    const Runnable* item = run_.newest_of(list.step + "[" + std::to_string(next) + "]");
    if (item == nullptr) {
      break;
    }
    over += item->applied && !item->is_put_off() ? 1 : 0;
    broken = broken || (item->applied && !item->is_done());
    const Attempt* made = attempt(item->key);
    const bool kept = step.spec.has("compensate") && made != nullptr && made->is_claimed();
    if (item->is_open() && !kept) {
      others.insert(item->key);
    }
  }
  if (broken && step.spec["for_each"]["on_error"].string() != "collect") {
    if (!others.empty()) {
      Duty& duty = add(Duty::Kind::withdraw, list.key, "items");
      duty.because = "another item failed";
      duty.keys = others;
    }
    return;
  }
  for (; next < size && (most == 0 || next - over < most); ++next) {
    begin_item(step, list, next);
  }
}

Ending Follow::ending_of_list(const Runnable& list) const {
  Ending ending;
  const Step& step = *definition_.find(list.name.base);
  const bool collects = step.spec["for_each"]["on_error"].string() == "collect";
  const auto& all = list.plan["input"]["items"].list();
  Value results = Value(Value::List{});
  const Runnable* broken = nullptr;
  bool under_way = false;
  bool missing = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Runnable* item = run_.newest_of(list.step + "[" + std::to_string(i) + "]");
    missing = missing || item == nullptr || !item->applied || item->is_put_off();
    if (item == nullptr) {
      continue;
    }
    if (item->applied && !item->is_done() &&
        (broken == nullptr || item->applied_order < broken->applied_order)) {
      broken = item;
    }
    const Attempt* made = attempt(item->key);
    const bool kept = step.spec.has("compensate") && made != nullptr && made->is_claimed();
    under_way = under_way || (item->is_open() && !kept);
    results.push(item->result);
  }
  if (broken != nullptr && !collects) {
    if (!under_way) {
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

void Follow::carry_out(const Runnable& runnable, const Step& step) {
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

void Follow::plan_timer(const Runnable& of, const std::string& suffix, const std::string& does,
                        std::int64_t at) {
  const std::string key = of.key + ":" + suffix;
  if (run_.find(key) != nullptr) {
    return;
  }
  Duty& duty = plan(key, of.step, of.plan["attempt_number"].integer(), "timer");
  Value timer;
  timer.set(does, of.key);
  duty.expected.set("idempotency_key", key);
  duty.expected.set("timer", timer);
  duty.expected.set("handler", "__timer__");
  duty.expected.set("input", Value::object());
  duty.expected.set("queue", of.plan["queue"]);
  copy_if_there(duty.expected, "path", of.plan["path"]);
  duty.earliest = duty.latest = at;
}

void Follow::open_manual(const Runnable& runnable, const Step& step) {
  if (run_.manual.contains(runnable.step)) {
    return;
  }
  const bool pause = step.kind == StepKind::pause;
  Duty& duty = add(Duty::Kind::pause, runnable.step, "manual");
  duty.expected.set("kind", pause ? "pause" : "approval");
  const Value& spec = step.spec[pause ? "pause" : "approval"];
  if (spec.has("reason")) {
    duty.expected.set("reason", fill_in(spec["reason"].string(), run_.context));
  }
}

void Follow::open_wait(const Runnable& runnable, const Step& step) {
  const Value& spec = step.spec["await_event"];
  if (const auto known = run_.waits.find(runnable.key); known != run_.waits.end()) {
    const EventWait& wait = known->second;
    const Runnable* timer = run_.find(runnable.key + ":timeout");
    if (spec.has("timeout_ms") && timer == nullptr) {
      Duty& duty = plan(runnable.key + ":timeout", runnable.step,
                        runnable.plan["attempt_number"].integer(), "event");
      duty.expected.set("idempotency_key", runnable.key + ":timeout");
      duty.expected.set("queue", runnable.plan["queue"]);
      duty.expected.set("handler", "__timer__");
      duty.expected.set("input", Value::object());
      duty.expected.set("event_wait_timeout", wait.opened["timeout"]);
      duty.earliest = duty.latest = wait.opened_at + spec["timeout_ms"].integer();
      return;
    }
    for (const Value& event : run_.buffered) {
      if (wait.is_open() && wait.awaits(event)) {
        add(Duty::Kind::receive, wait.id, "event").expected = event;
        return;
      }
    }
    if (!wait.is_open() && !wait.resolved) {
      add(Duty::Kind::resolve, wait.id, "event")
          .expected.set("action", wait.timed_out ? "timed_out" : "received");
    }
    return;
  }
  Duty& duty = add(Duty::Kind::open_wait, runnable.key, "event");
  duty.expected.set("step", runnable.step);
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
        duties_.pop_back();
        failed(runnable, step, error_of("missing_input_path", step.name));
        return;
      }
      const std::string text = found->is_string() ? found->string() : found->text();
      if (!text.empty()) {
        awaited.set("correlation", text);
      }
    }
    events.push(awaited);
  }
  duty.expected.set("events", events);
  if (spec.has("timeout_ms")) {
    duty.expected.set("due_at", now_ + spec["timeout_ms"].integer());
    duty.expected.set("target", spec.has("on_timeout") ? spec["on_timeout"] : Value("error"));
  }
}

void Follow::start_child(const Runnable& runnable, const Step& step) {
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
    failed(runnable, step, error_of("unknown_workflow", step.name));
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
      failed(runnable, step, error_of("invalid_payload", step.name));
      return;
    }
  }
  const std::int64_t number = runnable.plan["attempt_number"].integer();
  Duty& duty = add(Duty::Kind::child, runnable.key, "child");
  duty.expected.set("child_workflow", spec["workflow"]);
  duty.expected.set("child_trigger", trigger);
  duty.expected.set("child_key", (spec.has("key") ? spec["key"].string() : step.name) +
                                     (number > 1 ? "#" + std::to_string(number) : ""));
  duty.expected.set("input", runnable.plan["input"]);
  duty.expected.set("on_parent_close", spec["on_parent_close"]);
  copy_if_there(duty.expected, "child_queue", spec["queue"]);
  if (!spec["detached"].boolean()) {
    duty.expected.set("awaited", true);
  }
}

// A failed child run is retried with a new one, as the policy of the step defines.
void Follow::child_again(const Runnable& runnable, const Step& step, const Value& error) {
  const auto rule = may_retry(runnable, error, true);
  if (!rule.has_value()) {
    failed(runnable, step, error);
    return;
  }
  const std::int64_t number = runnable.plan["attempt_number"].integer() + 1;
  Duty& given_up = add(Duty::Kind::withdraw, runnable.key, "child");
  given_up.because = "a new child run replaces it";
  given_up.keys = {runnable.key};
  Duty& duty = plan(run_.id + ":" + runnable.step + ":" + std::to_string(number), runnable.step,
                    number, "retry");
  for (const char* name : {"input", "queue", "handler", "path"}) {
    copy_if_there(duty.expected, name, runnable.plan[name]);
  }
  duty.earliest = now_ + rule->shortest_ms;
  duty.latest = now_ + rule->longest_ms;
}

}  // namespace holdfast::sim::model
