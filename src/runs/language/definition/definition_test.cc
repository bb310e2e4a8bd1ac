#include "runs/language/definition/definition.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/hash.h"
#include "tests/support/must.h"

namespace holdfast::definition_test {
namespace {

using DefinitionPtr = std::shared_ptr<const Definition>;

WorkflowSpec spec_of(std::vector<StepSpec> steps) {
  WorkflowSpec spec;
  spec.workflow = "order";
  spec.version = "1";
  spec.steps = std::move(steps);
  return spec;
}

StepSpec step(const std::string& name, std::vector<SharedText> after = {}) {
  StepSpec spec;
  spec.name = name;
  spec.after = std::move(after);
  return spec;
}

std::string faults_of(const Result<DefinitionPtr>& result) {
  EXPECT_EQ(code_of(result), "invalid_definition");
  return result.ok() ? "" : result.error().message();
}

std::string faults_of(std::vector<StepSpec> steps) {
  return faults_of(Definition::create(spec_of(std::move(steps))));
}

std::string parse_faults(std::string_view text) { return faults_of(Definition::parse(text)); }

std::string codes_of(std::string_view text) {
  std::string codes;
  for (const DefinitionFault& fault : Definition::check(text)) {
    codes += (codes.empty() ? "" : " ") + path_text(fault.path) + ":" + fault.code;
  }
  return codes;
}

using Indexes = std::vector<StepIndex>;

TEST(Definition, knows_the_graph_of_its_steps) {
  const DefinitionPtr diamond = must(Definition::parse(
      R"({"workflow":"order","version":"2","steps":[
          {"name":"join","after":["left","right"]},
          {"name":"left","after":["root"],"handler":"h","queue":"slow","lease_ms":7},
          {"name":"right","after":["root"],"retry":{"max_attempts":3,"delay_ms":100,
             "max_delay_ms":250,"backoff":"exponential"}},
          {"name":"root"}]})"));
  EXPECT_EQ(diamond->workflow().view(), "order");
  EXPECT_EQ(diamond->version().view(), "2");
  ASSERT_EQ(diamond->steps().size(), 4U);
  EXPECT_EQ(diamond->roots(), Indexes{3});
  const Step& join = diamond->steps()[0];
  const Step& left = diamond->steps()[1];
  EXPECT_EQ(join.after, (Indexes{1, 2}));
  EXPECT_TRUE(join.dependents.empty());
  EXPECT_EQ(join.handler.view(), "join");
  EXPECT_EQ(join.retry, RetryPolicy{});
  EXPECT_EQ(left.handler.view(), "h");
  EXPECT_EQ(left.queue.view(), "slow");
  EXPECT_EQ(left.spec.policy.claim.lease_ms, 7U);
  EXPECT_EQ(left.dependents, Indexes{0});
  EXPECT_EQ(diamond->steps()[2].retry, (RetryPolicy{{3, 100, 250, Backoff::exponential}, {}}));
  EXPECT_EQ(diamond->steps()[3].dependents, (Indexes{1, 2}));
  EXPECT_EQ(diamond->find("right"), StepIndex{2});
  EXPECT_EQ(diamond->find("other"), std::nullopt);
}

TEST(Definition, its_fingerprint_is_that_of_its_one_canonical_spec) {
  const DefinitionPtr first = must(Definition::parse(
      R"({"workflow":"order","steps":[{"name":"a","handler":"a"},{"name":"b","after":["a"]}]})"));
  const DefinitionPtr second = must(Definition::parse(
      R"( {"steps": [ {"after":[],"name":"\u0061","lease_ms":0,"queue":null,
           "retry":{"backoff":"fixed","max_attempts":1}},
           {"after": ["a"], "name":"b"} ], "workflow": "order"} )"));
  EXPECT_EQ(first->spec(), second->spec());
  EXPECT_EQ(first->fingerprint(), second->fingerprint());
  EXPECT_EQ(first->fingerprint().view(), to_hex(sha256(first->spec().view())));
  EXPECT_EQ(must(Definition::parse(first->spec().view()))->fingerprint(), first->fingerprint());
}

