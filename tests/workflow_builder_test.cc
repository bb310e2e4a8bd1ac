// A workflow that is built in C++ equals the same workflow written in JSON.
#include "runs/api/workflow_builder.h"

#include <gtest/gtest.h>

#include <limits>

#include "holdfast/workflow.h"
#include "runs/language/definition/definition.h"

namespace holdfast::workflow_builder_test {
namespace {

using namespace std::chrono_literals;

void expect_same(const Workflow& workflow, std::string_view json) {
  const auto built = workflow.build();
  ASSERT_TRUE(built.ok()) << built.error().text();
  const auto parsed = Definition::parse(json);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(built.value().json(), parsed.value()->spec().view());
  EXPECT_EQ(built.value().fingerprint(), parsed.value()->fingerprint().view());
}

// The workflow "w" with these steps.
void expect_steps(const Workflow& workflow, const std::string& steps) {
  expect_same(workflow, R"({"workflow":"w","steps":)" + steps + "}");
}

// path:code of every fault, separated by spaces.
std::string faults_of(const Workflow& workflow) {
  const auto built = workflow.build();
  if (built.ok()) {
    return "";
  }
  EXPECT_EQ(built.error().code(), ErrorCode::invalid_definition);
  const Json errors = Json::parse(built.error().field("errors")).value();
  std::string faults;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const Json fault = errors.item(i);
    std::vector<std::string> path;
    const Json parts = *fault.find("path");
    for (std::size_t part = 0; part < parts.size(); ++part) {
      path.emplace_back(*parts.item(part).string());
    }
    faults += (faults.empty() ? "" : " ") + path_text(path) + ":";
    faults += *fault.find("code")->string();
  }
  return faults;
}

Workflow one() { return Workflow("w"); }

// Whole workflows

TEST(WorkflowBuilder, the_example_of_the_header_gives_the_documented_workflow) {
  const auto built =
      Workflow("order")
          .version("1")
          .trigger("placed", {{"order_id", DataField::string()}, {"total", DataField::number()}})
          .step("charge", {.retry = {.max_attempts = 3, .delay = 100ms},
                           .input = {{"order", "order_id"}, {"currency", literal("EUR")}},
                           .output = "payment",
                           .compensate = {.handler = "refund"}})
          .approval("review", "Is this large order genuine?")
          .step("ship", {.queue = "slow", .lease = 60s})
          .log("refused", "order {order_id} was refused")
          .transition("charge", "review", When::path("total").greater(1000))
          .transition("charge", "ship")
          .transition("review", "ship")
          .on_error("review", "refused")
          .build();
  ASSERT_TRUE(built.ok()) << built.error().text();
  const auto parsed = Definition::parse(R"({"workflow":"order","version":"1",
      "triggers":[{"name":"placed","payload":{"order_id":"string","total":"float"}}],
      "steps":[
        {"name":"charge","retry":{"max_attempts":3,"delay":"100ms"},
         "input":{"order":"order_id","currency":{"value":"EUR"}},
         "output":"payment","compensate":"refund"},
        {"name":"review","approval":{"reason":"Is this large order genuine?"}},
        {"name":"ship","queue":"slow","lease":"60s"},
        {"name":"refused","log":"order {order_id} was refused"}],
      "transitions":[
        {"from":"charge","to":"review","when":{"path":"total","greater":1000}},
        {"from":"charge","to":"ship"},
        {"from":"review","to":"ship"},
        {"from":"review","on":"error","to":"refused"}]})");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(built.value().name(), "order");
  EXPECT_EQ(built.value().version(), "1");
  EXPECT_EQ(built.value().json(), parsed.value()->spec().view());
  EXPECT_EQ(built.value().fingerprint(), parsed.value()->fingerprint().view());
}

TEST(WorkflowBuilder, a_built_workflow_is_parsed_as_itself) {
  const auto built = one().step("a").step("b", {.after = {"a"}}).build();
  ASSERT_TRUE(built.ok());
  const auto again = Definition::parse(built.value().json());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value()->fingerprint().view(), built.value().fingerprint());
}

