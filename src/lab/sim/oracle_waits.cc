// Decisions, events and child runs: what runs wait for.
//
// Guarantees: a decision or an event follows after its command was received, once, where the run
// waits for it; an event ends the wait that was opened first, and an event that arrives before its
// wait is buffered for it; a timeout never fires early; child runs that end with their parent are
// cancelled.
#include <algorithm>

#include "lab/sim/oracle_run_fact.h"
#include "lab/sim/oracle_values.h"

namespace holdfast::sim::model {

void RunFact::child() {
  const std::string origin = data_["origin"]["runnable_key"].string();
  const Runnable* runnable = run_.find(origin);
  check(runnable != nullptr && runnable->is_open(), "child",
        "the step that starts the child run is not open");
  const bool by_engine = runnable != nullptr && runnable->handler() == "__engine__";
  if (by_engine) {
    if (const auto expected = match(ExpectedFact::Kind::child, origin, "child")) {
      compare(*expected, data_,
              {"child_workflow", "child_trigger", "child_key", "input", "on_parent_close",
               "child_queue", "awaited"});
    }
  }
  check(!model_.runs.contains(data_["child_run_id"].string()) ||
            !model_.runs[data_["child_run_id"].string()].is_started(),
        "child", "the child run has already started");
  run_.children.push_back({data_, data_["child_run_id"].string(), origin,
                           data_["awaited"].boolean(),
                           data_["on_parent_close"].string() == "cancel"});
}

// Cancels the child runs that end with their parent, as their own definition specifies.
void RunFact::close_children(const std::function<bool(const ChildLink&)>& meant) {
  for (const ChildLink& link : run_.children) {
    if (!link.cancel || !meant(link)) {
      continue;
    }
    std::string id = link.child;
    while (model_.runs.contains(id) && !model_.runs[id].continuation.is_null()) {
      id = model_.runs[id].continuation["successor_run_id"].string();
    }
    const auto child = model_.runs.find(id);
    if (child != model_.runs.end() && child->second.is_started() && !child->second.has_ended() &&
        !child->second.is_compensating()) {
      child->second.cancel_requested = true;
      child->second.cancel_how = "as_defined";
      model_.touched.insert(id);
    }
  }
}

std::string command_of(const std::string& action) {
  static const std::map<std::string, std::string> commands{{"resumed", "resume_run"},
                                                           {"approved", "approve_run"},
                                                           {"rejected", "reject_run"},
                                                           {"retried", "retry_step"},
                                                           {"discarded", "discard_step"}};
  const auto found = commands.find(action);
  return found == commands.end() ? "" : found->second;
}

std::string kind_for(const std::string& action) {
  if (action == "retried" || action == "discarded") {
    return "parked";
  }
  return action == "resumed" ? "pause" : "approval";
}

void RunFact::paused() {
  const std::string step = data_["step"].string();
  if (const auto expected = match(ExpectedFact::Kind::pause, step, "manual")) {
    compare(*expected, data_, {"kind", "reason", "runnable_key", "queue", "error"});
  }
  Manual manual;
  manual.kind = data_["kind"].string();
  manual.key = data_["runnable_key"].string();
  manual.error = data_["error"];
  if (const auto before = run_.manual.find(step); before != run_.manual.end()) {
    const Manual& known = before->second;
    manual.earlier = known.action.empty() ? known.earlier : known.action;
  }
  run_.manual[step] = manual;
}

void RunFact::resolved() {
  const auto found = run_.manual.find(data_["step"].string());
  if (!check(found != run_.manual.end() && found->second.open, "manual",
             "the run does not wait at " + data_["step"].string())) {
    return;
  }
  Manual& manual = found->second;
  const std::string& action = data_["action"].string();
  if (run_.faults_to_retry.erase(found->first) > 0) {
    check(action == "retried", "migration", found->first + " has a fault and is " + action);
    manual.input = Value();
  } else {
    manual.input = run_.command["payload"]["input"];
    expect_command({command_of(action)});
  }
  check(kind_for(action) == manual.kind, "manual", manual.kind + " step cannot be " + action);
  manual.resolved_at = at_;
  run_.resolved.insert(found->first);
  manual.open = false;
  manual.action = action;
  manual.result = data_["result"];
  decided(found->first, manual);
  if (manual.kind == "approval" && modelled()) {
    const Step* step = run_.definition->find(StepName::parse(found->first).base);
    const std::string name = step == nullptr            ? found->first
                             : step->spec.has("output") ? step->spec["output"].string()
                                                        : step->name;
    check(manual.result[name]["decision"].string() == action, "manual",
          "the result does not contain the decision");
  }
  join(run_.context, "", manual.result);
}

void RunFact::wait_opened() {
  const std::string id = data_["wait_id"].string();
  if (const auto expected = match(ExpectedFact::Kind::open_wait, id, "event")) {
    Value first = Value::object({{"event", data_["event"]}});
    if (data_.has("correlation")) {
      first.set("correlation", data_["correlation"]);
    }
    Value::List events = data_["others"].list();
    events.insert(events.begin(), first);
    const Value found = Value::object({{"events", events},
                                       {"step", data_["step"]},
                                       {"due_at", data_["timeout"]["due_at"]},
                                       {"target", data_["timeout"]["target"]}});
    compare(*expected, found, {"events", "step", "due_at", "target"});
  }
  EventWait wait;
  wait.id = id;
  wait.step = data_["step"].string();
  wait.opened = data_;
  wait.opened_at = data_["opened_at"].integer();
  wait.order = ++model_.counter;
  run_.waits[id] = wait;
}

void RunFact::buffered() {
  expect_command({"signal_run"});
  for (const auto& [id, wait] : run_.waits) {
    check(!wait.is_open() || !wait.awaits(data_), "event",
          "wait " + id + " is open for this event");
  }
  check(!run_.is_compensating(), "event", "a compensating run receives no events");
  check(!run_.events.contains(data_["idempotency_key"].string()), "event_once",
        "the event was already received");
  run_.events[data_["idempotency_key"].string()] = data_;
  run_.buffered.push_back(data_);
}

void RunFact::received() {
  const auto found = run_.waits.find(data_["wait_id"].string());
  if (!check(found != run_.waits.end() && found->second.is_open(), "event",
             "there is no open wait with this id")) {
    return;
  }
  EventWait& wait = found->second;
  check(wait.awaits(data_), "event", "the wait is open for another event");
  check(!run_.is_compensating(), "event", "a compensating run receives no events");
  for (const auto& [id, other] : run_.waits) {
    // Waits that were opened at the same moment count as opened together.
    check(id == wait.id || !other.is_open() || !other.awaits(data_) ||
              other.opened_at >= wait.opened_at,
          "event_order", "wait " + id + " was opened first");
  }
  const std::string& key = data_["idempotency_key"].string();
  const auto kept =
      std::find_if(run_.buffered.begin(), run_.buffered.end(),
                   [&](const Value& event) { return event["idempotency_key"].string() == key; });
  if (kept != run_.buffered.end()) {
    check((*kept)["payload"] == data_["payload"], "event",
          "the payload is not that of the buffered event");
    for (auto before = run_.buffered.begin(); before != kept; ++before) {
      check(!wait.awaits(*before), "event_order", "another event was buffered first");
    }
    run_.buffered.erase(kept);
  } else {
    expect_command({"signal_run"});
    check(!run_.events.contains(key), "event_once", "the event was already received");
  }
  run_.events[key] = data_;
  wait.received = data_;
}

void RunFact::timed_out() {
  const auto found = run_.waits.find(data_["wait_id"].string());
  if (!check(found != run_.waits.end() && found->second.is_open(), "event",
             "there is no open wait with this id")) {
    return;
  }
  const Value& timeout = found->second.opened["timeout"];
  check(!timeout.is_null() && at_ >= timeout["due_at"].integer(), "not_early",
        "the wait times out at " + std::to_string(timeout["due_at"].integer()));
  check(data_["target"] == timeout["target"], "event", "the timeout leads to another step");
  found->second.timed_out = true;
}

void RunFact::wait_resolved() {
  const std::string id = data_["wait_id"].string();
  const auto found = run_.waits.find(id);
  if (const auto expected = match(ExpectedFact::Kind::resolve, id, "event")) {
    compare(*expected, data_, {"action"});
  }
  if (found == run_.waits.end()) {
    return;
  }
  found->second.resolved = true;
  if (found->second.timed_out) {
    check(data_["result"]["timed_out"] == found->second.opened["event"], "event",
          "the result does not name the event that timed out");
  }
  join(run_.context, "", data_["result"]);
}

bool EventWait::awaits(const Value& event) const {
  const auto fits = [&](const Value& awaited) {
    return awaited["event"] == event["event"] && awaited["correlation"] == event["correlation"];
  };
  const auto& others = opened["others"].list();
  return fits(opened) || std::any_of(others.begin(), others.end(), fits);
}

}  // namespace holdfast::sim::model
