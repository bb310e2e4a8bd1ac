#include "runs/api/workflow_builder.h"

#include <cmath>

#include "base/json_writer.h"
#include "runs/language/data/iso8601.h"
#include "runs/language/definition/definition.h"

namespace holdfast {

namespace {

// Marks a value that cannot be written: a text that contains it is not JSON.
constexpr std::string_view kUnwritable = "unwritable";

class ObjectText {
 public:
  // The value is JSON.
  ObjectText& add(std::string_view name, std::string_view value) {
    text_ += text_.size() > 1 ? "," : "";
    text_ += JsonValue(name).text();
    text_ += ':';
    text_ += value;
    return *this;
  }
  [[nodiscard]] std::string text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

template <typename Items, typename Text>
std::string list_text(const Items& items, const Text& text_of) {
  std::string text = "[";
  for (const auto& item : items) {
    text += text.size() > 1 ? "," : "";
    text += text_of(item);
  }
  return text + "]";
}

// The public enums have the enumerators of the internal ones, in the same order.
template <typename To, typename From>
requires(std::is_enum_v<To>&& std::is_enum_v<From>) To same(From value) {
  return static_cast<To>(value);
}

// A negative time becomes one above the maximum, so that the definition is rejected.
std::uint64_t ms_of(std::chrono::milliseconds time) {
  return time.count() < 0 ? UINT64_MAX : static_cast<std::uint64_t>(time.count());
}

std::vector<SharedText> texts_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

std::map<std::string, SharedText> texts_of(const std::map<std::string, std::string>& texts) {
  return {texts.begin(), texts.end()};
}

// Invalid JSON is stored in the spec as a text that is not compact, so that the check of specs
// reports it together with every other fault.
Payload payload_of(std::string_view json) {
  if (json.empty()) {
    return {};
  }
  const auto text = JsonText::parse(json);
  return text.ok() ? Payload(text.value()) : Payload::trusted(" \"not JSON\"");
}

std::string text_of(const ValueSource& source) {
  switch (source.kind()) {
    case ValueSource::Kind::none:
      break;
    case ValueSource::Kind::path:
      return JsonValue(source.path()).text();
    case ValueSource::Kind::path_or:
      return ObjectText()
          .add("path", JsonValue(source.path()).text())
          .add("default", source.value())
          .text();
    case ValueSource::Kind::literal:
      return ObjectText().add("value", source.value()).text();
  }
  return std::string(kUnwritable);
}

// Here literals stand for themselves.
Payload correlation_of(const ValueSource& source) {
  switch (source.kind()) {
    case ValueSource::Kind::none:
      return {};
    case ValueSource::Kind::path:
      return payload_of(ObjectText().add("path", JsonValue(source.path()).text()).text());
    case ValueSource::Kind::literal:
      return payload_of(source.value());
    case ValueSource::Kind::path_or:
      break;
  }
  return payload_of(text_of(source));
}

Payload items_of(const ValueSource& source) {
  if (source.kind() == ValueSource::Kind::none) {
    return {};
  }
  // A literal text would be read as a path.
  const bool list = source.kind() == ValueSource::Kind::literal && source.value().starts_with('[');
  return payload_of(list ? source.value() : text_of(source));
}

RetryPolicy retry_of(const RetryOptions& retry) {
  RetryPolicy policy;
  policy.rule.max_attempts = retry.max_attempts;
  policy.rule.delay_ms = ms_of(retry.delay);
  policy.rule.max_delay_ms = ms_of(retry.max_delay);
  policy.rule.backoff = same<Backoff>(retry.backoff);
  policy.rule.jitter_percent = retry.jitter_percent;
  for (const CodeRetryOptions& code : retry.codes) {
    RetryRule rule;
    rule.max_attempts = code.max_attempts.value_or(retry.max_attempts);
    rule.delay_ms = ms_of(code.delay.value_or(retry.delay));
    rule.max_delay_ms = ms_of(code.max_delay.value_or(retry.max_delay));
    rule.backoff = same<Backoff>(code.backoff.value_or(retry.backoff));
    rule.jitter_percent = code.jitter_percent.value_or(retry.jitter_percent);
    policy.codes.push_back({code.code, rule});
  }
  policy.then = same<AfterRetries>(retry.then);
  return policy;
}

std::optional<DeadlineSpec> deadline_of(const StepDeadline& deadline) {
  if (deadline == StepDeadline{}) {
    return std::nullopt;
  }
  return DeadlineSpec{ms_of(deadline.within), ms_of(deadline.due_soon),
                      ms_of(deadline.escalate_after), same<Escalation>(deadline.escalation),
                      deadline.target};
}

// Of a step or its compensation.
template <typename Settings>
ClaimOptions claim_options_of(const Settings& settings) {
  return {ms_of(settings.lease)};
}

CircuitBreaker circuit_of(const StepCircuitBreaker& circuit) {
  if (circuit.failures == 0) {
    return {};
  }
  // More than the maximum remains more, so that the definition is rejected.
  const std::uint64_t after_ms = std::min<std::uint64_t>(ms_of(circuit.probe_after), UINT32_MAX);
  return {circuit.failures, static_cast<std::uint32_t>(after_ms)};
}

std::optional<CompensateSpec> compensate_of(const Compensation& compensate) {
  if (compensate == Compensation{}) {
    return std::nullopt;
  }
  return CompensateSpec{compensate.handler, compensate.queue, claim_options_of(compensate),
                        retry_of(compensate.retry)};
}

std::optional<ForEachSpec> for_each_of(const ForEach& each) {
  if (each == ForEach{}) {
    return std::nullopt;
  }
  return ForEachSpec{items_of(each.items), each.as, each.concurrency,
                     same<EachErrors>(each.on_error)};
}

// One function per kind of step.
class KindWriter {
 public:
  explicit KindWriter(StepSpec& spec) : spec_(spec) {}