TEST(WorkflowBuilder, steps_with_dependencies) {
  expect_same(Workflow("order")
                  .version("1")
                  .step("charge", {.retry = {.max_attempts = 3, .delay = 100ms}})
                  .step("ship", {.after = {"charge"}, .queue = "slow", .lease = 60s}),
              R"({"workflow":"order","version":"1","steps":[
                  {"name":"charge","retry":{"max_attempts":3,"delay_ms":100}},
                  {"name":"ship","after":["charge"],"queue":"slow","lease_ms":60000}]})");
}

TEST(WorkflowBuilder, settings_of_the_workflow) {
  expect_same(one()
                  .description("does it")
                  .step("a")
                  .step("b")
                  .transition("a", "b")
                  .transition("b", "a", When::path("again").equals(true))
                  .entry("a")
                  .timeout(2h)
                  .max_visits(7)
                  .output({{"total", "sum.total"}})
                  .compensate_on_cancel(),
              R"({"workflow":"w","description":"does it","steps":[{"name":"a"},{"name":"b"}],
                  "transitions":[{"from":"a","to":"b"},
                    {"from":"b","to":"a","when":{"path":"again","equals":true}}],
                  "entry":"a","timeout":"2h","max_visits":7,"output":{"total":"sum.total"},
                  "compensate_on_cancel":true})");
}

TEST(WorkflowBuilder, a_workflow_is_a_value_that_can_be_extended) {
  Workflow first = one().step("a");
  Workflow second = first;
  second.step("b");
  EXPECT_EQ(first.steps().size(), 1U);
  EXPECT_EQ(second.steps().size(), 2U);
  expect_steps(first, R"([{"name":"a"}])");
  EXPECT_EQ(spec_of(second).steps.size(), 2U);
}

// Triggers

TEST(WorkflowBuilder, triggers) {
  using Idempotency = CronTrigger::Idempotency;
  using CatchUp = CronTrigger::CatchUp;
  expect_same(
      one()
          .trigger("by_hand")
          .cron("nightly", {.expression = "0 3 * * *", .timezone = "Europe/Berlin"})
          .cron("weekly", {.expression = "0 4 * * 1",
                           .timezone = "UTC",
                           .idempotency = Idempotency::skip_duplicate,
                           .catch_up = CatchUp::latest,
                           .payload = {{"day", DataField::string().otherwise_today()}}})
          .cron("often",
                {.expression = "* * * * *", .timezone = "UTC", .idempotency = Idempotency::none})
          .step("a"),
      R"({"workflow":"w","triggers":[{"name":"by_hand"},
                  {"name":"nightly","cron":{"expression":"0 3 * * *","timezone":"Europe/Berlin"}},
                  {"name":"weekly","cron":{"expression":"0 4 * * 1","timezone":"UTC",
                     "idempotency":"skip_duplicate","catch_up":"latest"},
                   "payload":{"day":{"type":"string","default":{"today":"iso8601"}}}},
                  {"name":"often","cron":{"expression":"* * * * *","timezone":"UTC",
                     "idempotency":"none"}}],
                  "steps":[{"name":"a"}]})");
}

TEST(WorkflowBuilder, contracts_have_fields_of_every_type) {
  expect_same(one()
                  .trigger("t", {{"s", DataField::string()},
                                 {"i", DataField::integer().otherwise(1)},
                                 {"f", DataField::number().otherwise(0.5)},
                                 {"b", DataField::boolean().optional()},
                                 {"m", DataField::map().otherwise(JsonObject().add("k", 1))},
                                 {"l", DataField::list().otherwise(JsonValue::json("[1, 2]"))},
                                 {"a", DataField::atom()},
                                 {"x", DataField::any()},
                                 {"now", DataField::string().otherwise_now()}})
                  .step("a"),
              R"({"workflow":"w","triggers":[{"name":"t","payload":{
                  "s":"string","i":{"type":"integer","default":1},
                  "f":{"type":"float","default":0.5},"b":{"type":"boolean","required":false},
                  "m":{"type":"map","default":{"k":1}},"l":{"type":"list","default":[1,2]},
                  "a":"atom","x":"any","now":{"type":"string","default":{"now":"iso8601"}}}}],
                  "steps":[{"name":"a"}]})");
}

// Settings of steps

