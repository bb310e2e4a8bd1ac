#include "workflow/definition.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "tests/support/test_log.h"

namespace holdfast {
namespace {

using DefinitionPtr = std::shared_ptr<const Definition>;

WorkflowSpec spec_of(std::vector<StepSpec> steps) { return {"order", "1", std::move(steps)}; }

StepSpec step(const std::string& name, std::vector<SharedText> after = {}) {
  StepSpec spec;
  spec.name = name;
  spec.after = std::move(after);
  return spec;
}

std::string faults_of(const Result<DefinitionPtr>& result) {
  EXPECT_EQ(code_of(result), "invalid_definition");
  if (result.ok()) {
    return "";
  }
  const std::string faults(result.error().field("errors"));
  EXPECT_NE(result.error().message().find(faults), std::string::npos);
  return faults;
}

std::string faults_of(std::vector<StepSpec> steps) {
  return faults_of(Definition::create(spec_of(std::move(steps))));
}

std::string parse_faults(std::string_view text) { return faults_of(Definition::parse(text)); }

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
  EXPECT_EQ(left.lease_ms, 7U);
  EXPECT_EQ(left.dependents, Indexes{0});
  EXPECT_EQ(diamond->steps()[2].retry, (RetryPolicy{3, 100, 250, Backoff::exponential}));
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
  others[3].lease_ms = 1;
  others[4].retry.max_attempts = 2;
  others[5].retry.delay_ms = 1;
  others[6].retry.backoff = Backoff::linear;
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
  untried.retry.max_attempts = 0;
  untried.lease_ms = kMaxDurationMs + 1;
  StepSpec odd = step("b");
  odd.queue = "two words";
  odd.handler = "_h";
  WorkflowSpec spec = spec_of({step("b ad"), odd, step("b"), untried});
  spec.workflow = "";
  const std::string faults = faults_of(Definition::create(spec));
  for (const std::string_view part :
       {"workflow", "b ad", "two words", "_h", "two steps have the name b", "after itself",
        "b twice", "after x, which does not exist", "max_attempts is 0", "lease_ms"}) {
    EXPECT_NE(faults.find(part), std::string::npos) << part << " in: " << faults;
  }
  EXPECT_EQ(std::count(faults.begin(), faults.end(), ';'), 9);
}

TEST(Definition, needs_steps) {
  EXPECT_EQ(faults_of(std::vector<StepSpec>{}), "there are no steps");
}

TEST(Definition, finds_cycles_and_shows_their_way) {
  EXPECT_EQ(faults_of({step("a", {"c"}), step("b", {"a"}), step("c", {"b"})}),
            "a cycle: a -> b -> c -> a");
  const std::string two = faults_of({step("start"), step("a", {"b", "start"}), step("b", {"a"}),
                                     step("behind", {"a"}), step("x", {"y"}), step("y", {"x"})});
  EXPECT_EQ(two, "a cycle: a -> b -> a; a cycle: x -> y -> x");
}

TEST(Definition, a_chain_of_100000_steps_is_no_problem) {
  constexpr std::size_t kSteps = 100'000;
  std::vector<StepSpec> steps;
  for (std::size_t i = 0; i < kSteps; ++i) {
    steps.push_back(step("s" + std::to_string(i)));
    if (i > 0) {
      steps.back().after = {steps[i - 1].name};
    }
  }
  const DefinitionPtr chain = must(Definition::create(spec_of(steps)));
  EXPECT_EQ(chain->roots(), Indexes{0});
  EXPECT_EQ(must(Definition::parse(chain->spec().view()))->fingerprint(), chain->fingerprint());

  steps[0].after = {steps.back().name};
  const std::string faults = faults_of(steps);
  EXPECT_NE(faults.find("(99992 more)"), std::string::npos) << faults.substr(0, 300);
  EXPECT_LT(faults.size(), 300U);
}

TEST(Definition, a_field_that_nobody_knows_is_refused_by_name_at_every_level) {
  const std::string faults = parse_faults(
      R"({"workflow":"order","step":[],"steps":[{"name":"a","afer":["b"],"retry":{"max":1}}]})");
  for (const std::string_view part : {"step: ", "steps[0].afer: ", "steps[0].retry.max: "}) {
    EXPECT_NE(faults.find(part), std::string::npos) << faults;
  }
  EXPECT_EQ(std::count(faults.begin(), faults.end(), ';'), 2);
}

TEST(Definition, unknown_fields_do_not_hide_the_other_faults) {
  const std::string faults =
      parse_faults(R"({"workflow":"order","more":1,"steps":[{"name":"a","after":["b"]}]})");
  EXPECT_EQ(faults, "more: there is no such field; step a comes after b, which does not exist");
}

TEST(Definition, a_field_that_is_there_twice_is_refused) {
  EXPECT_EQ(parse_faults(R"({"workflow":"order","steps":[{"name":"a","n\u0061me":"b"}]})"),
            "steps[0].name: is there twice");
}

TEST(Definition, fields_of_another_type_are_named_with_their_place) {
  const std::string faults = parse_faults(
      R"({"workflow":7,"steps":[{"name":"a","after":"b"},[],{"after":[1],"lease_ms":-1,
          "retry":{"backoff":"random","max_attempts":1.5}},{"name":"c","retry":[]}]})");
  for (const std::string_view part :
       {"workflow: is not a text", "steps[0].after: is not a list", "steps[1]: is not an object",
        "steps[2].name: is missing", "steps[2].after[0]: is not a text",
        "steps[2].lease_ms: is not a whole number", "steps[2].retry.backoff: is none of",
        "steps[2].retry.max_attempts: is not a whole number", "steps[3].retry: is not an object"}) {
    EXPECT_NE(faults.find(part), std::string::npos) << part << " in: " << faults;
  }
}

TEST(Definition, text_that_is_no_spec_is_refused) {
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

TEST(RetryPolicy, delays_follow_the_backoff) {
  const auto delays = [](const RetryPolicy& policy) {
    std::vector<std::uint64_t> all;
    for (std::uint32_t n = 1; n <= 4; ++n) {
      all.push_back(retry_delay_ms(policy, n));
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
}  // namespace holdfast
