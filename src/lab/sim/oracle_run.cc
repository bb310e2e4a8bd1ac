// Runs: each fact of a run must follow from its state, or be an allowed effect of a command.
//
// Guarantees: a run starts once, after its start command was received; everything that is planned,
// applied, withdrawn, opened, started or ended follows from the definition and the previous state,
// with exactly the members it must have; when a batch ends, no fact that must follow from it is
// missing; after the end only archiving and search attributes are recorded.
#include <algorithm>

#include "lab/sim/oracle_run_fact.h"
#include "lab/sim/oracle_values.h"

namespace holdfast::sim::model {

namespace {

// An error must have these members; its message is for operators.
bool same_error(const Value& expected, const Value& found) {
  if (!expected.is_object()) {
    return expected == found;
  }
  return std::all_of(expected.members().begin(), expected.members().end(), [&](const auto& member) {
    return member.first == "message" ||
           (member.first == "error" ? same_error(member.second, found["error"])
                                    : member.second == found[member.first]);
  });
}

bool same_member(const std::string& name, const Value& expected, const Value& found) {
  if (name == "error" || name == "timer") {
    return same_error(expected, found);
  }
  if (name == "result" && expected.has("error") && expected.members().size() == 1) {
    return found.members().size() == 1 && same_error(expected["error"], found["error"]);
  }
  return expected == found;
}

}  // namespace

void RunFact::process() {
  using Handler = void (RunFact::*)();
  static const std::map<std::string, Handler> handlers{
      {"run_signal_received", &RunFact::receipt},
      {"run_started", &RunFact::started},
      {"steps_adopted", &RunFact::adopted},
      {"runnables_planned", &RunFact::planned},
      {"runnable_applied", &RunFact::applied},
      {"runnables_withdrawn", &RunFact::withdrawn},
      {"child_run_started", &RunFact::child},
      {"manual_step_paused", &RunFact::paused},
      {"manual_step_resolved", &RunFact::resolved},
      {"external_event_wait_opened", &RunFact::wait_opened},
      {"external_event_buffered", &RunFact::buffered},
      {"external_event_received", &RunFact::received},
      {"external_event_wait_timeout_selected", &RunFact::timed_out},
      {"external_event_wait_resolved", &RunFact::wait_resolved},
      {"run_continuation_requested", &RunFact::continues},
      {"run_definition_migrated", &RunFact::migrated},
      {"dynamic_graph_mutated", &RunFact::mutated},
      {"compensation_started", &RunFact::compensation_started},
      {"run_terminal", &RunFact::ends}};
  static const std::set<std::string> quiet{"run_archived", "run_unarchived",
                                           "search_attributes_updated", "run_continued_from"};
  run_.last_at = at_;
  check(run_.id == data_["run_id"].string(), "form", "the fact is in the thread of another run");
  if (quiet.contains(kind_)) {
    return;
  }
  if (kind_ == "dead_letter_resolved") {
    dead_letter();
    return;
  }
  check(!run_.has_ended(), "terminal_final", "the run has ended");
  check(run_.is_started() || kind_ == "run_signal_received" || kind_ == "run_started", "form",
        "the run has not started");
  const auto handler = handlers.find(kind_);
  if (handler == handlers.end()) {
    model_.unmodelled(run_, kind_);
    return;
  }
  (this->*handler->second)();
}

std::optional<ExpectedFact> RunFact::match(ExpectedFact::Kind kind, const std::string& subject,
                                           const std::string& guarantee,
                                           const std::function<bool(const ExpectedFact&)>& fits) {
  if (!modelled() || run_.has_ended()) {
    return std::nullopt;
  }
  std::string due;
  for (const ExpectedFact& expected : expected_facts(model_, run_, at_)) {
    if (expected.kind == kind && expected.subject == subject && (!fits || fits(expected))) {
      ++model_.tested[expected.guarantee];
      return expected;
    }
    due += (due.empty() ? "" : ", ") + expected.subject + " (" + expected.guarantee + ")";
    if (expected.kind == kind && expected.subject == subject) {
      due += " " + expected.members.text();
    }
  }
  check(false, guarantee,
        "nothing requires the fact; expected: " + (due.empty() ? "nothing" : due));
  return std::nullopt;
}

void RunFact::compare(const ExpectedFact& expected, const Value& found,
                      const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    check(same_member(name, expected.members[name], found[name]), expected.guarantee,
          expected.subject + ": " + name + " is " + found[name].text() + ", not " +
              expected.members[name].text());
  }
}