TEST(WorkflowBuilder, handler_queue_and_limits_of_a_step) {
  expect_steps(one().step("a", {.handler = "h",
                                .queue = "q",
                                .lease = 5s,
                                .description = "does a",
                                .timeout = {.start_to_close = 30s, .schedule_to_start = 1min},
                                .max_visits = 3}),
               R"([{"name":"a","handler":"h","queue":"q","lease":"5s","description":"does a",
           "timeout":{"start_to_close":"30s","schedule_to_start":"1m"},"max_visits":3}])");
}

TEST(WorkflowBuilder, retries_by_code_inherit_omitted_settings) {
  expect_steps(one().step("a", {.retry = {.max_attempts = 4,
                                          .delay = 1s,
                                          .max_delay = 1min,
                                          .backoff = RetryBackoff::exponential,
                                          .jitter_percent = 20,
                                          .codes = {{.code = "timeout", .max_attempts = 9},
                                                    {.code = "busy",
                                                     .max_attempts = 2,
                                                     .delay = 5s,
                                                     .max_delay = 5s,
                                                     .backoff = RetryBackoff::linear,
                                                     .jitter_percent = 0}}}}),
               R"([{"name":"a","retry":{"max_attempts":4,"delay":"1s","max_delay":"1m",
                    "backoff":"exponential","jitter_percent":20,"codes":{
                      "timeout":{"max_attempts":9},
                      "busy":{"max_attempts":2,"delay":"5s","max_delay":"5s","backoff":"linear",
                              "jitter_percent":0}}}}])");
}

TEST(WorkflowBuilder, data_of_a_step) {
  expect_steps(one()
                   .step("a", {.input = {{"card", "customer.card"},
                                         {"limit", path_or("limit", 5)},
                                         {"currency", literal("EUR")},
                                         {"nothing", literal(nullptr)}},
                               .output = "out",
                               .input_schema = {{"card", DataField::string()}},
                               .output_schema = {{"ok", DataField::boolean()}}})
                   .step("b", {.input = take({"x", "y"})})
                   .step("c", {.input = {{"x", "y"}}}),
               R"([{"name":"a","input":{"card":"customer.card","limit":{"path":"limit","default":5},
             "currency":{"value":"EUR"},"nothing":{"value":null}},"output":"out",
           "input_schema":{"card":"string"},"output_schema":{"ok":"boolean"}},
          {"name":"b","input":["x","y"]},{"name":"c","input":{"x":"y"}}])");
}

TEST(WorkflowBuilder, deadlines_with_every_escalation) {
  using Escalation = StepDeadline::Escalation;
  expect_steps(
      one()
          .step("a", {.deadline = {.within = 1h}})
          .step("b", {.deadline = {.within = 1h,
                                   .due_soon = 50min,
                                   .escalate_after = 1min,
                                   .escalation = Escalation::operator_action,
                                   .target = "ops"}})
          .step(
              "c",
              {.deadline = {.within = 1h, .escalation = Escalation::workflow_step, .target = "a"}})
          .step("d", {.deadline = {.within = 1h,
                                   .escalation = Escalation::host_callback,
                                   .target = "call"}}),
      R"([{"name":"a","deadline":{"within":"1h"}},
          {"name":"b","deadline":{"within":"1h","due_soon":"50m","escalate_after":"1m",
             "escalation":"operator_action","target":"ops"}},
          {"name":"c","deadline":{"within":"1h","escalation":"workflow_step","target":"a"}},
          {"name":"d","deadline":{"within":"1h","escalation":"host_callback","target":"call"}}])");
}

TEST(WorkflowBuilder, compensation_of_a_step) {
  expect_steps(one()
                   .step("a", {.irreversible = true})
                   .step("b", {.compensatable = false})
                   .step("c", {.compensatable = true})
                   .step("d", {.compensate = {.handler = "undo"}})
                   .step("e", {.compensate = {.handler = "undo",
                                              .queue = "q",
                                              .lease = 7s,
                                              .retry = {.max_attempts = 2}}}),
               R"([{"name":"a","irreversible":true},{"name":"b","compensatable":false},
                   {"name":"c","compensatable":true},{"name":"d","compensate":"undo"},
                   {"name":"e","compensate":{"handler":"undo","queue":"q","lease":"7s",
                      "retry":{"max_attempts":2}}}])");
}