TEST(Definition, every_change_of_the_spec_changes_the_fingerprint) {
  StepSpec plain = step("a");
  std::vector<StepSpec> others(7, plain);
  others[0].name = "b";
  others[1].handler = "h";
  others[2].queue = "q";
  others[3].policy.claim.lease_ms = 1;
  others[4].retry.rule.max_attempts = 2;
  others[5].retry.rule.delay_ms = 1;
  others[6].retry.rule.backoff = Backoff::linear;
  const DefinitionPtr original = must(Definition::create(spec_of({plain})));
  for (const StepSpec& other : others) {
    EXPECT_NE(must(Definition::create(spec_of({other})))->fingerprint(), original->fingerprint());
  }
  WorkflowSpec newer = spec_of({plain});
  newer.version = "2";
  EXPECT_NE(must(Definition::create(newer))->fingerprint(), original->fingerprint());
}

TEST(Definition, names_every_fault_at_once) {
  StepSpec untried = step("c", {"c", "b", "b", "x"});
  untried.retry.rule.max_attempts = 0;
  untried.policy.claim.lease_ms = kMaxDurationMs + 1;
  StepSpec odd = step("b");
  odd.queue = "two words";
  odd.handler = "_h";
  WorkflowSpec spec = spec_of({step("b ad"), odd, step("b"), untried});
  spec.workflow = "";
  const std::string faults = faults_of(Definition::create(spec));
  for (const std::string_view part :
       {"the workflow: workflow is missing", "steps[0]: name is \"b ad\"", "queue is \"two words\"",
        "handler is \"_h\"", "step \"b\": name is already used by an earlier step",
        "after[0] names the step itself", "after[2] names \"b\" twice",
        "after[3] names unknown step \"x\"", "step \"c\": retry.max_attempts must be at least 1",
        "lease_ms is longer than 100 years"}) {
    EXPECT_NE(faults.find(part), std::string::npos) << part << " in: " << faults;
  }
  const Error error = Definition::create(spec).error();
  const Json list = Json::parse(error.field("errors")).value();
  EXPECT_EQ(list.size(), 10U) << faults;
}

TEST(Definition, a_fault_in_one_part_does_not_hide_those_of_the_others) {
  EXPECT_EQ(codes_of(R"({"workflow":"w","more":1,"triggers":[7],"steps":[{"name":"a","wait":0},
              {"name":"b","after":["x"]},{"after":[1],"lease_ms":-1}],
              "transitions":[{"from":"a","to":"y"}],"entry":"z"})"),
            "triggers[0]:invalid_trigger steps[0].wait:invalid_wait_duration "
            "steps[2].name:invalid_step_name steps[2].lease_ms:invalid_step_opts "
            "steps[2].after[0]:invalid_step_dependencies more:invalid_spec "
            "steps[1].after[0]:unknown_step_dependency "
            "transitions[0].to:unknown_transition_target entry:unknown_entry_step");
}

TEST(Definition, finds_cycles_and_shows_their_steps) {
  EXPECT_EQ(faults_of({step("a", {"c"}), step("b", {"a"}), step("c", {"b"})}),
            "the definition cannot be used: step \"a\": after closes a cycle: a -> b -> c -> a");
  const std::string two = faults_of({step("start"), step("a", {"b", "start"}), step("b", {"a"}),
                                     step("behind", {"a"}), step("x", {"y"}), step("y", {"x"})});
  EXPECT_EQ(two,
            "the definition cannot be used: step \"a\": after closes a cycle: a -> b -> a; "
            "step \"x\": after closes a cycle: x -> y -> x");
}

std::vector<StepSpec> chain_of(std::size_t count) {
  std::vector<StepSpec> steps;
  for (std::size_t i = 0; i < count; ++i) {
    steps.push_back(step("s" + std::to_string(i)));
    if (i > 0) {
      steps.back().after = {steps[i - 1].name};
    }
  }
  return steps;
}