  void operator()(const std::monostate& /*handler*/) const {}
  void operator()(const LogStep& log) const {
    spec_.log = LogSpec{log.message, same<LogLevel>(log.level)};
  }
  void operator()(const WaitStep& wait) const {
    spec_.wait =
        WaitSpec{ms_of(wait.duration),
                 wait.until.empty() ? Payload() : payload_of(JsonValue(wait.until).text())};
  }
  void operator()(const PauseStep& pause) const { spec_.pause = ManualSpec{pause.reason}; }
  void operator()(const ApprovalStep& approval) const {
    spec_.approval = ManualSpec{approval.reason};
  }
  void operator()(const EventStep& events) const {
    AwaitEventSpec& spec = spec_.await_event.emplace();
    if (!events.event.empty() || events.correlation.kind() != ValueSource::Kind::none) {
      spec.any_of.push_back({events.event, correlation_of(events.correlation)});
    }
    for (const EventChoice& choice : events.any_of) {
      spec.any_of.push_back({choice.event, correlation_of(choice.correlation)});
    }
    spec.timeout_ms = ms_of(events.timeout);
    spec.on_timeout = events.on_timeout;
  }
  void operator()(const HttpStep& request) const {
    HttpSpec& spec = spec_.http.emplace();
    spec.method = request.method;
    spec.url = request.url;
    spec.allowed_hosts = texts_of(request.allowed_hosts);
    spec.headers = texts_of(request.headers);
    spec.credential_refs = texts_of(request.credential_refs);
    spec.query = texts_of(request.query);
    spec.send_input = request.send_input;
    spec.keep_body = request.keep_body;
    spec.timeout_ms = ms_of(request.timeout);
  }
  void operator()(const ExecStep& process) const {
    spec_.exec =
        ExecSpec{texts_of(process.command), process.directory, texts_of(process.environment)};
  }
  void operator()(const ChildStep& child) const {
    using OnParentClose = ChildStep::OnParentClose;
    const OnParentClose usual = child.detached ? OnParentClose::detach : OnParentClose::cancel;
    spec_.child = ChildSpec{
        child.workflow, child.trigger,  child.queue,
        child.key,      child.detached, same<ParentClose>(child.on_parent_close.value_or(usual))};
  }