TEST(WorkflowBuilder, a_step_for_each_item) {
  expect_steps(one()
                   .step("a", {.for_each = {.items = "lines"}})
                   .step("b", {.for_each = {.items = literal(JsonValue::json("[1, \"x\"]")),
                                            .as = "line",
                                            .concurrency = 4,
                                            .on_error = ForEach::OnError::collect}}),
               R"([{"name":"a","for_each":"lines"},
          {"name":"b","for_each":{"items":[1,"x"],"as":"line","concurrency":4,
             "on_error":"collect"}}])");
}

// Kinds of steps

TEST(WorkflowBuilder, logs) {
  expect_steps(one()
                   .log("a", "hello {name}")
                   .log("b", {.message = "oh", .level = LogStep::Level::warning}, {.after = {"a"}})
                   .log("c", {.message = "oh", .level = LogStep::Level::debug})
                   .log("d", {.message = "oh", .level = LogStep::Level::error}),
               R"([{"name":"a","log":"hello {name}"},
                   {"name":"b","log":{"message":"oh","level":"warning"},"after":["a"]},
                   {"name":"c","log":{"message":"oh","level":"debug"}},
                   {"name":"d","log":{"message":"oh","level":"error"}}])");
}

TEST(WorkflowBuilder, waits) {
  const std::chrono::system_clock::time_point time(std::chrono::milliseconds(1'500));
  expect_steps(one()
                   .wait("a", 5min)
                   .wait_until("b", "order.due_at")
                   .wait_until("c", "2026-11-16T08:30:00Z", {.after = {"a"}})
                   .wait_until("d", time),
               R"([{"name":"a","wait":"5m"},{"name":"b","wait":{"until":"order.due_at"}},
                   {"name":"c","wait":{"until":"2026-11-16T08:30:00Z"},"after":["a"]},
                   {"name":"d","wait":{"until":"1970-01-01T00:00:01.500Z"}}])");
}

TEST(WorkflowBuilder, manual_steps) {
  expect_same(one()
                  .pause("a")
                  .pause("b", "look at it", {.after = {"a"}})
                  .approval("c", {}, {.output = "decision"})
                  .approval("d", "may it?")
                  .transition("c", Workflow::kComplete)
                  .on_error("c", Workflow::kFail)
                  .transition("d", Workflow::kComplete)
                  .on_error("d", Workflow::kFail),
              R"({"workflow":"w","steps":[{"name":"a","pause":true},
                  {"name":"b","pause":{"reason":"look at it"},"after":["a"]},
                  {"name":"c","approval":true,"output":"decision"},
                  {"name":"d","approval":{"reason":"may it?"}}],
                  "transitions":[{"from":"c","to":"complete"},
                    {"from":"c","on":"error","to":"fail"},{"from":"d","to":"complete"},
                    {"from":"d","on":"error","to":"fail"}]})");
}

TEST(WorkflowBuilder, events) {
  expect_steps(
      one()
          .await_event("a", "paid")
          .await_event("b", {.event = "paid", .correlation = "order_id"}, {.output = "payment"})
          .await_event("c", {.any_of = {{"paid", "order_id"}, {"cancelled", literal("all")}},
                             .timeout = 24h,
                             .on_timeout = "complete"})
          .await_event("d", {.event = "x", .any_of = {{.event = "y"}}, .timeout = 1s}),
      R"([{"name":"a","await_event":"paid"},
          {"name":"b","await_event":{"event":"paid","correlation":{"path":"order_id"}},
           "output":"payment"},
          {"name":"c","await_event":{"any_of":[
             {"event":"paid","correlation":{"path":"order_id"}},
             {"event":"cancelled","correlation":"all"}],"timeout":"24h","on_timeout":"complete"}},
          {"name":"d","await_event":{"any_of":["x","y"],"timeout":"1s"}}])");
}

TEST(WorkflowBuilder, http_requests) {
  expect_steps(one()
                   .http("a", {.url = "https://example.com/x", .allowed_hosts = {"example.com"}})
                   .http("b",
                         {.method = "POST",
                          .url = "https://example.com/x/{id}",
                          .allowed_hosts = {"example.com", "example.org"},
                          .headers = {{"Accept", "application/json"}},
                          .credential_refs = {{"Authorization", "token"}},
                          .query = {"page"},
                          .send_input = true,
                          .keep_body = true,
                          .timeout = 5s},
                         {.queue = "web", .retry = {.max_attempts = 3}}),
               R"([{"name":"a","http":{"method":"GET","url":"https://example.com/x",
             "allowed_hosts":["example.com"]}},
          {"name":"b","http":{"method":"POST","url":"https://example.com/x/{id}",
             "allowed_hosts":["example.com","example.org"],
             "headers":{"Accept":"application/json"},"credential_refs":{"Authorization":"token"},
             "query":["page"],"send_input":true,"keep_body":true,"timeout":"5s"},
           "queue":"web","retry":{"max_attempts":3}}])");
}

