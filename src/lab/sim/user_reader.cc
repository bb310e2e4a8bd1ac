#include "lab/sim/user_reader.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "runs/language/data/json_text.h"
#include "runs/language/definition/duration.h"

namespace holdfast::sim {

namespace {

constexpr std::int64_t kUsPerMs = 1000;
constexpr std::uint64_t kMostRuns = 100;

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add(std::vector<std::string>& names, const std::string& name) {
  if (!has(names, name)) {
    names.push_back(name);
  }
}

std::optional<std::int64_t> duration_us(std::string_view text) {
  const auto ms = parse_duration(text);
  constexpr std::uint64_t kMost = 100ULL * 366 * 24 * 3600 * 1000;
  return ms.has_value() && *ms <= kMost ? std::optional(static_cast<std::int64_t>(*ms) * kUsPerMs)
                                        : std::nullopt;
}

// An input that matches the contract.
Payload generated_input(const Contract& contract) {
  JsonWriter json;
  json.begin_object();
  for (const ContractField& field : contract.fields()) {
    if (!field.required) {
      continue;
    }
    json.key(field.name);
    if (field.type == FieldType::integer || field.type == FieldType::number) {
      json.integer(1);
    } else if (field.type == FieldType::boolean) {
      json.boolean(true);
    } else if (field.type == FieldType::map) {
      json.begin_object().end_object();
    } else if (field.type == FieldType::list) {
      json.begin_array().end_array();
    } else {
      json.string("some_text");
    }
  }
  return std::move(json.end_object()).take_text();
}

}  // namespace

// ------------------------------------------------------------------------------------------------
// Values

FileValue FileValue::item(std::size_t index) const {
  FileValue at{json.item(index), path};
  at.path.push_back(std::to_string(index));
  return at;
}

std::optional<FileValue> FileValue::find(std::string_view name) const {
  auto found = json.find(name);
  if (!found.has_value()) {
    return std::nullopt;
  }
  FileValue at{*found, path};
  at.path.emplace_back(name);
  return at;
}

std::vector<FileValue> FileValue::items() const {
  std::vector<FileValue> all;
  for (std::size_t i = 0; is(Json::Kind::array) && i < json.size(); ++i) {
    all.push_back(item(i));
  }
  return all;
}

KnownNames::KnownNames(const Workflows& flows) {
  for (const auto& flow : flows) {
    workflows.push_back(flow->workflow().str());
    std::vector<std::string>& own = steps[flow->workflow().str()];
    for (const Step& step : flow->steps()) {
      own.push_back(step.name.str());
      const bool called = step.kind == StepKind::handler || step.kind == StepKind::exec ||
                          step.kind == StepKind::http;
      if (called) {
        add(executed, step.name.str());
      }
      if (step.kind == StepKind::handler) {
        add(handlers, step.handler.str());
      }
      if (step.kind == StepKind::approval || step.kind == StepKind::pause) {
        add(decided, step.name.str());
      }
      if (step.kind == StepKind::approval) {
        add(approvals, step.name.str());
      }
      if (step.spec.compensate.has_value()) {
        add(handlers, step.spec.compensate->handler.str());
        own.push_back("compensate:" + step.name.str());
        add(executed, own.back());
      }
      if (step.spec.await_event.has_value()) {
        for (const EventSpec& event : step.spec.await_event->any_of) {
          add(events, event.event.str());
        }
      }
    }
  }
}

bool WorldReader::object(const FileValue& at, const std::vector<std::string_view>& members) {
  if (!at.is(Json::Kind::object)) {
    fault(at, "must be an object with these members: " + name_list(members));
    return false;
  }
  for (std::size_t i = 0; i < at.json.size(); ++i) {
    const std::string_view name = at.json.member(i).first;
    if (std::find(members.begin(), members.end(), name) == members.end()) {
      fault(*at.find(name), "unknown field " + quote(name) + hints_.hint(name, members) +
                                " (fields: " + name_list(members) + ")");
    }
  }
  return true;
}

bool WorldReader::known(const FileValue& at, std::string_view name,
                        const std::vector<std::string>& names, std::string_view what) {
  if (has(names, name)) {
    return true;
  }
  const std::string all = names.empty() ? "none" : name_list(views(names));
  fault(at, "unknown " + std::string(what) + " " + quote(name) + hints_.hint(name, views(names)) +
                " (known: " + all + ")");
  return false;
}

std::optional<std::uint64_t> WorldReader::whole_number(const FileValue& at, std::uint64_t most) {
  const auto number = at.json.unsigned_integer();
  if (!number.has_value() || *number > most) {
    fault(at, "must be a whole number from 0 to " + std::to_string(most));
    return std::nullopt;
  }
  return number;
}

std::optional<bool> WorldReader::flag(const FileValue& at) {
  const auto value = at.json.boolean();
  if (!value.has_value()) {
    fault(at, "must be true or false");
  }
  return value;
}

std::optional<std::string> WorldReader::text(const FileValue& at) {
  const auto value = at.json.string();
  if (!value.has_value() || value->empty()) {
    fault(at, "must be a non-empty string");
    return std::nullopt;
  }
  return std::string(*value);
}

std::optional<std::int64_t> WorldReader::duration(const FileValue& at) {
  const auto value = at.json.string();
  const auto us = value.has_value() ? duration_us(*value) : std::nullopt;
  if (!us.has_value()) {
    fault(at, "must be a duration: 200ms, 5s, 1h30m, 2d");
  }
  return us;
}

// "5s" or "10ms..2s"
std::optional<Span> WorldReader::span(const FileValue& at) {
  const std::string_view value = at.json.string().value_or("");
  const std::size_t dots = value.find("..");
  const auto from = duration_us(value.substr(0, dots));
  const auto to = dots == std::string_view::npos ? from : duration_us(value.substr(dots + 2));
  if (!from.has_value() || !to.has_value() || *from > *to) {
    fault(at, "must be a duration (5s) or a range of durations, the shorter one first (10ms..2s)");
    return std::nullopt;
  }
  return Span{*from, *to};
}

std::optional<Condition> WorldReader::condition(const FileValue& at) {
  auto parsed = Condition::parse(at.json);
  if (!parsed.ok()) {
    fault(at, "is not a condition: " + parsed.error().message());
    return std::nullopt;
  }
  return std::move(parsed).value();
}

std::optional<Payload> WorldReader::object_payload(const FileValue& at, std::string_view what) {
  if (!at.is(Json::Kind::object)) {
    fault(at, std::string(what) + " must be an object");
    return std::nullopt;
  }
  return Payload::trusted(json_text(at.json));
}

std::vector<std::string> WorldReader::words(const FileValue& at) {
  std::vector<std::string> all;
  const std::vector<FileValue> items =
      at.is(Json::Kind::array) ? at.items() : std::vector<FileValue>{at};
  for (const FileValue& item : items) {
    if (auto word = text(item)) {
      all.push_back(std::move(*word));
    }
  }
  return all;
}

// ------------------------------------------------------------------------------------------------
// Sections

UserWorld WorldReader::read(const Json& json) {
  UserWorld world;
  const FileValue whole{json, {}};
  if (!object(whole, {"runs", "handlers", "steps", "decisions", "events", "cancel", "may_wait",
                      "invariants"})) {
    return world;
  }
  read_runs(whole, world);
  if (const auto at = whole.find("handlers")) {
    read_stubs(*at, names_.handlers, "handler", world.handlers);
  }
  if (const auto at = whole.find("steps")) {
    read_stubs(*at, names_.executed, "worker step", world.steps);
  }
  if (const auto at = whole.find("decisions")) {
    read_decisions(*at, world);
  }
  if (const auto at = whole.find("events")) {
    read_events(*at, world);
  }
  if (const auto at = whole.find("cancel")) {
    read_cancel(*at, world);
  }
  take(whole, "may_wait", world.may_wait, &WorldReader::flag);
  if (const auto at = whole.find("invariants")) {
    read_invariants(*at, world);
  }
  return world;
}

void WorldReader::read_runs(const FileValue& whole, UserWorld& world) {
  const auto runs = whole.find("runs");
  if (runs.has_value() && object(*runs, {"count", "within", "trigger", "inputs"})) {
    if (const auto at = runs->find("count")) {
      const std::string_view range = at->json.string().value_or("");
      const std::size_t dots = range.find("..");
      const auto number = at->json.unsigned_integer();
      const auto from = number.has_value() ? number : parse_decimal(range.substr(0, dots));
      const auto to = number.has_value() || dots == std::string_view::npos
                          ? from
                          : parse_decimal(range.substr(dots + 2));
      if (!from.has_value() || !to.has_value() || *from < 1 || *from > *to || *to > kMostRuns) {
        fault(*at, "must be the number of runs, from 1 to 100: 2 or 1..5");
      } else {
        world.least_runs = *from;
        world.most_runs = *to;
      }
    }
    take(*runs, "within", world.started_within_us, &WorldReader::duration);
    if (const auto at = runs->find("trigger")) {
      world.trigger = text(*at).value_or("");
      if (workflows_.front()->find_trigger(world.trigger) == nullptr) {
        fault(*at, "workflow " + workflows_.front()->workflow().str() + " has no trigger " +
                       quote(world.trigger));
        world.trigger.clear();
      }
    }
  }
  read_input(runs.value_or(whole), world);
}

void WorldReader::read_input(const FileValue& at, UserWorld& world) {
  if (const auto inputs = at.find("inputs")) {
    if (!inputs->is(Json::Kind::array) || inputs->json.size() == 0) {
      fault(*inputs, "must be a non-empty list of inputs");
    }
    for (const FileValue& item : inputs->items()) {
      if (const auto input = object_payload(item, "an input")) {
        check_input(item, *input, world);
        world.inputs.push_back(*input);
      }
    }
    return;
  }
  const Trigger* trigger = workflows_.front()->find_trigger(world.trigger);
  world.inputs.push_back(trigger != nullptr && trigger->contract.has_value()
                             ? generated_input(*trigger->contract)
                             : Payload::trusted("{}"));
}

void WorldReader::check_input(const FileValue& at, const Payload& input, const UserWorld& world) {
  const Trigger* trigger = workflows_.front()->find_trigger(world.trigger);
  if (trigger == nullptr || !trigger->contract.has_value()) {
    return;
  }
  const auto json = Json::parse(input.view());
  const ContractMisfit misfit = trigger->contract->check(json.value(), UnknownFields::refused);
  if (!misfit.none()) {
    fault(at, "a run of " + workflows_.front()->workflow().str() +
                  " cannot be started with input " + std::string(input.view()) +
                  " (see runs.inputs): " + misfit.text());
  }
}

// Calls `take_one` with the name and the value of each member whose name is known.
template <typename Read>
void WorldReader::read_named(const FileValue& at, const std::vector<std::string>& names,
                             std::string_view what, const std::string& message,
                             const Read& take_one) {
  if (!at.is(Json::Kind::object)) {
    fault(at, message);
    return;
  }
  for (std::size_t i = 0; i < at.json.size(); ++i) {
    const std::string name(at.json.member(i).first);
    const FileValue own = *at.find(name);
    if (known(own, name, names, what)) {
      take_one(name, own);
    }
  }
}

void WorldReader::read_stubs(const FileValue& at, const std::vector<std::string>& names,
                             std::string_view what, std::map<std::string, Stub>& stubs) {
  read_named(at, names, what,
             "must be an object: the name of each handler or step, and its behaviour",
             [&](const std::string& name, const FileValue& own) {
               stubs[name] = read_stub(own);
               stubs[name].name = at.path.back() + "." + name;
             });
}

Stub WorldReader::read_stub(const FileValue& at) {
  Stub stub;
  const auto read_outcomes = [&](const FileValue& list) {
    for (const FileValue& item : list.items()) {
      stub.outcomes.push_back(read_outcome(item, false));
    }
    return stub;
  };
  if (at.is(Json::Kind::array)) {
    return read_outcomes(at);
  }
  if (at.is(Json::Kind::object)) {
    take(at, "takes", stub.takes, &WorldReader::span);
    stub.takes_given = at.find("takes").has_value();
    take(at, "idempotent", stub.idempotent, &WorldReader::flag);
    if (const auto outcomes = at.find("outcomes")) {
      object(at, {"takes", "idempotent", "outcomes"});
      if (!outcomes->is(Json::Kind::array) || outcomes->json.size() == 0) {
        fault(*outcomes, "must be a non-empty list of outcomes");
      }
      return read_outcomes(*outcomes);
    }
    const bool has_outcome = at.find("ok") || at.find("error") || at.find("never");
    if (!has_outcome && object(at, {"takes", "idempotent", "outcomes", "ok", "error", "never"})) {
      return stub;
    }
  }
  stub.outcomes.push_back(read_outcome(at, true));
  return stub;
}

StubOutcome WorldReader::read_outcome(const FileValue& at, bool alone) {
  StubOutcome outcome;
  std::vector<std::string_view> members{"ok",   "error", "never",     "weight",      "takes",
                                        "done", "opts",  "retryable", "retry_after", "when"};
  if (alone) {
    members.emplace_back("idempotent");
  }
  if (!object(at, members)) {
    return outcome;
  }
  const auto ok = at.find("ok");
  const auto error = at.find("error");
  const auto never = at.find("never");
  if ((ok ? 1 : 0) + (error ? 1 : 0) + (never ? 1 : 0) != 1) {
    fault(at, "an outcome is exactly one of ok, error and never");
  }
  if (ok) {
    outcome.result = Payload::trusted(json_text(ok->json));
  } else if (error) {
    read_error(*error, outcome);
  } else if (never) {
    outcome.kind = StubOutcome::Kind::never;
    outcome.done = false;
    check_true(*never);
  }
  take(at, "weight", outcome.weight, &WorldReader::count);
  if (!alone) {
    take(at, "takes", outcome.takes, &WorldReader::span);
  }
  take(at, "done", outcome.done, &WorldReader::flag);
  if (const auto opts = at.find("opts")) {
    outcome.opts = object_payload(*opts, "opts").value_or(Payload());
  }
  take(at, "retryable", outcome.retryable, &WorldReader::flag);
  if (const auto later = at.find("retry_after")) {
    if (const auto us = duration(*later)) {
      outcome.retry_after_ms = static_cast<std::uint64_t>(*us / kUsPerMs);
      outcome.retryable = true;
    }
  }
  take(at, "when", outcome.when, &WorldReader::condition);
  return outcome;
}

// A code, or {code, message}.
void WorldReader::read_error(const FileValue& at, StubOutcome& outcome) {
  outcome.kind = StubOutcome::Kind::error;
  outcome.done = false;
  if (!at.is(Json::Kind::object)) {
    outcome.code = text(at).value_or("");
    return;
  }
  object(at, {"code", "message"});
  if (!at.find("code")) {
    fault(at, "an error needs a code");
  }
  take(at, "code", outcome.code, &WorldReader::text);
  take(at, "message", outcome.message, &WorldReader::text);
}

void WorldReader::read_decisions(const FileValue& at, UserWorld& world) {
  read_named(at, names_.decided, "approval or pause",
             "must be an object: the name of each step, and its decisions",
             [&](const std::string& name, const FileValue& own) {
               world.decisions[name] = read_decider(own, has(names_.approvals, name));
             });
}

// A word (approve), or weights and a delay.
Decider WorldReader::read_decider(const FileValue& at, bool approval) {
  Decider decider;
  const std::string yes = approval ? "approve" : "resume";
  std::vector<std::string_view> members{yes, "never", "after"};
  if (approval) {
    members.insert(members.begin() + 1, "reject");
  }
  decider.approve = 0;
  if (const auto word = at.json.string()) {
    decider.approve = *word == yes ? 1 : 0;
    decider.reject = approval && *word == "reject" ? 1 : 0;
    decider.never = *word == "never" ? 1 : 0;
  } else if (object(at, members)) {
    const auto weight = [&](std::string_view name) {
      const auto found = at.find(name);
      return found ? count(*found).value_or(0) : 0;
    };
    decider.approve = weight(yes);
    decider.reject = approval ? weight("reject") : 0;
    decider.never = weight("never");
    take(at, "after", decider.after, &WorldReader::span);
    if (!at.find(yes) && !at.find("reject") && !at.find("never")) {
      decider.approve = 1;
    }
  }
  if (decider.approve + decider.reject + decider.never == 0) {
    fault(at, "must be one of " + yes + (approval ? ", reject" : "") +
                  " or never, or their weights: {" + yes + ": 8, never: 1}");
  }
  return decider;
}

void WorldReader::read_events(const FileValue& at, UserWorld& world) {
  if (!at.is(Json::Kind::array)) {
    fault(at, "must be a list of events");
  }
  for (const FileValue& item : at.items()) {
    if (!object(item,
                {"event", "payload", "payloads", "chance", "after", "since", "correlation"})) {
      continue;
    }
    EventSource source;
    const auto name = item.find("event");
    if (!name) {
      fault(item, "an event needs a name: event");
    } else if (const auto event = text(*name)) {
      known(*name, *event, names_.events, "event");
      source.event = *event;
    }
    if (const auto payload = item.find("payload")) {
      source.payloads.push_back(object_payload(*payload, "a payload").value_or(Payload()));
    }
    if (const auto payloads = item.find("payloads")) {
      for (const FileValue& one : payloads->items()) {
        source.payloads.push_back(object_payload(one, "a payload").value_or(Payload()));
      }
    }
    take(item, "chance", source.chance, &WorldReader::percent);
    take(item, "after", source.after, &WorldReader::span);
    take_word(item, "since", source.since,
              "must be wait (counted from when the run waits for it) or start (from the start of "
              "the run)");
    take(item, "correlation", source.correlation, &WorldReader::text);
    world.events.push_back(std::move(source));
  }
}

void WorldReader::read_cancel(const FileValue& at, UserWorld& world) {
  if (!object(at, {"chance", "after", "how"})) {
    return;
  }
  Canceller cancel;
  cancel.chance = 10;
  take(at, "chance", cancel.chance, &WorldReader::percent);
  take(at, "after", cancel.after, &WorldReader::span);
  take_word(at, "how", cancel.how, "must be as_defined, compensate or stop");
  world.cancel = cancel;
}

}  // namespace holdfast::sim