void RunFact::receipt() {
  const std::string& type = data_["signal_type"].string();
  if (!run_.is_started()) {
    check(type == "start_run" || type == "start_cron" || type == "replay_run", "form",
          "a run starts with its start command");
    check(!run_.receipt, "receipt", "the start command was already received");
    run_.receipt = true;
    run_.by_cron = type == "start_cron";
    return;
  }
  check(run_.command.is_null(), "receipt", "the previous command had no effect");
  run_.command = data_;
  if (type == "cancel_run") {
    run_.cancel_requested = true;
    if (data_["source"].string() == "parent_run") {
      run_.cancel_how = "as_defined";
    }
  }
  if (data_.has("idempotency_key")) {
    run_.commands[data_["idempotency_key"].string()] = data_;
  }
}

void RunFact::expect_command(const std::set<std::string>& types) {
  check(types.contains(run_.command["signal_type"].string()), "receipt",
        "no such command was received");
  run_.command = Value();
}

void RunFact::started() {
  if (!check(!run_.is_started(), "one_start", "the run has already started")) {
    return;
  }
  check(run_.receipt, "form", "the start command was not received");
  run_.started = data_;
  run_.started_at = at_;
  run_.workflow = data_["workflow"].string();
  run_.queue = data_.has("queue") ? data_["queue"].string() : "default";
  run_.context = data_["input"].is_object() ? data_["input"] : Value::object();
  if (run_.by_cron) {
    started_by_schedule();
  }
  if (data_["context"].has("schedule")) {
    run_.context.set("schedule", data_["context"]["schedule"]);
  }
  const auto definition = model_.definitions.find(data_["definition_fingerprint"].string());
  if (!check(definition != model_.definitions.end(), "definition",
             "the definition of the run is not registered")) {
    return;
  }
  run_.definition = &definition->second;
  run_.fingerprint = definition->first;
  run_.followed.insert(definition->first);
  check(definition->second.workflow == run_.workflow, "definition",
        "the definition is of another workflow");
  if (const auto source = model_.runs.find(data_["replayed_from_run_id"].string());
      data_.has("replayed_from_run_id")) {
    const auto named = model_.replayed_on.find(run_.id);
    check(source != model_.runs.end() &&
              run_.fingerprint ==
                  (named == model_.replayed_on.end() ? source->second.fingerprint : named->second),
          "replay", "the definition is not that of the original run, or that was named");
  }
  if (!definition->second.unknown.empty()) {
    model_.unmodelled(run_, definition->second.unknown);
  }
}

// The dependencies whose paths have not ended, for the violation.
std::string RunFact::why_not(const std::string& step) const {
  const Step* known = run_.definition->find(StepName::parse(step).base);
  std::string open;
  for (const std::string& before : known == nullptr ? std::vector<std::string>() : known->after) {
    if (!has_path_ended(run_, before)) {
      open += (open.empty() ? "" : ", ") + before;
    }
  }
  return open;
}

void RunFact::planned() {
  for (const Value& plan : data_["runnables"].list()) {
    plan_one(plan);
  }
}