TEST(WorkflowBuilder, processes) {
  expect_steps(
      one()
          .exec("a", {"ls", "-l"})
          .exec("b", {"true"})
          .exec("c", {.command = {"make"}, .directory = "src", .environment = {{"CC", "gcc"}}},
                {.timeout = {.start_to_close = 1min}}),
      R"([{"name":"a","exec":["ls","-l"]},{"name":"b","exec":["true"]},
                   {"name":"c","exec":{"command":["make"],"directory":"src",
                      "environment":{"CC":"gcc"}},"timeout":"1m"}])");
}

TEST(WorkflowBuilder, children) {
  using OnParentClose = ChildStep::OnParentClose;
  expect_steps(
      one()
          .child("a", "parcel")
          .child("b", {.workflow = "parcel", .trigger = "t", .queue = "q", .key = "k"},
                 {.input = take({"id"})})
          .child("c", {.workflow = "parcel", .detached = true})
          .child("d",
                 {.workflow = "parcel", .detached = true, .on_parent_close = OnParentClose::cancel})
          .child("e", {.workflow = "parcel", .on_parent_close = OnParentClose::detach}),
      R"([{"name":"a","child":"parcel"},
          {"name":"b","child":{"workflow":"parcel","trigger":"t","queue":"q","key":"k"},
           "input":["id"]},
          {"name":"c","child":{"workflow":"parcel","detached":true}},
          {"name":"d","child":{"workflow":"parcel","detached":true,"on_parent_close":"cancel"}},
          {"name":"e","child":{"workflow":"parcel","on_parent_close":"detach"}}])");
}

// Transitions and conditions

TEST(WorkflowBuilder, routes_on_errors_have_conditions_and_labels) {
  const When declined = When::path("error.code").equals("declined");
  expect_same(one()
                  .step("a")
                  .step("b")
                  .step("c")
                  .step("d")
                  .on_error("a", "b", declined, Recovery::compensation)
                  .on_error("a", "c", When::path("vip").equals(true))
                  .on_error("a", "d", Recovery::undo)
                  .on_error("b", Workflow::kFail),
              R"({"workflow":"w","steps":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}],
                  "transitions":[
                    {"from":"a","on":"error","to":"b","recovery":"compensation",
                     "when":{"path":"error.code","equals":"declined"}},
                    {"from":"a","on":"error","to":"c","when":{"path":"vip","equals":true}},
                    {"from":"a","on":"error","to":"d","recovery":"undo"},
                    {"from":"b","on":"error","to":"fail"}]})");
}

TEST(WorkflowBuilder, every_condition_can_be_built) {
  const auto x = When::path("x.y");
  EXPECT_EQ(x.equals(nullptr).text(), R"({"path":"x.y","equals":null})");
  EXPECT_EQ(x.not_equals("a\"b").text(), R"({"path":"x.y","not_equals":"a\"b"})");
  EXPECT_EQ(x.greater(100).text(), R"({"path":"x.y","greater":100})");
  EXPECT_EQ(x.greater_or_equal(0.5).text(), R"({"path":"x.y","greater_or_equal":0.5})");
  EXPECT_EQ(x.less(-1).text(), R"({"path":"x.y","less":-1})");
  EXPECT_EQ(x.less_or_equal(UINT64_MAX).text(),
            R"({"path":"x.y","less_or_equal":18446744073709551615})");
  EXPECT_EQ(x.in({"DE", 1, true}).text(), R"({"path":"x.y","in":["DE",1,true]})");
  EXPECT_EQ(x.exists().text(), R"({"path":"x.y","exists":true})");
  EXPECT_EQ(x.missing().text(), R"({"path":"x.y","exists":false})");
  EXPECT_EQ(When::json(R"({"path": "x", "equals": {"a": 1}})").text(),
            R"({"path":"x","equals":{"a":1}})");
}

