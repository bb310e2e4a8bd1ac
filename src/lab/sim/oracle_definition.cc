#include "lab/sim/oracle_definition.h"

#include <algorithm>
#include <set>

namespace holdfast::sim::model {

namespace {

constexpr const char* kCompensate = "compensate:";

const std::map<std::string, StepKind>& kinds() {
  static const std::map<std::string, StepKind> table{
      {"http", StepKind::http},         {"exec", StepKind::exec},        {"child", StepKind::child},
      {"log", StepKind::log},           {"wait", StepKind::wait},        {"pause", StepKind::pause},
      {"approval", StepKind::approval}, {"await_event", StepKind::event}};
  return table;
}

Step read_step(const Value& spec) {
  Step step;
  step.name = spec["name"].string();
  step.spec = spec;
  for (const auto& [member, kind] : kinds()) {
    if (spec.has(member)) {
      step.kind = kind;
    }
  }
  for (const Value& before : spec["after"].list()) {
    step.after.push_back(before.string());
  }
  return step;
}

// A member that the model does not know; the model may be wrong for such a definition.
std::string unknown_member(const Value& spec) {
  static const std::set<std::string> workflow{"workflow",
                                              "version",
                                              "description",
                                              "triggers",
                                              "steps",
                                              "transitions",
                                              "entry",
                                              "timeout_ms",
                                              "max_visits",
                                              "output",
                                              "compensate_on_cancel"};
  static const std::set<std::string> step{
      "name",          "handler",    "after",          "description",  "queue",
      "retry",         "timeout",    "input",          "output",       "input_schema",
      "output_schema", "for_each",   "compensate",     "irreversible", "compensatable",
      "deadline",      "max_visits", "circuit_breaker"};
  for (const auto& [name, value] : spec.members()) {
    if (!workflow.contains(name)) {
      return name;
    }
  }
  for (const Value& one : spec["steps"].list()) {
    for (const auto& [name, value] : one.members()) {
      const bool option = std::find(std::begin(kClaimOptions), std::end(kClaimOptions), name) !=
                          std::end(kClaimOptions);
      if (!option && !step.contains(name) && !kinds().contains(name)) {
        return name;
      }
    }
  }
  return "";
}

}  // namespace

StepName StepName::parse(const std::string& name) {
  StepName parsed;
  parsed.base = name;
  if (parsed.base.rfind(kCompensate, 0) == 0) {
    parsed.compensates = true;
    parsed.base = parsed.base.substr(std::string(kCompensate).size());
  }
  if (!parsed.base.empty() && parsed.base.back() == ']') {
    const std::size_t open = parsed.base.rfind('[');
    parsed.item = std::stoll(parsed.base.substr(open + 1));
    parsed.base = parsed.base.substr(0, open);
  }
  if (const std::size_t at = parsed.base.rfind('@'); at != std::string::npos) {
    parsed.visit = std::stoll(parsed.base.substr(at + 1));
    parsed.base = parsed.base.substr(0, at);
  }
  return parsed;
}

std::string StepName::list() const {
  return visit == 1 ? base : base + "@" + std::to_string(visit);
}

bool Step::is_work() const {
  return kind == StepKind::handler || kind == StepKind::http || kind == StepKind::exec;
}

std::string Step::handler() const {
  if (kind == StepKind::http) {
    return "__http__";
  }
  if (kind == StepKind::exec) {
    return "__exec__";
  }
  return spec.has("handler") ? spec["handler"].string() : name;
}

// The result of a decision already contains its name.
std::string Step::output_key() const {
  if (kind == StepKind::approval) {
    return "";
  }
  return for_each() && !spec.has("output") ? name : spec["output"].string();
}

Definition Definition::read(const Value& spec) {
  Definition definition;
  definition.spec = spec;
  definition.workflow = spec["workflow"].string();
  definition.unknown = unknown_member(spec);
  std::set<std::string> led_to;
  for (const Value& transition : spec["transitions"].list()) {
    definition.transitions.push_back(transition);
    led_to.insert(transition["to"].string());
  }
  for (const Value& step : spec["steps"].list()) {
    definition.steps.push_back(read_step(step));
    led_to.insert(step["await_event"]["on_timeout"].string());
  }
  for (const Step& step : definition.steps) {
    const bool waits = !step.after.empty();
    if (waits || !led_to.contains(step.name) || step.name == spec["entry"].string()) {
      definition.path_steps.push_back(step.name);
      if (!waits) {
        definition.roots.push_back(step.name);
      }
    }
  }
  return definition;
}

const Step* Definition::find(const std::string& name) const {
  const auto found =
      std::find_if(steps.begin(), steps.end(), [&](const Step& step) { return step.name == name; });
  return found == steps.end() ? nullptr : &*found;
}

std::vector<Value> Definition::transitions_from(const std::string& from,
                                                const std::string& on) const {
  std::vector<Value> found;
  for (const Value& transition : transitions) {
    if (transition["from"].string() == from && transition["on"].string() == on) {
      found.push_back(transition);
    }
  }
  return found;
}

std::int64_t Definition::max_visits(const Step& step) const {
  constexpr std::int64_t kUsual = 1000;
  return step.spec["max_visits"].integer(spec["max_visits"].integer(kUsual));
}

RetryRule retry_rule(const Value& policy, const std::string& code, std::int64_t attempt) {
  RetryRule rule;
  Value found = policy;
  for (const Value& other : policy["codes"].list()) {
    if (other["code"].string() == code) {
      found = Value(other);
      rule.named = true;
    }
  }
  rule.max_attempts = found["max_attempts"].integer(1);
  std::int64_t delay = found["delay_ms"].integer();
  const std::string& backoff = found["backoff"].string();
  const std::int64_t most = found["max_delay_ms"].integer();
  constexpr std::int64_t kCentury = 3'155'760'000'000;
  for (std::int64_t i = 1; i < attempt && delay < kCentury; ++i) {
    delay += backoff == "exponential" ? delay
             : backoff == "linear"    ? found["delay_ms"].integer()
                                      : 0;
  }
  delay = std::min(delay, most > 0 ? most : kCentury);
  rule.longest_ms = delay;
  rule.shortest_ms = delay - delay * found["jitter_percent"].integer() / 100;
  return rule;
}

}  // namespace holdfast::sim::model