TEST(Definition, a_chain_of_10000_steps_is_valid) {
  constexpr std::size_t kSteps = 10'000;
  std::vector<StepSpec> steps = chain_of(kSteps);
  const DefinitionPtr chain = must(Definition::create(spec_of(steps)));
  EXPECT_EQ(chain->roots(), Indexes{0});
  EXPECT_EQ(must(Definition::parse(chain->spec().view()))->fingerprint(), chain->fingerprint());

  steps[0].after = {steps.back().name};
  const std::string faults = faults_of(steps);
  EXPECT_NE(faults.find("(9992 more)"), std::string::npos) << faults.substr(0, 300);
  EXPECT_LT(faults.size(), 300U);

  const std::string too_many = faults_of(chain_of(kSteps + 1));
  EXPECT_NE(too_many.find("steps has 10001 items; the limit is 10000"), std::string::npos)
      << too_many;
}

TEST(Definition, an_unknown_field_is_refused_by_name_at_every_level) {
  EXPECT_EQ(codes_of(R"({"workflow":"order","step":[],
              "steps":[{"name":"a","afer":["b"],"retry":{"max":1}}]})"),
            "steps[0].retry.max:invalid_step_retry_opts steps[0].afer:invalid_step_opts "
            "step:invalid_spec");
}

TEST(Definition, a_duplicate_field_is_refused) {
  EXPECT_EQ(codes_of(R"({"workflow":"order","steps":[{"name":"a","n\u0061me":"b"}]})"),
            "steps[0].name:invalid_step");
}

TEST(Definition, fields_of_another_type_are_named_with_their_location) {
  const std::string faults = parse_faults(
      R"({"workflow":7,"steps":[{"name":"a","after":7},[],{"after":[1],"lease_ms":-1,
          "retry":{"backoff":"random","max_attempts":1.5}},{"name":"c","retry":[]}]})");
  for (const std::string_view part :
       {"workflow is a number, not a string", "step \"a\": after is a number, not a list",
        "steps[1] is a list, not an object", "steps[2]: name is missing",
        "steps[2]: after[0] is a number, not a string",
        "steps[2]: lease_ms must be a whole number of milliseconds",
        "steps[2]: retry.backoff must be one of fixed, linear, exponential",
        "steps[2]: retry.max_attempts must be a whole number of at least 1",
        "step \"c\": retry is a list, not an object"}) {
    EXPECT_NE(faults.find(part), std::string::npos) << part << " in: " << faults;
  }
}

TEST(Definition, text_that_is_not_a_spec_is_refused) {
  for (const std::string_view text : {"", "{", "[]", "7", "{} {}", R"({"workflow":"order"})"}) {
    EXPECT_FALSE(parse_faults(text).empty()) << text;
  }
}

TEST(Definition, the_version_is_a_short_text) {
  WorkflowSpec spec = spec_of({step("a")});
  spec.version = std::string(128, 'v');
  EXPECT_TRUE(Definition::create(spec).ok());
  spec.version = std::string(129, 'v');
  EXPECT_FALSE(Definition::create(spec).ok());
  spec.version = "\xff";
  EXPECT_FALSE(Definition::create(spec).ok());
}

TEST(Definition, a_spec_from_a_program_is_checked_like_a_text) {
  StepSpec waiting = step("a");
  waiting.wait.emplace();
  EXPECT_NE(faults_of({waiting}).find("needs for or until"), std::string::npos);
  StepSpec broken = step("a");
  broken.input = Payload::trusted("[\"x\"");
  EXPECT_NE(faults_of({broken}).find("step \"a\": input is not valid"), std::string::npos);
  StepSpec latin = step("a");
  latin.exec.emplace().command = {"echo", "\xe4"};
  EXPECT_NE(faults_of({latin}).find("step \"a\": exec.command[1] is not valid UTF-8"),
            std::string::npos);
  StepSpec routed = step("a");
  routed.retry.codes = {{"x", {.max_attempts = 0}}};
  EXPECT_NE(faults_of({routed}).find("step \"a\": retry.codes[0].max_attempts must be at least 1"),
            std::string::npos);
}