TEST(WorkflowBuilder, values_at_paths_can_be_compared) {
  const auto x = When::path("x");
  const auto y = When::path("y.z");
  EXPECT_EQ(x.equals(y).text(), R"({"path":"x","equals":{"path":"y.z"}})");
  EXPECT_EQ(x.not_equals(y).text(), R"({"path":"x","not_equals":{"path":"y.z"}})");
  EXPECT_EQ(x.greater(y).text(), R"({"path":"x","greater":{"path":"y.z"}})");
  EXPECT_EQ(x.greater_or_equal(y).text(), R"({"path":"x","greater_or_equal":{"path":"y.z"}})");
  EXPECT_EQ(x.less(y).text(), R"({"path":"x","less":{"path":"y.z"}})");
  EXPECT_EQ(x.less_or_equal(y).text(), R"({"path":"x","less_or_equal":{"path":"y.z"}})");
  EXPECT_EQ(x.in(y).text(), R"({"path":"x","in":{"path":"y.z"}})");
}

TEST(WorkflowBuilder, objects_are_always_literals) {
  const auto x = When::path("x");
  EXPECT_EQ(x.equals(JsonObject().add("path", "a")).text(),
            R"({"path":"x","equals":{"value":{"path":"a"}}})");
  EXPECT_EQ(x.equals(JsonObject().add("value", 1)).text(),
            R"({"path":"x","equals":{"value":{"value":1}}})");
  EXPECT_EQ(x.in({JsonValue::json(R"({"path":"a"})"), 1}).text(),
            R"({"path":"x","in":[{"value":{"path":"a"}},1]})");
}

TEST(WorkflowBuilder, conditions_are_joined_without_unnecessary_nesting) {
  const auto is = [](std::string_view path) { return When::path(path).exists(); };
  const std::string a = is("a").text();
  const std::string b = is("b").text();
  const std::string c = is("c").text();
  EXPECT_EQ((is("a") && is("b") && is("c")).text(), R"({"all":[)" + a + "," + b + "," + c + "]}");
  EXPECT_EQ((is("a") && (is("b") && is("c"))).text(), R"({"all":[)" + a + "," + b + "," + c + "]}");
  EXPECT_EQ(((is("a") && is("b")) || is("c")).text(),
            R"({"any":[{"all":[)" + a + "," + b + "]}," + c + "]}");
  EXPECT_EQ((!is("a") || is("b")).text(), R"({"any":[{"not":)" + a + "}," + b + "]}");
  EXPECT_EQ((!(is("a") && is("b"))).text(), R"({"not":{"all":[)" + a + "," + b + "]}}");
  When many = is("a");
  for (int i = 0; i < 50; ++i) {
    many = many && is("a");
  }
  EXPECT_EQ(faults_of(one().step("s").transition("s", Workflow::kComplete, many)), "");
}

// Faults

TEST(WorkflowBuilder, all_faults_are_reported_at_once) {
  EXPECT_EQ(faults_of(Workflow("a b")
                          .step("x", {.after = {"missing"}, .retry = {.max_attempts = 0}})
                          .log("y", "")
                          .log("z", "hello", {.queue = "q"})
                          .step("x")
                          .transition("y", "nowhere")
                          .cron("c", {.expression = "never", .timezone = "UTC"})),
            "steps[0].retry.max_attempts:invalid_step_retry_max_attempts "
            "workflow:invalid_workflow "
            "triggers[0].cron.expression:invalid_cron_expression "
            "steps[1].log.message:invalid_log_message "
            "steps[2].queue:invalid_step_opts "
            "steps[3].name:duplicate_step_name "
            "steps[0].after[0]:unknown_step_dependency "
            "transitions[0].to:unknown_transition_target");
}