void RunFact::plan_one(const Value& plan) {
  const std::string key = plan["runnable_key"].string();
  if (!check(run_.find(key) == nullptr, "planned_once", key + " is already planned")) {
    return;
  }
  Runnable runnable;
  runnable.key = key;
  runnable.step = plan["step"].string();
  runnable.name = StepName::parse(runnable.step);
  runnable.path = plan.has("path") ? plan["path"].string() : runnable.name.base;
  runnable.plan = plan;
  runnable.visible_at = plan["visible_at"].integer();
  runnable.planned_at = at_;
  runnable.order = ++model_.counter;
  const std::string open = modelled() ? why_not(runnable.step) : "";
  check(open.empty(), "dependency", key + " is planned before " + open + " has ended");
  if (const auto expected = match(ExpectedFact::Kind::plan, key, "planned")) {
    std::vector<std::string> names{
        "step",    "attempt_number", "idempotency_key",    "queue",
        "handler", "path",           "event_wait_timeout", "earlier_attempts"};
    if (!expected->failure.has_value()) {
      names.emplace_back("input");
      names.insert(names.end(), std::begin(kClaimOptions), std::end(kClaimOptions));
      names.insert(names.end(), std::begin(kTimeouts), std::end(kTimeouts));
      names.insert(names.end(), std::begin(kCircuitBreaker), std::end(kCircuitBreaker));
    }
    names.emplace_back("timer");
    compare(*expected, plan, names);
    check((runnable.visible_at >= expected->earliest && runnable.visible_at <= expected->latest) ||
              model_.incomplete.contains(run_.id),
          expected->guarantee,
          key + " is visible at " + std::to_string(runnable.visible_at) + ", not " +
              std::to_string(expected->earliest));
    runnable.failure = expected->failure;
  }
  if (const auto node = run_.graph.find(runnable.step); node != run_.graph.end()) {
    runnable.retry = node->second["retry"];
  }
  if (!runnable.is_timer()) {
    run_.newest[runnable.step] = key;
  }
  run_.planned.push_back(key);
  run_.runnables[key] = runnable;
}

void RunFact::applied() {
  const std::string key = data_["runnable_key"].string();
  const auto found = run_.runnables.find(key);
  if (!check(found != run_.runnables.end(), "planned_first", "the runnable was never planned")) {
    return;
  }
  Runnable& runnable = found->second;
  if (!check(!runnable.applied && !runnable.withdrawn, "applied_once",
             "the runnable was already applied or withdrawn")) {
    return;
  }
  if (runnable.handler() == "__timer__") {
    const auto wait = run_.waits.find(runnable.plan["event_wait_timeout"]["wait_id"].string());
    const bool ended = wait != run_.waits.end() && !wait->second.is_open();
    check(at_ >= runnable.visible_at || ended, "not_early",
          "the timer is due at " + std::to_string(runnable.visible_at));
  }
  const bool of_wait = runnable.plan.has("event_wait_timeout");
  if (const auto expected = match(ExpectedFact::Kind::apply, key, "applied")) {
    compare(*expected, data_, {"result", "output_key", "transition", "execution_opts"});
  }
  runnable.applied = true;
  runnable.applied_order = ++model_.counter;
  runnable.applied_at = at_;
  runnable.result = data_["result"];
  runnable.output_key = data_["output_key"].string();
  runnable.transition = data_["transition"];
  runnable.opts = data_["execution_opts"];
  if (!runnable.name.item.has_value() && !runnable.name.compensates && !of_wait) {
    join(run_.context, data_["output_key"].string(), data_["result"]);
  }
  if (!runnable.transition.is_null()) {
    close_children([&](const ChildLink& link) { return link.awaited && link.origin == key; });
  }
}