// Definitions that earlier versions stored keep their names, or none of their runs could continue.
TEST(Definition, stored_definitions_keep_their_fingerprints) {
  std::ifstream file(HOLDFAST_COMPAT_FOLDER "/engine-1.jsonl");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    const Json entry = must(Json::parse(line));
    const auto kind = entry.find("kind");
    if (!kind.has_value() || kind->string() != "definition_registered") {
      continue;
    }
    const auto fingerprint = entry.find("data")->find("fingerprint")->string();
    const auto spec = line.find(R"("spec":)") + 7;
    const std::string text = line.substr(spec, line.size() - spec - 2);
    const DefinitionPtr parsed = must(Definition::parse(text));
    ++count;
    EXPECT_EQ(parsed->fingerprint().view(), fingerprint);
    EXPECT_EQ(parsed->spec().view(), text);
  }
  EXPECT_GE(count, 3U);
}

TEST(Definition, finds_steps_by_the_names_of_their_visits_and_items) {
  const DefinitionPtr one = must(Definition::create(spec_of({step("x"), step("a.b-2")})));
  for (const std::string_view name : {"a.b-2", "a.b-2@2", "a.b-2[7]", "a.b-2@12[0]"}) {
    EXPECT_EQ(one->find(name), StepIndex{1}) << name;
  }
  for (const std::string_view name :
       {"", "@2", "a.b-2@", "a.b-2[]", "a.b-2[7", "a.b-2[7]x", "a.b-2@x", "a.b-2[1]@2", "a.b"}) {
    EXPECT_EQ(one->find(name), std::nullopt) << name;
  }
}

TEST(Definition, without_triggers_there_is_a_manual_one) {
  const DefinitionPtr plain = must(Definition::create(spec_of({step("a")})));
  ASSERT_EQ(plain->triggers().size(), 1U);
  EXPECT_EQ(plain->triggers()[0].spec.name.view(), "manual");
  EXPECT_FALSE(plain->triggers()[0].contract.has_value());
  EXPECT_EQ(plain->find_trigger(""), plain->triggers().data());
  EXPECT_EQ(plain->find_trigger("manual"), plain->triggers().data());
  EXPECT_EQ(plain->find_trigger("cron"), nullptr);
  EXPECT_EQ(plain->spec().view().find("triggers"), std::string_view::npos);
}

TEST(Definition, triggers_have_their_contracts) {
  const DefinitionPtr two = must(Definition::parse(R"({"workflow":"w","steps":[{"name":"a"}],
      "triggers":[{"name":"by_hand","manual":{},"payload":{"x":"string"}},
                  {"name":"nightly","cron":{"expression":"0 3 * * *","timezone":"Europe/Berlin",
                   "idempotency":"skip_duplicate","catch_up":"latest"}}]})"));
  const Trigger* by_hand = two->find_trigger("by_hand");
  const Trigger* nightly = two->find_trigger("nightly");
  ASSERT_NE(by_hand, nullptr);
  ASSERT_NE(nightly, nullptr);
  EXPECT_EQ(two->find_trigger(""), by_hand);
  ASSERT_TRUE(by_hand->contract.has_value());
  EXPECT_EQ(by_hand->contract->fields().size(), 1U);
  EXPECT_FALSE(by_hand->spec.cron.has_value());
  ASSERT_TRUE(nightly->spec.cron.has_value());
  EXPECT_EQ(nightly->spec.cron->idempotency, CronIdempotency::skip_duplicate);
  EXPECT_EQ(nightly->spec.cron->catch_up, CatchUp::latest);
}