 private:
  StepSpec& spec_;
};

StepSpec step_of(const Workflow::Step& step) {
  const StepSettings& settings = step.settings;
  StepSpec spec;
  spec.name = step.name;
  spec.handler = settings.handler;
  spec.queue = settings.queue;
  spec.after = texts_of(settings.after);
  spec.policy.claim = claim_options_of(settings);
  spec.retry = retry_of(settings.retry);
  spec.description = settings.description;
  spec.input = payload_of(settings.input.text());
  spec.output = settings.output;
  spec.policy.timeout = {ms_of(settings.timeout.start_to_close),
                         ms_of(settings.timeout.schedule_to_start)};
  spec.policy.circuit = circuit_of(settings.circuit_breaker);
  spec.deadline = deadline_of(settings.deadline);
  spec.irreversible = settings.irreversible;
  spec.compensatable = settings.compensatable;
  spec.compensate = compensate_of(settings.compensate);
  spec.input_schema = payload_of(settings.input_schema.text());
  spec.output_schema = payload_of(settings.output_schema.text());
  spec.max_visits = settings.max_visits;
  spec.for_each = for_each_of(settings.for_each);
  std::visit(KindWriter(spec), step.kind);
  return spec;
}

TriggerSpec trigger_of(const Workflow::Trigger& trigger) {
  TriggerSpec spec;
  spec.name = trigger.name;
  spec.payload = payload_of(trigger.payload.text());
  if (trigger.cron.has_value()) {
    const CronTrigger& cron = *trigger.cron;
    spec.cron = CronSpec{cron.expression, cron.timezone, same<CronIdempotency>(cron.idempotency),
                         same<CatchUp>(cron.catch_up), same<CronDelivery>(cron.delivery)};
  }
  return spec;
}

TransitionSpec transition_of(const Workflow::Transition& transition) {
  TransitionSpec spec;
  spec.from = transition.from;
  spec.on = transition.on_error ? StepOutcome::error : StepOutcome::ok;
  spec.to = transition.to;
  if (transition.when.has_value()) {
    spec.when = payload_of(transition.when->text());
  }
  spec.recovery = same<RecoveryLabel>(transition.recovery);
  return spec;
}

}  // namespace

WorkflowSpec spec_of(const Workflow& workflow) {
  const Workflow::Parts& parts = workflow.parts();
  WorkflowSpec spec;
  spec.workflow = parts.name;
  spec.version = parts.version;
  spec.description = parts.description;
  for (const Workflow::Trigger& trigger : parts.triggers) {
    spec.triggers.push_back(trigger_of(trigger));
  }
  for (const Workflow::Step& step : parts.steps) {
    spec.steps.push_back(step_of(step));
  }
  for (const Workflow::Transition& transition : parts.transitions) {
    spec.transitions.push_back(transition_of(transition));
  }
  spec.entry = parts.entry;
  spec.timeout_ms = ms_of(parts.timeout);
  spec.max_visits = parts.max_visits;
  spec.output = payload_of(parts.output.text());
  spec.compensate_on_cancel = parts.compensate_on_cancel;
  return spec;
}

// condition.h

JsonValue JsonValue::json(std::string_view text) {
  const auto parsed = JsonText::parse(text);
  JsonValue value;
  value.text_ = parsed.ok() ? parsed.value().view() : kUnwritable;
  return value;
}

std::string JsonValue::number(double value) {
  if (!std::isfinite(value)) {
    return std::string(kUnwritable);
  }
  JsonWriter writer;
  writer.number(value);
  return std::move(writer).take();
}

std::string JsonValue::quote(std::string_view value) {
  std::string quoted;
  append_json_string(quoted, value);
  // Bytes that are not UTF-8 are lost in the quoted text.
  return json_string_value(quoted) == value ? quoted : std::string(kUnwritable);
}

namespace {

// Objects could be mistaken for a path or a wrapped literal, so they are wrapped.
std::string literal_operand(const JsonValue& value) {
  const bool looks_like_source = value.text().starts_with("{\"path\":") ||
                                 value.text().starts_with("{\"value\":") ||
                                 value.text().starts_with("{\"default\":");
  return looks_like_source ? ObjectText().add("value", value.text()).text() : value.text();
}

}  // namespace

When When::Path::condition(std::string_view operation, std::string_view operand) const {
  return When(ObjectText().add("path", path_.text()).add(operation, operand).text());
}

When When::Path::compare(std::string_view operation, const JsonValue& value) const {
  return condition(operation, literal_operand(value));
}

When When::Path::compare(std::string_view operation, const Path& other) const {
  return condition(operation, ObjectText().add("path", other.path_.text()).text());
}

When When::Path::in(const std::vector<JsonValue>& values) const {
  return condition("in", list_text(values, literal_operand));
}

When When::join(Joint joint, const When& left, const When& right) {
  When joined(left);
  if (joined.joint_ != joint) {
    joined.parts_ = {left.text()};
    joined.joint_ = joint;
  }
  if (right.joint_ == joint) {
    joined.parts_.insert(joined.parts_.end(), right.parts_.begin(), right.parts_.end());
  } else {
    joined.parts_.push_back(right.text());
  }
  return joined;
}

std::string When::text() const {
  if (joint_ == Joint::none) {
    return parts_.front();
  }
  const auto list = list_text(parts_, [](const std::string& part) { return part; });
  return ObjectText().add(joint_ == Joint::all ? "all" : "any", list).text();
}

DataMapping::DataMapping(const std::vector<Item>& items) {
  ObjectText object;
  for (const Item& item : items) {
    object.add(item.name, text_of(item.source));
  }
  text_ = items.empty() ? "" : object.text();
}

DataMapping take(const std::vector<std::string>& names) {
  DataMapping mapping;
  mapping.text_ = list_text(names, [](const std::string& name) { return JsonValue(name).text(); });
  return mapping;
}

DataField DataField::with(std::string_view option, const JsonValue& value) const {
  DataField field(*this);
  field.options_ += "," + JsonValue(option).text() + ":" + value.text();
  return field;
}

std::string DataField::text() const {
  const std::string type = JsonValue(type_).text();
  return options_.empty() ? type : "{\"type\":" + type + options_ + "}";
}

DataFields::DataFields(const std::vector<Item>& items) {
  ObjectText object;
  for (const Item& item : items) {
    object.add(item.name, item.field.text());
  }
  text_ = items.empty() ? "" : object.text();
}

// workflow.h

Workflow& Workflow::trigger(std::string_view name, DataFields payload) {
  parts_.triggers.push_back({std::string(name), std::move(payload)});
  return *this;
}

Workflow& Workflow::cron(std::string_view name, CronTrigger when) {
  DataFields payload = when.payload;
  parts_.triggers.push_back({std::string(name), std::move(payload), std::move(when)});
  return *this;
}

Workflow& Workflow::step(std::string_view name, StepSettings settings) {
  return add(name, std::move(settings), std::monostate());
}

Workflow& Workflow::log(std::string_view name, std::string_view message, StepSettings settings) {
  return log(name, LogStep{std::string(message)}, std::move(settings));
}

Workflow& Workflow::log(std::string_view name, LogStep log, StepSettings settings) {
  return add(name, std::move(settings), std::move(log));
}

Workflow& Workflow::wait(std::string_view name, std::chrono::milliseconds duration,
                         StepSettings settings) {
  return add(name, std::move(settings), WaitStep{duration});
}

Workflow& Workflow::wait_until(std::string_view name, std::string_view path_or_time,
                               StepSettings settings) {
  return add(name, std::move(settings), WaitStep{.until = std::string(path_or_time)});
}

Workflow& Workflow::wait_until(std::string_view name, std::chrono::system_clock::time_point time,
                               StepSettings settings) {
  const auto since_1970 = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  return wait_until(name, iso8601_time(TimeMs{since_1970.count()}), std::move(settings));
}

Workflow& Workflow::pause(std::string_view name, std::string_view reason, StepSettings settings) {
  return add(name, std::move(settings), PauseStep{std::string(reason)});
}

Workflow& Workflow::approval(std::string_view name, std::string_view reason,
                             StepSettings settings) {
  return add(name, std::move(settings), ApprovalStep{std::string(reason)});
}

Workflow& Workflow::await_event(std::string_view name, std::string_view event,
                                StepSettings settings) {
  return await_event(name, EventStep{std::string(event)}, std::move(settings));
}

Workflow& Workflow::await_event(std::string_view name, EventStep events, StepSettings settings) {
  return add(name, std::move(settings), std::move(events));
}

Workflow& Workflow::http(std::string_view name, HttpStep request, StepSettings settings) {
  return add(name, std::move(settings), std::move(request));
}

Workflow& Workflow::exec(std::string_view name, std::vector<std::string> command,
                         StepSettings settings) {
  return exec(name, ExecStep{std::move(command)}, std::move(settings));
}

Workflow& Workflow::exec(std::string_view name, ExecStep process, StepSettings settings) {
  return add(name, std::move(settings), std::move(process));
}

Workflow& Workflow::child(std::string_view name, std::string_view workflow, StepSettings settings) {
  return child(name, ChildStep{std::string(workflow)}, std::move(settings));
}

Workflow& Workflow::child(std::string_view name, ChildStep child, StepSettings settings) {
  return add(name, std::move(settings), std::move(child));
}

Workflow& Workflow::transition(std::string_view from, std::string_view to) {
  parts_.transitions.push_back({std::string(from), std::string(to)});
  return *this;
}

Workflow& Workflow::transition(std::string_view from, std::string_view to, When when) {
  parts_.transitions.push_back({std::string(from), std::string(to), false, std::move(when)});
  return *this;
}

Workflow& Workflow::on_error(std::string_view from, std::string_view to, Recovery recovery) {
  parts_.transitions.push_back({std::string(from), std::string(to), true, {}, recovery});
  return *this;
}

Workflow& Workflow::on_error(std::string_view from, std::string_view to, When when,
                             Recovery recovery) {
  parts_.transitions.push_back(
      {std::string(from), std::string(to), true, std::move(when), recovery});
  return *this;
}

Result<WorkflowDefinition> Workflow::build() const {
  HOLDFAST_TRY(const auto definition, Definition::create(spec_of(*this)));
  WorkflowDefinition built;
  built.name_ = definition->workflow().view();
  built.version_ = definition->version().view();
  built.fingerprint_ = definition->fingerprint().view();
  built.json_ = definition->spec().view();
  return built;
}

Workflow& Workflow::add(std::string_view name, StepSettings settings, Kind kind) {
  parts_.steps.push_back({std::string(name), std::move(settings), std::move(kind)});
  return *this;
}

}  // namespace holdfast