void RunFact::withdrawn() {
  std::set<std::string> keys;
  for (const Value& key : data_["runnable_keys"].list()) {
    keys.insert(key.string());
  }
  bool replaces = false;
  const auto fits = [&](const ExpectedFact& expected) { return expected.keys == keys; };
  if (modelled() && !run_.has_ended()) {
    std::string due;
    bool found = false;
    for (const ExpectedFact& expected : expected_facts(model_, run_, at_)) {
      if (expected.kind == ExpectedFact::Kind::withdraw) {
        found = found || fits(expected);
        replaces = replaces || (fits(expected) && expected.guarantee == "child");
        for (const std::string& key : expected.keys) {
          due += " " + key;
        }
      }
    }
    check(found, "withdrawn", "other runnables are withdrawn than expected:" + due);
  }
  for (const std::string& key : keys) {
    const auto found = run_.runnables.find(key);
    if (!check(found != run_.runnables.end() && found->second.is_open(), "withdrawn",
               key + " is not open")) {
      continue;
    }
    found->second.withdrawn = true;
    found->second.replaced = replaces;
    if (const auto attempt = model_.attempts.find(key); attempt != model_.attempts.end()) {
      attempt->second.withdrawn = true;
    }
    for (auto& [step, manual] : run_.manual) {
      manual.open = manual.open && step != found->second.step;
    }
    if (const auto wait = run_.waits.find(key); wait != run_.waits.end()) {
      wait->second.timed_out = true;
    }
    close_children([&](const ChildLink& link) { return link.awaited && link.origin == key; });
  }
  run_.withdrew = run_.withdrew || run_.is_compensating();
}

void RunFact::continues() {
  bool requested = false;
  for (const auto& [key, runnable] : run_.runnables) {
    const auto attempt = model_.attempts.find(key);
    const bool done = attempt != model_.attempts.end() && runnable.applied;
    const Value& request = done ? attempt->second.opts["continue_as_new"] : Value();
    requested = requested || (!request.is_null() && request["input"] == data_["input"] &&
                              request["key"] == data_["continuation_key"]);
    check(!runnable.is_open() || runnable.is_timer() || !run_.is_newest(runnable), "continue",
          key + " is open");
  }
  check(requested, "continue", "no step requested this continuation");
  run_.continuation = data_;
}

void RunFact::compensation_started() {
  check(run_.compensation.is_null(), "one_compensation", "the run is already compensating");
  const auto fits = [&](const ExpectedFact& expected) {
    return same_member("error", expected.members["error"], data_["error"]) &&
           expected.members["outcome"] == data_["outcome"] &&
           expected.members["exhausted"] == data_["exhausted"];
  };
  match(ExpectedFact::Kind::compensate, run_.id, "compensation", fits);
  run_.compensation = data_;
  for (auto& [step, manual] : run_.manual) {
    const Runnable* runnable = run_.find(manual.key);
    manual.open = manual.open && (runnable == nullptr || !runnable->is_undecided());
  }
  if (data_["outcome"].string() == "cancelled") {
    expect_command({"cancel_run"});
  }
  run_.cancel_requested = false;
  run_.cancel_how = "";
  close_children([](const ChildLink&) { return true; });
  const auto due = expected_facts(model_, run_, at_);
  run_.withdrew = std::none_of(due.begin(), due.end(), [](const ExpectedFact& expected) {
    return expected.kind == ExpectedFact::Kind::withdraw;
  });
}

void RunFact::ends() {
  const auto fits = [&](const ExpectedFact& expected) {
    return expected.members["status"] == data_["status"] &&
           same_member("error", expected.members["error"], data_["error"]) &&
           expected.members["result"] == data_["result"] &&
           expected.members["exhausted"] == data_["exhausted"];
  };
  match(ExpectedFact::Kind::finish, run_.id, "end", fits);
  if (run_.has_ended()) {
    return;
  }
  if (data_["status"].string() == "cancelled" &&
      (run_.cancel_requested || run_.compensation["outcome"].string() != "cancelled")) {
    expect_command({"cancel_run"});
  }
  if (data_["status"].string() != "continued") {
    close_children([](const ChildLink&) { return true; });
  }
  run_.terminal = data_;
  for (const std::string& parent : {run_.started["context"]["parent"]["run_id"].string()}) {
    if (!parent.empty()) {
      model_.touched.insert(parent);
      model_.runs[parent].last_at = std::max(model_.runs[parent].last_at, at_);
    }
  }
}

const Runnable* Run::find(const std::string& key) const {
  const auto found = runnables.find(key);
  return found == runnables.end() ? nullptr : &found->second;
}

const Runnable* Run::newest_of(const std::string& step) const {
  const auto found = newest.find(step);
  return found == newest.end() ? nullptr : find(found->second);
}