TEST(Definition, steps_know_their_kind_and_their_handler) {
  const DefinitionPtr all = must(Definition::parse(R"({"workflow":"w","max_visits":7,"steps":[
      {"name":"plain"},{"name":"other","handler":"h","max_visits":3},{"name":"log","log":"x"},
      {"name":"wait","wait":5},{"name":"pause","pause":true},{"name":"approval","approval":{}},
      {"name":"await","await_event":"x"},{"name":"exec","exec":["x"]},{"name":"child","child":"w"},
      {"name":"http","http":{"method":"get","url":"http://[::1]:80/{id}","allowed_hosts":["[::1]"]}}
      ]})"));
  const std::vector<std::pair<StepKind, std::string_view>> expected = {
      {StepKind::handler, "plain"},  {StepKind::handler, "h"},       {StepKind::log, ""},
      {StepKind::wait, ""},          {StepKind::pause, ""},          {StepKind::approval, ""},
      {StepKind::await_event, ""},   {StepKind::exec, kExecHandler}, {StepKind::child, ""},
      {StepKind::http, kHttpHandler}};
  ASSERT_EQ(all->steps().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(all->steps()[i].kind, expected[i].first) << i;
    EXPECT_EQ(all->steps()[i].handler.view(), expected[i].second) << i;
    EXPECT_EQ(all->steps()[i].max_visits, i == 1 ? 3U : 7U) << i;
  }
  EXPECT_EQ(all->steps()[9].spec.http->method.view(), "GET");
}

TEST(RetryPolicy, a_code_may_have_its_own_rule) {
  const DefinitionPtr one = must(Definition::parse(R"({"workflow":"w","steps":[{"name":"a",
      "retry":{"max_attempts":3,"delay":"1s","codes":{"z":{"max_attempts":1},
      "busy":{"delay_ms":0,"backoff":"linear"}}}}]})"));
  const RetryPolicy& policy = one->steps()[0].retry;
  EXPECT_EQ(rule_for(policy, "other"), (RetryRule{3, 1000}));
  EXPECT_EQ(rule_for(policy, "z"), (RetryRule{1, 1000}));
  EXPECT_EQ(rule_for(policy, "busy"), (RetryRule{3, 0, 0, Backoff::linear}));
  ASSERT_EQ(policy.codes.size(), 2U);
  EXPECT_EQ(policy.codes[0].code.view(), "busy");
  EXPECT_EQ(must(Definition::parse(one->spec().view()))->steps()[0].retry, policy);
}

TEST(RetryPolicy, delays_follow_the_backoff) {
  const auto delays = [](const RetryRule& rule) {
    std::vector<std::uint64_t> all;
    for (std::uint32_t n = 1; n <= 4; ++n) {
      all.push_back(retry_delay_ms(rule, n));
    }
    return all;
  };
  using Delays = std::vector<std::uint64_t>;
  EXPECT_EQ(delays({9, 100, 0, Backoff::fixed}), (Delays{100, 100, 100, 100}));
  EXPECT_EQ(delays({9, 100, 0, Backoff::linear}), (Delays{100, 200, 300, 400}));
  EXPECT_EQ(delays({9, 100, 0, Backoff::exponential}), (Delays{100, 200, 400, 800}));
  EXPECT_EQ(delays({9, 100, 250, Backoff::exponential}), (Delays{100, 200, 250, 250}));
  EXPECT_EQ(delays({9, 100, 50, Backoff::fixed}), (Delays{50, 50, 50, 50}));
  EXPECT_EQ(delays({9, 0, 0, Backoff::exponential}), (Delays{0, 0, 0, 0}));
}

TEST(RetryPolicy, delays_never_overflow) {
  for (const Backoff backoff : {Backoff::linear, Backoff::exponential}) {
    EXPECT_EQ(retry_delay_ms({9, kMaxDurationMs, 0, backoff}, UINT32_MAX), kMaxDurationMs);
    EXPECT_EQ(retry_delay_ms({9, 3, UINT64_MAX, backoff}, 64),
              backoff == Backoff::linear ? 192 : kMaxDurationMs);
  }
  EXPECT_EQ(retry_delay_ms({9, 5, 0, Backoff::linear}, 0), 5U);
}

}  // namespace
}  // namespace holdfast::definition_test