TEST(WorkflowBuilder, a_negative_time_is_a_fault) {
  constexpr auto kLeast = std::chrono::milliseconds::min();
  const std::vector<Workflow> all = {
      one().step("a", {.lease = -1ms}),
      one().step("a", {.lease = kLeast}),
      one().step("a", {.retry = {.delay = -1ms}}),
      one().step("a", {.retry = {.max_delay = -1ms}}),
      one().step("a", {.retry = {.codes = {{.code = "x", .delay = -1ms}}}}),
      one().step("a", {.timeout = {.start_to_close = -1ms}}),
      one().step("a", {.timeout = {.schedule_to_start = kLeast}}),
      one().step("a", {.deadline = {.within = -1ms}}),
      one().step("a", {.deadline = {.within = 1h, .escalate_after = -1ms}}),
      one().step("a", {.compensate = {.handler = "h", .lease = -1ms}}),
      one().wait("a", -1ms),
      one().wait("a", 0ms),
      one().await_event("a", {.event = "e", .timeout = -1ms}),
      one().http("a", {.url = "https://a.b/", .allowed_hosts = {"a.b"}, .timeout = -1ms}),
      one().step("a").timeout(-1ms),
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NE(faults_of(all[i]), "") << i;
  }
}

TEST(WorkflowBuilder, invalid_json_is_a_fault_at_its_path_and_hides_no_other) {
  const std::string faults =
      faults_of(one()
                    .step("a", {.input = {{"x", literal(JsonValue::json("{"))}}})
                    .step("b", {.queue = "no name"})
                    .transition("a", "b", When::path("x").equals(JsonValue::json("1,2"))));
  EXPECT_NE(faults.find("steps[0].input:invalid_"), std::string::npos) << faults;
  EXPECT_NE(faults.find("steps[1].queue:invalid_"), std::string::npos) << faults;
  EXPECT_NE(faults.find("transitions[0].when:invalid_"), std::string::npos) << faults;
}

TEST(WorkflowBuilder, values_that_cannot_be_written_are_faults) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<JsonValue> bad = {"\xff", kNan, std::numeric_limits<double>::infinity(),
                                      JsonValue::json(""), JsonValue::json("nil")};
  for (const JsonValue& value : bad) {
    EXPECT_NE(faults_of(one().step("a", {.input = {{"x", literal(value)}}})), "") << value.text();
    EXPECT_NE(faults_of(one().step("a").transition("a", "complete", When::path("x").equals(value))),
              "");
  }
  EXPECT_NE(faults_of(one().step("a", {.input = {{"\xff", "x"}}})), "");
  EXPECT_NE(faults_of(one().step("a", {.input = {{"x", "\xff"}}})), "");
  EXPECT_NE(faults_of(one().step("a", {.input = take({"\xff"})})), "");
  EXPECT_NE(faults_of(one().step("a", {.input_schema = {{"\xff", DataField::any()}}})), "");
  EXPECT_NE(faults_of(one().step("a").description("\xff")), "");
  EXPECT_NE(faults_of(one().wait_until("a", "\xff")), "");
}

TEST(WorkflowBuilder, unfinished_parts_are_faults) {
  EXPECT_NE(faults_of(one()), "");
  EXPECT_NE(faults_of(one().step("a", {.for_each = {.as = "x"}})), "");
  EXPECT_NE(faults_of(one().step("a", {.for_each = {.items = literal("lines")}})), "");
  EXPECT_NE(faults_of(one().step("a", {.for_each = {.items = path_or("lines", nullptr)}})), "");
  EXPECT_NE(faults_of(one().step("a", {.deadline = {.due_soon = 1s}})), "");
  EXPECT_NE(faults_of(one().step("a", {.compensate = {.queue = "q"}})), "");
  EXPECT_NE(faults_of(one().await_event("a", EventStep{})), "");
  EXPECT_NE(faults_of(one().await_event("a", {.correlation = "x"})), "");
  EXPECT_NE(faults_of(one().await_event("a", {.event = "e", .correlation = literal(1)})), "");
  EXPECT_NE(faults_of(one().await_event("a", {.event = "e", .on_timeout = "fail"})), "");
  EXPECT_NE(faults_of(one().wait_until("a", "")), "");
  EXPECT_NE(faults_of(one().http("a", {})), "");
  EXPECT_NE(faults_of(one().exec("a", ExecStep{})), "");
  EXPECT_NE(faults_of(one().child("a", "")), "");
  EXPECT_NE(faults_of(one().step("a", {.input = take({})})), "");
  EXPECT_NE(faults_of(one().step("a", {.input = {{"x", ValueSource()}}})), "");
  EXPECT_NE(faults_of(one().step("a", {.input = {{"x", "y"}, {"x", "z"}}})), "");
}

}  // namespace
}  // namespace holdfast::workflow_builder_test