bool Run::is_newest(const Runnable& runnable) const {
  const auto found = newest.find(runnable.step);
  return found != newest.end() && found->second == runnable.key;
}

std::string Run::status() const {
  if (has_ended()) {
    return terminal["status"].string();
  }
  if (is_compensating()) {
    return "compensating";
  }
  if (newest.empty()) {
    return "started";
  }
  bool open = false;
  bool all_paused = true;
  bool parked = false;
  for (const auto& [step, key] : newest) {
    const Runnable& runnable = *find(key);
    if (!runnable.is_open()) {
      continue;
    }
    open = true;
    const auto at = manual.find(step);
    const bool at_manual = at != manual.end() && at->second.open;
    const auto wait = waits.find(key);
    const bool at_wait = wait != waits.end() && wait->second.is_open();
    all_paused = all_paused && (at_manual || at_wait);
    parked = parked || (at_manual && at->second.kind == "parked");
  }
  for (const auto& [step, at] : manual) {
    const Runnable* runnable = find(at.key);
    const bool undecided = at.open && runnable != nullptr && runnable->is_undecided();
    open = open || undecided;
    parked = parked || undecided;
  }
  return !open ? "idle" : !all_paused ? "running" : parked ? "parked" : "paused";
}

void OracleModel::run_fact(const StoredFact& fact, const std::string& run_id, const Value& data) {
  Run& run = runs[run_id];
  run.id = run_id;
  touched.insert(run_id);
  RunFact(*this, run, fact, data).process();
}

// When a batch ends, no fact that must follow is missing. Later writers must complete the facts
// that a dead writer left incomplete.
void OracleModel::check_batch(std::uint64_t batch, bool whole) {
  for (const std::string& id : touched) {
    Run& run = runs[id];
    location = std::to_string(batch) + " run:" + id;
    const std::size_t before = violations.size();
    check_run(run);
    const bool complete = violations.size() == before;
    if (!complete && (!whole || incomplete.contains(id))) {
      violations.resize(before);
      incomplete.insert(id);
    } else if (complete && incomplete.erase(id) > 0) {
      ++tested["recovery"];
    }
    run.withdrew = run.is_compensating();
  }
  touched.clear();
  check_circuits(whole);
  for (const auto& [what, holds] : acknowledged) {
    location = what;
    check(!whole || holds(*this), "durable", "was answered ok and is not durable");
  }
  acknowledged.clear();
  changed_schedules.clear();
  resets.clear();
  position = batch;
}

void OracleModel::check_run(Run& run) {
  if (!run.is_started()) {
    check(!run.receipt, "whole_batch", "the run did not start");
    return;
  }
  check(run.indexed && run.cataloged, "listed", "the run is not listed");
  check(run.queued || run.has_ended(), "listed", "the run is not in its queue");
  check(run.command.is_null(), "receipt", "a command had no effect");
  for (const std::string& step : run.faults_to_retry) {
    check(run.has_ended() || !run.manual[step].open, "migration",
          step + " has a fault, and the migration did not retry it");
  }
  run.faults_to_retry.clear();
  for (const ExpectedFact& expected : expected_facts(*this, run, run.last_at)) {
    check(!expected.must, expected.guarantee,
          "a fact is missing: " + expected.subject + " " + expected.members.text() +
              (expected.because.empty() ? "" : ", because " + expected.because));
  }
  for (const ChildLink& link : run.children) {
    check(runs.contains(link.child) && runs[link.child].is_started(), "child",
          "child run " + link.child + " did not start");
  }
  if (!run.continuation.is_null()) {
    const std::string& next = run.continuation["successor_run_id"].string();
    check(runs.contains(next) && runs[next].is_started(), "continue",
          "successor " + next + " did not start");
  }
  for (const auto& [key, runnable] : run.runnables) {
    if (!run.has_ended() && runnable.is_open() && runnable.handler() != "__engine__") {
      check(attempts.contains(key), "scheduled", key + " is planned but not scheduled");
    }
  }
}

}  // namespace holdfast::sim::model
