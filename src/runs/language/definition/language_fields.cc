#include "runs/language/definition/language_fields.h"

namespace holdfast {

namespace {

using Form = LanguageField::Form;

constexpr LanguageField name_field(std::string_view name, std::string_view doc) {
  return {.name = name, .form = Form::name, .doc = doc};
}
constexpr LanguageField text_field(std::string_view name, std::string_view doc, TextLimits limits) {
  return {.name = name, .form = Form::text, .doc = doc, .text = limits};
}
constexpr LanguageField description(std::string_view doc) {
  return text_field("description", doc, {.least = 0});
}
constexpr LanguageField count_field(std::string_view name, std::string_view doc,
                                    CountLimits limits) {
  return {.name = name, .form = Form::count, .doc = doc, .count = limits};
}
constexpr LanguageField flag_field(std::string_view name, std::string_view doc) {
  return {.name = name, .form = Form::flag, .doc = doc, .fallback = "false"};
}
constexpr LanguageField duration_field(std::string_view name, std::string_view doc,
                                       Zero zero = Zero::refused) {
  return {.name = name, .form = Form::duration, .doc = doc, .zero = zero};
}
template <typename E>
constexpr LanguageField choice_field(std::string_view name, std::string_view doc) {
  return {.name = name, .form = Form::choice, .doc = doc, .words = kEnumNames<E>};
}
constexpr LanguageField part_field(std::string_view name, std::string_view doc,
                                   std::string_view schema) {
  return {.name = name, .form = Form::part, .doc = doc, .schema = schema};
}
constexpr LanguageField other_field(std::string_view name, std::string_view doc,
                                    std::string_view schema) {
  return {.name = name, .form = Form::other, .doc = doc, .schema = schema};
}

constexpr unsigned kWorkers = bit(StepKind::handler) | bit(StepKind::http) | bit(StepKind::exec);
constexpr unsigned kCalls = kWorkers | bit(StepKind::child);
constexpr unsigned kResults = kCalls | bit(StepKind::approval) | bit(StepKind::await_event);

constexpr std::string_view kOrName = R"({"$ref":"#/$defs/name"})";
constexpr std::string_view kOrEvent = R"({"type":"string","minLength":1,"maxLength":255})";

constexpr LanguageField kWorkflowFields[] = {
    name_field("workflow", "The name of the workflow.")
        .required()
        .code(FaultCode::invalid_workflow),
    text_field("version", R"(The version of the definition, a text of your choice. Quote it: "1".)",
               {.least = 0, .most = 128})
        .with(R"("examples":["1","2026-11"])")
        .code(FaultCode::invalid_definition_version),
    description("What the workflow is for."),
    other_field("triggers", "How runs are started. Without: by a call, with any input.",
                R"("type":["array","null"],"minItems":1,"maxItems":1000,)"
                R"("items":{"$ref":"#/$defs/trigger"})"),
    text_field("entry", "The first step, where transitions lead back to it.", kAnyText)
        .code(FaultCode::invalid_entry_step),
    other_field("steps",
                "What is done. Steps begin at once unless after or transitions say otherwise.",
                R"("type":"array","minItems":1,"maxItems":10000,"items":{"$ref":"#/$defs/step"})")
        .required(),
    other_field("transitions", "What follows a step, by how it ended.",
                R"("type":["array","null"],"maxItems":10000,)"
                R"("items":{"$ref":"#/$defs/transition"})"),
    duration_field("timeout", "How long a run may take in all."),
    count_field("max_visits", "How often a step may be entered in one run.", {.least = 1})
        .usually("1000"),
    part_field("output", "The result of a run. Default: all its data.", "mapping"),
    flag_field("compensate_on_cancel", "Undo what was done when a run is cancelled."),
};

constexpr LanguageField kTriggerFields[] = {
    name_field("name", "The name of the trigger, by which runs are started.")
        .required()
        .code(FaultCode::invalid_trigger_name),
    choice_field<TriggerType>("type", "Says again what the other fields say.")
        .code(FaultCode::invalid_trigger_type),
    other_field("manual", "Runs are started by a call: true.",
                R"("anyOf":[{"const":true},{"type":"object","maxProperties":0},{"type":"null"}])"),
    part_field("cron", "Runs are started by the clock.", "cron"),
    part_field("payload", "The fields of the input. Without: any object.", "contract")
        .code(FaultCode::invalid_payload_contract),
};
constexpr FieldRule kTriggerRules[] = {{FieldRule::Kind::not_both, {"manual", "cron"}}};

constexpr LanguageField kCronFields[] = {
    text_field("expression",
               "Five fields: minute, hour, day of month, month, day of week; or @hourly, @daily, "
               "@midnight, @weekly, @monthly, @yearly, @annually.",
               {})
        .with(R"("examples":["30 2 * * *","*/15 9-17 * * mon-fri","@daily"])")
        .required()
        .code(FaultCode::invalid_cron_expression),
    text_field("timezone", "The time zone the expression is in.", {.most = 64})
        .with(R"("pattern":"^[A-Za-z][A-Za-z0-9/_+-]*$","examples":["Europe/Berlin","UTC"])")
        .required()
        .code(FaultCode::invalid_cron_timezone),
    choice_field<CronIdempotency>("idempotency",
                                  "What happens when the run of a time exists already.")
        .usually("return_existing_run")
        .code(FaultCode::invalid_cron_idempotency),
    choice_field<CatchUp>("catch_up",
                          "What happens about times that passed while no engine was running.")
        .usually("skip"),
    choice_field<CronDelivery>("delivery",
                               "Who starts the runs: the engine, or a scheduler outside of it that "
                               "delivers each window.")
        .usually("engine"),
};

constexpr LanguageField kTransitionFields[] = {
    text_field("from", "The step it leads from.", kAnyText).required(),
    text_field("to", "The step it leads to; complete ends the path, fail the run.", kAnyText)
        .required(),
    choice_field<StepOutcome>("on", "Whether it is taken when the step succeeded or failed.")
        .usually("ok")
        .code(FaultCode::invalid_transition_outcome),
    part_field("when", "Only if this holds. Transitions are tried in their order.", "condition")
        .code(FaultCode::invalid_transition_condition),
    other_field("recovery", "What following it is, on error.",
                R"("enum":["compensation","undo",null])")
        .code(FaultCode::invalid_transition_recovery),
};

// Those of a step and of its compensation: the members of ClaimOptions.
constexpr LanguageField kClaimFields[] = {
    duration_field("lease", "How long a worker may go without a sign of life.", Zero::allowed)
        .only(kWorkers, "only steps that a worker executes have a lease"),
};

constexpr LanguageField kStepFields[] = {
    name_field("name", "The name of the step; complete and fail are reserved.")
        .with(R"("not":{"enum":["complete","fail"]})")
        .required()
        .code(FaultCode::invalid_step_name),
    description("What the step is for."),
    name_field("handler", "The handler that a worker calls. Default: the name of the step.")
        .code(FaultCode::invalid_step_module),
    part_field("log", "Instead of a handler: writes a message to the history.", "log"),
    part_field("wait", "Instead of a handler: waits.", "wait"),
    part_field("pause", "Instead of a handler: waits until a person resumes the run.", "manual"),
    part_field("approval", "Instead of a handler: waits until a person approves or rejects.",
               "manual"),
    part_field("await_event", "Instead of a handler: waits for an event.", "await_event"),
    part_field("http", "Instead of a handler: makes an HTTP request.", "http"),
    part_field("exec", "Instead of a handler: starts a program.", "exec"),
    part_field("child", "Instead of a handler: starts a run of another workflow.", "child"),
    other_field("after", "The step or steps that must be done before this one begins.",
                R"("anyOf":[{"type":"string","minLength":1},{"type":"array","uniqueItems":true,)"
                R"("items":{"type":"string","minLength":1}},{"type":"null"}])")
        .code(FaultCode::invalid_step_dependencies),
    name_field("queue", "The queue of the workers that do it. Default: that of the run.")
        .only(kWorkers, "only steps that a worker executes have a queue"),
    part_field("retry", "How often and when it is tried again.", "retry")
        .only(kCalls, "it has no attempts that could be retried"),
    part_field("timeout", "How long an attempt may take.", "timeout")
        .only(kCalls, "it has no attempts that could time out"),
    part_field("circuit_breaker", "When its attempts wait because the step keeps failing.",
               "circuit_breaker")
        .only(kWorkers, "only steps that a worker executes have a circuit breaker"),
    part_field("deadline", "By when the step should be done; shown, not enforced.", "deadline"),
    part_field("input", "What the step gets of the data of the run. Default: all of it.", "mapping")
        .only(kCalls, "it has no input")
        .code(FaultCode::invalid_step_input_mapping),
    name_field("output", "The name of the result in the data. Default: its members join the data.")
        .only(kResults, "it has no result")
        .code(FaultCode::invalid_step_output_mapping),
    part_field("input_schema", "The fields of the input.", "contract")
        .only(kCalls, "it has no input"),
    part_field("output_schema", "The fields of the result.", "contract")
        .only(kCalls, "it has no result from a worker or a child run"),
    part_field("for_each", "Does the step once for each item of a list.", "for_each")
        .only(kCalls, "only handler, http, exec and child steps can run for each item"),
    flag_field("irreversible", "What the step did cannot be undone.")
        .code(FaultCode::invalid_step_recovery_marker),
    flag_field("compensatable", "Whether what the step did can be undone.")
        .usually("")
        .code(FaultCode::invalid_step_recovery_marker),
    part_field("compensate", "How what the step did is undone.", "compensate")
        .only(kCalls, "it has no effect that could be undone"),
    count_field("max_visits",
                "How often the step may be entered in one run. Default: that of the workflow.",
                {.least = 1}),
};

constexpr LanguageField kTimeoutFields[] = {
    duration_field("start_to_close", "How long an attempt may take from its claim."),
    duration_field("schedule_to_start", "How long an attempt may wait for a worker."),
    duration_field("heartbeat",
                   "How long a worker may go without a sign of life; the same as lease."),
};

constexpr LanguageField kCircuitBreakerFields[] = {
    count_field("failures", "How many consecutive failures of the step, in all runs, open it.",
                {.least = 1, .most = 1'000'000})
        .required(),
    duration_field("probe_after",
                   "How long after the last failure one attempt probes; at most 30 days. "
                   "Default: 30 s."),
};

constexpr LanguageField kRuleFields[] = {
    count_field("max_attempts", "How often it is tried in all.", {.least = 1})
        .usually("1")
        .code(FaultCode::invalid_step_retry_max_attempts),
    duration_field("delay", "How long after a failure it is tried again.", Zero::allowed),
    duration_field("max_delay", "The longest delay. 0: no limit.", Zero::allowed),
    choice_field<Backoff>("backoff", "How the delay grows with each attempt.").usually("fixed"),
    count_field("jitter_percent", "Each delay is shorter by a random part, up to so many percent.",
                {.most = 100})
        .usually("0"),
};
constexpr LanguageField kRetryFields[] = {
    other_field(
        "codes", "Other rules for failures with certain codes.",
        R"("anyOf":[{"description":"Codes with their rules; what a rule leaves out is that of )"
        R"(the step.","type":"object","propertyNames":{"minLength":1,"maxLength":128},)"
        R"("additionalProperties":{"$ref":"#/$defs/retry_rule"}},{"description":"Complete rules, )"
        R"(each with its code.","type":"array","items":{"$ref":"#/$defs/code_rule"}},)"
        R"({"type":"null"}])"),
    choice_field<AfterRetries>("then", "When no attempt is left: the step fails, or it is parked.")
        .usually("fail"),
};
constexpr LanguageField kCodeRuleFields[] = {
    text_field("code", "The code of the failure.", kCodeLimits).required(),
};

constexpr LanguageField kCompensateFields[] = {
    name_field("handler", "The handler that undoes it.").required(),
    name_field("queue", "The queue of the workers that do. Default: that of the run."),
    part_field("retry", "How often it is tried.", "retry"),
};

constexpr LanguageField kDeadlineFields[] = {
    duration_field("within", "By when the step should be done, from its start."),
    duration_field("due_soon", "How long before that it counts as due soon; shorter than within.",
                   Zero::allowed),
    duration_field("escalate_after", "How long after that it is escalated.", Zero::allowed),
    choice_field<Escalation>("escalation", "What kind of escalation.").usually("diagnostic"),
    text_field("target", "Whom it is escalated to; with workflow_step a step.", {}),
};
constexpr FieldRule kDeadlineRules[] = {{FieldRule::Kind::at_least_one, {"within", "within_ms"}}};

constexpr LanguageField kForEachFields[] = {
    other_field("items", "A path to the list, or the list.",
                R"("anyOf":[{"$ref":"#/$defs/path"},{"type":"array"}])")
        .required(),
    name_field("as", "What the item is called in the input.").usually("item"),
    count_field("concurrency", "How many items at once. 0: all.", {}).usually("0"),
    choice_field<EachErrors>("on_error",
                             "Whether the first failure ends the step, or failures are collected.")
        .usually("fail"),
};

constexpr LanguageField kLogFields[] = {
    text_field("message", "The message; {path} is replaced by what the data has there.",
               kMessageLimits)
        .required()
        .code(FaultCode::invalid_log_message),
    choice_field<LogLevel>("level", "How much it matters.")
        .usually("info")
        .code(FaultCode::invalid_log_level),
};

constexpr LanguageField kWaitFields[] = {
    duration_field("for", "How long."),
    text_field("until", "Until when: a time such as 2026-11-16T08:30:00Z, or a path to one.", {}),
};
constexpr FieldRule kWaitRules[] = {
    {FieldRule::Kind::not_both, {"for", "until"}},
    {FieldRule::Kind::not_both, {"for_ms", "until"}},
    {FieldRule::Kind::at_least_one, {"for", "for_ms", "until"}},
};

constexpr LanguageField kManualFields[] = {
    text_field("reason", "For the operator who decides.", {.least = 0}),
};

constexpr LanguageField kCorrelationFields[] = {
    part_field("path", "Where the text stands in the data of the run.", "path").required(),
};

constexpr LanguageField kEventName = text_field("event", "The name of the event.", kEventLimits);
constexpr LanguageField kEventCorrelation =
    part_field("correlation", "Only the event with this correlation.", "correlation");
constexpr LanguageField kEventFields[] = {kEventName.required(), kEventCorrelation};
constexpr LanguageField kAwaitEventFields[] = {
    kEventName,
    kEventCorrelation,
    other_field("any_of", "Several events; the first that comes ends the wait. Instead of event.",
                R"("type":["array","null"],"minItems":1,"uniqueItems":true,)"
                R"("items":{"$ref":"#/$defs/event"})"),
    duration_field("timeout", "How long to wait at most."),
    text_field("on_timeout",
               "The step that follows when the wait times out, or complete or fail. Without: the "
               "transitions on error.",
               kAnyText),
};
constexpr FieldRule kAwaitEventRules[] = {
    {FieldRule::Kind::not_both, {"any_of", "event"}},
    {FieldRule::Kind::not_both, {"any_of", "correlation"}},
    {FieldRule::Kind::at_least_one, {"any_of", "event"}},
};

constexpr LanguageField kHttpFields[] = {
    other_field("method", "The method of the request.",
                R"("anyOf":[{"enum":["DELETE","GET","HEAD","OPTIONS","PATCH","POST","PUT"]},)"
                R"({"type":"string","pattern":"^([Dd][Ee][Ll][Ee][Tt][Ee]|[Gg][Ee][Tt]|)"
                R"([Hh][Ee][Aa][Dd]|[Oo][Pp][Tt][Ii][Oo][Nn][Ss]|[Pp][Aa][Tt][Cc][Hh]|)"
                R"([Pp][Oo][Ss][Tt]|[Pp][Uu][Tt])$"}])")
        .required(),
    text_field("url",
               "Where: http(s)://host[:port]/path. {name} in the path is replaced from the input. "
               "No query and no credentials.",
               {.most = 2048})
        .with(R"("pattern":"^https?://[^\\s/?#@{}]+(/[^\\s?#]*)?$")")
        .required(),
    other_field("allowed_hosts", "The hosts the request may go to; that of the url is one of them.",
                R"("type":"array","minItems":1,)"
                R"("items":{"type":"string","minLength":1,"maxLength":255})")
        .required(),
    other_field("headers", "Headers without secrets.",
                R"("type":["object","null"],"propertyNames":)"
                R"({"pattern":"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$","maxLength":128},)"
                R"("additionalProperties":{"type":"string","maxLength":4096})"),
    other_field("credential_refs", "Headers with the names of credentials that the worker knows.",
                R"("type":["object","null"],"propertyNames":)"
                R"({"pattern":"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$","maxLength":128},)"
                R"("additionalProperties":{"$ref":"#/$defs/name"})"),
    other_field("query", "Fields of the input that are sent as query.",
                R"("type":["array","null"],)"
                R"("items":{"type":"string","minLength":1,"maxLength":128})"),
    flag_field("send_input", "The input is the JSON body."),
    flag_field("keep_body", "The body of the response is part of the result, up to 8192 bytes."),
    duration_field("timeout", "How long the request may take. Default: 30 s."),
};

constexpr LanguageField kExecFields[] = {
    other_field("command", "Program and arguments; no shell unless it is one.",
                R"("type":"array","minItems":1,)"
                R"("prefixItems":[{"type":"string","minLength":1,"maxLength":65536}],)"
                R"("items":{"type":"string","maxLength":65536})")
        .required(),
    text_field("directory", "Where it runs. Default: where the worker does.", {.most = 4096}),
    other_field("environment", "Variables beside those of the worker.",
                R"("type":["object","null"],"propertyNames":{"minLength":1,"pattern":"^[^=]*$"},)"
                R"("additionalProperties":{"type":"string","maxLength":65536})"),
};

constexpr LanguageField kChildFields[] = {
    name_field("workflow", "The name of the other workflow.").required(),
    name_field("trigger", "Its trigger. Default: the first."),
    name_field("queue", "The queue of the child. Default: that of the run."),
    text_field("key", "Distinguishes the children of the step. Default: the name of the step.",
               {.most = 128}),
    flag_field("detached", "The step is done as soon as the child has started."),
    choice_field<ParentClose>("on_parent_close",
                              "What happens to the child when the run ends before it. Default: "
                              "cancel, and detach when it is detached."),
};

}  // namespace

const LanguageField* LanguageObject::find(std::string_view field) const {
  const LanguageField* found = nullptr;
  for_each([&](const LanguageField& one) {
    const bool in_ms = one.form == Form::duration && field.ends_with("_ms") &&
                       field.substr(0, field.size() - 3) == one.name;
    found = one.name == field || in_ms ? &one : found;
  });
  return found;
}

const LanguageObject kWorkflowObject{
    .doc = "A workflow of Holdfast. A field that is null is the same as one that is left out.",
    .own = kWorkflowFields};
const LanguageObject kTriggerObject{
    .name = "trigger",
    .doc = "How runs are started: by a call, or with cron by the clock.",
    .own = kTriggerFields,
    .rules = kTriggerRules,
    .conditions = R"({"if":{"required":["type"],"properties":{"type":{"const":"cron"}}},)"
                  R"("then":{"required":["cron"],"properties":{"cron":{"not":{"type":"null"}}}}},)"
                  R"({"if":{"required":["type"],"properties":{"type":{"const":"manual"}}},)"
                  R"("then":{"properties":{"cron":{"type":"null"}}}})"};
const LanguageObject kCronObject{
    .name = "cron", .doc = "When runs are started.", .own = kCronFields};
const LanguageObject kTransitionObject{
    .name = "transition",
    .doc = "What follows a step.",
    .own = kTransitionFields,
    .conditions =
        R"({"if":{"required":["recovery"],"properties":{"recovery":{"not":{"type":"null"}}}},)"
        R"("then":{"required":["on"],"properties":{"on":{"const":"error"}}}})"};
const LanguageObject kStepObject{
    .name = "step",
    .doc =
        "A step: a call of a handler, or what one of log, wait, pause, approval, await_event, "
        "http, exec and child says.",
    .own = kStepFields,
    .shared = kClaimFields,
    .conditions =
        R"({"if":{"required":["irreversible"],"properties":{"irreversible":{"const":true}}},)"
        R"("then":{"properties":{"compensatable":{"not":{"const":true}},)"
        R"("compensate":{"type":"null"}}}},)"
        R"({"if":{"required":["compensatable"],"properties":{"compensatable":{"const":false}}},)"
        R"("then":{"properties":{"compensate":{"type":"null"}}}})"};
const LanguageObject kTimeoutObject{
    .name = "timeout",
    .doc = "How long an attempt may take: a duration, or several of them.",
    .short_forms = R"({"$ref":"#/$defs/positive_duration"})",
    .own = kTimeoutFields};
const LanguageObject kCircuitBreakerObject{
    .name = "circuit_breaker",
    .doc = "After consecutive failures, the attempts at the step wait while one of them probes.",
    .own = kCircuitBreakerFields};
const LanguageObject kRetryRuleObject{
    .name = "retry_rule",
    .doc = "How often and when it is tried again after this failure.",
    .shared = kRuleFields};
const LanguageObject kCodeRuleObject{.name = "code_rule",
                                     .doc = "A rule for failures with one code.",
                                     .own = kCodeRuleFields,
                                     .shared = kRuleFields};
const LanguageObject kRetryObject{.name = "retry",
                                  .doc = "How often and when what failed is tried again.",
                                  .own = kRetryFields,
                                  .shared = kRuleFields};
const LanguageObject kCompensateObject{
    .name = "compensate",
    .doc = "How what the step did is undone: the name of a handler, or more about it.",
    .short_forms = kOrName,
    .own = kCompensateFields,
    .shared = kClaimFields};
const LanguageObject kDeadlineObject{
    .name = "deadline",
    .doc = "By when a step should be done. It is shown, not enforced.",
    .own = kDeadlineFields,
    .rules = kDeadlineRules};
const LanguageObject kForEachObject{
    .name = "for_each",
    .doc =
        "Does the step once for each item of a list: a path to the list, the list itself, or "
        "more about it.",
    .short_forms = R"({"$ref":"#/$defs/path"},{"type":"array"})",
    .own = kForEachFields};
const LanguageObject kLogObject{
    .name = "log",
    .doc = "Writes a message to the history of the run.",
    .short_forms = R"({"type":"string","minLength":1,"maxLength":8192})",
    .own = kLogFields};
const LanguageObject kWaitObject{
    .name = "wait",
    .doc = "Waits: a duration, milliseconds, or an object with for or until.",
    .short_forms =
        R"({"$ref":"#/$defs/positive_duration"},{"$ref":"#/$defs/positive_milliseconds"})",
    .own = kWaitFields,
    .rules = kWaitRules};
const LanguageObject kManualObject{.name = "manual",
                                   .doc = "Waits for a person: true, or why.",
                                   .short_forms = R"({"const":true})",
                                   .own = kManualFields};
const LanguageObject kCorrelationObject{
    .name = "correlation",
    .doc = "Which of the events: a fixed text, or a path to it.",
    .short_forms = R"({"type":"string","minLength":1,"maxLength":1024})",
    .own = kCorrelationFields};
const LanguageObject kEventObject{.name = "event",
                                  .doc = "An event: its name, or with a correlation.",
                                  .short_forms = kOrEvent,
                                  .own = kEventFields};
const LanguageObject kAwaitEventObject{
    .name = "await_event",
    .doc = "Waits for an event: its name, or more about it.",
    .short_forms = kOrEvent,
    .own = kAwaitEventFields,
    .rules = kAwaitEventRules,
    .conditions =
        R"({"if":{"required":["on_timeout"],)"
        R"("properties":{"on_timeout":{"not":{"type":"null"}}}},"then":{"anyOf":[)"
        R"({"required":["timeout"],"properties":{"timeout":{"not":{"type":"null"}}}},)"
        R"({"required":["timeout_ms"],"properties":{"timeout_ms":{"not":{"type":"null"}}}}]}})"};
const LanguageObject kHttpObject{
    .name = "http", .doc = "Makes an HTTP request.", .own = kHttpFields};
const LanguageObject kExecObject{
    .name = "exec",
    .doc =
        "Starts a program: input as JSON on its standard input, result as JSON from its "
        "standard output. A list of program and arguments, or more about it.",
    .short_forms = R"({"type":"array","minItems":1,)"
                   R"("prefixItems":[{"type":"string","minLength":1,"maxLength":65536}],)"
                   R"("items":{"type":"string","maxLength":65536}})",
    .own = kExecFields};
const LanguageObject kChildObject{
    .name = "child",
    .doc = "Starts a run of another workflow: its name, or more about it.",
    .short_forms = kOrName,
    .own = kChildFields};

}  // namespace holdfast
