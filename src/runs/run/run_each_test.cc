// Steps that are carried out for each item of a list.
#include "tests/support/run_fixture.h"

namespace holdfast::run_each_test {
namespace {

constexpr std::string_view kMail =
    R"([{"name":"mail","for_each":"people"},{"name":"last","after":["mail"]}])";
constexpr std::string_view kPeople = R"({"people":["ann","bob","cid"]})";

// One step over "list", and a fallback when it fails.
std::shared_ptr<const Definition> each_or(std::string_view step) {
  return flow(R"([)" + std::string(step) + R"(,{"name":"fallback"}])",
              R"([{"from":"mail","on":"error","to":"fallback"}])");
}

TEST(Each, every_item_is_planned_under_the_whole) {
  TestRun test(kMail);
  const RunFacts facts = test.start(kPeople);
  EXPECT_EQ(planned_steps(facts), Steps({"mail", "mail[0]", "mail[1]", "mail[2]"}));
  EXPECT_TRUE(test.run->latest("mail")->plan.is_internal());
  EXPECT_EQ(test.run->latest("mail[1]")->plan.handler, SharedText("mail"));
  EXPECT_EQ(test.key("mail[1]"), runnable_key(run_no(1), "mail[1]", 1).str());
}

TEST(Each, results_keep_the_order_of_the_items) {
  TestRun test(kMail);
  test.start(kPeople);
  test.apply("mail[2]", R"({"n":2})");
  test.apply("mail[0]", "0");
  EXPECT_EQ(kinds(test.apply("mail[1]", R"({"n":1})")),
            Kinds({"runnable_applied", "runnable_applied", "runnables_planned"}));
  EXPECT_EQ(*test.run->context_member("mail"), R"([0,{"n":1},{"n":2}])");
  EXPECT_EQ(test.run->context_member("n"), std::nullopt) << "only the whole joins the context";
  test.apply("last");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Each, the_output_of_the_step_names_the_list) {
  TestRun test(R"([{"name":"mail","for_each":[1,2],"output":"sent"}])");
  test.start();
  test.apply("mail[0]", R"({"a":1})");
  test.apply("mail[1]", R"({"a":2})");
  EXPECT_EQ(test.run->context(), json(R"({"order":7,"sent":[{"a":1},{"a":2}]})"));
}

TEST(Each, no_more_items_are_under_way_than_allowed) {
  TestRun test(R"([{"name":"mail","for_each":{"items":[0,1,2,3,4],"concurrency":2}}])");
  EXPECT_EQ(planned_steps(test.start()), Steps({"mail", "mail[0]", "mail[1]"}));
  EXPECT_EQ(planned_steps(test.apply("mail[1]", "1")), Steps({"mail[2]"}));
  EXPECT_EQ(planned_steps(test.apply("mail[2]", "2")), Steps({"mail[3]"}));
  EXPECT_EQ(planned_steps(test.apply("mail[0]", "0")), Steps({"mail[4]"}));
  EXPECT_EQ(planned_steps(test.apply("mail[4]", "4")), Steps());
  test.apply("mail[3]", "3");
  EXPECT_EQ(*test.run->context_member("mail"), "[0,1,2,3,4]");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Each, an_empty_list_is_done_at_once) {
  TestRun test(kMail);
  const RunFacts facts = test.start(R"({"people":[]})");
  EXPECT_EQ(planned_steps(facts), Steps({"mail", "last"}));
  EXPECT_EQ(test.input("last"), json(R"({"people":[],"mail":[]})"));
}

TEST(Each, a_value_that_is_not_a_list_parks_the_step) {
  for (const std::string_view input : {R"({"people":"ann"})", R"({"other":[]})"}) {
    TestRun test(kMail);
    test.start(input);
    EXPECT_EQ(test.parked_code("mail"), "invalid_items");
  }
  TestRun routed(each_or(R"({"name":"mail","for_each":"people"})"));
  EXPECT_EQ(planned_steps(routed.start()), Steps({"mail", "fallback"}));
}

TEST(Each, without_a_mapping_an_item_gets_itself_and_its_place) {
  TestRun test(kMail);
  test.start(kPeople);
  EXPECT_EQ(test.input("mail[1]"), json(R"({"item":"bob","index":1})"));
  TestRun named(R"([{"name":"mail","for_each":{"items":[{"a":1}],"as":"line"}}])");
  named.start();
  EXPECT_EQ(named.input("mail[0]"), json(R"({"line":{"a":1},"index":0})"));
}

TEST(Each, a_mapping_sees_the_item_on_top_of_the_context) {
  TestRun test(R"([{"name":"mail","for_each":{"items":"people","as":"who"},
                    "input":{"to":"who.name","order":"order","at":"index"}}])");
  test.start(R"({"order":7,"who":"hidden","people":[{"name":"ann"},{"name":"bob"}]})");
  EXPECT_EQ(test.input("mail[1]"), json(R"({"at":1,"order":7,"to":"bob"})"));
}

TEST(Each, an_item_is_retried_by_the_policy_of_its_step) {
  TestRun test(R"([{"name":"mail","for_each":[1,2],"retry":{"max_attempts":2,"delay":"50ms"}}])");
  test.start();
  const auto again = planned_runnables(test.fail("mail[0]"));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].step, SharedText("mail[0]"));
  EXPECT_EQ(again[0].visible_at, TimeMs{1050});
  EXPECT_EQ(again[0].input, json(R"({"item":1,"index":0})"));
  test.apply("mail[1]", "2");
  test.apply("mail[0]", "1");
  EXPECT_EQ(*test.run->context_member("mail"), "[1,2]");
}

TEST(Each, an_item_that_puts_itself_off_is_not_done) {
  TestRun test(R"([{"name":"mail","for_each":{"items":[1,2,3],"concurrency":2}}])");
  test.start();
  const auto again = planned_runnables(test.apply("mail[0]", "{}", R"({"defer":{}})"));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].step, SharedText("mail[0]"));
  EXPECT_EQ(again[0].input, json(R"({"item":1,"index":0})"));
  EXPECT_EQ(planned_steps(test.apply("mail[1]", "2")), Steps({"mail[2]"}));
  test.apply("mail[2]", "3");
  EXPECT_FALSE(test.run->is_terminal());
  test.apply("mail[0]", "1");
  EXPECT_EQ(*test.run->context_member("mail"), "[1,2,3]");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(EachErrors, the_first_failure_withdraws_the_others_and_fails_the_step) {
  TestRun test(kMail);
  test.start(kPeople);
  test.apply("mail[0]");
  const Attempt late = test.completed("mail[1]");
  const RunFacts facts = test.fail("mail[2]");
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "runnables_withdrawn", "run_terminal"}));
  EXPECT_EQ(the<RunnablesWithdrawn>(facts).runnable_keys,
            std::vector<SharedText>{SharedText(test.key("mail[1]"))});
  EXPECT_EQ(test.run->terminal()->error, json(R"({"code":"declined","item":2})"));
  ASSERT_TRUE(test.run->terminal()->exhausted.has_value());
  EXPECT_EQ(test.run->terminal()->exhausted->step, "mail[2]") << "not the whole";
  EXPECT_TRUE(test.put(test.applying(late)).empty()) << "it does not count any more";
}

TEST(EachErrors, the_step_fails_along_its_error_route) {
  TestRun test(each_or(R"({"name":"mail","for_each":{"items":[1,2,3],"concurrency":2}})"));
  test.start();
  const RunFacts facts = test.fail("mail[0]");
  EXPECT_EQ(planned_steps(facts), Steps({"fallback"}));
  EXPECT_EQ(test.run->latest("mail[2]"), nullptr);
  EXPECT_EQ(test.input("fallback"), json(R"({"order":7,"error":{"code":"declined","item":0}})"));
  test.apply("fallback");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(EachErrors, a_step_that_failed_begins_no_more_items) {
  TestRun test(each_or(R"({"name":"mail","for_each":"people","input":{"to":"item.name"}})"));
  const RunFacts facts = test.start(R"({"people":[{},{"name":"bob"},{}]})");
  EXPECT_EQ(planned_steps(facts), Steps({"mail", "mail[0]", "fallback"}));
  EXPECT_NE(test.run->context_member("error")->find("missing_input_path"), std::string::npos);
  test.apply("fallback");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(EachErrors, errors_can_be_collected_in_their_places) {
  TestRun test(R"([{"name":"mail","for_each":{"items":[0,1,2],"on_error":"collect"}}])");
  test.start();
  test.fail("mail[1]", R"({"code":"bounced"})");
  test.apply("mail[0]", "0");
  test.apply("mail[2]", "2");
  EXPECT_EQ(*test.run->context_member("mail"), R"([0,{"error":{"code":"bounced"}},2])");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(EachErrors, collecting_continues_with_the_next_items) {
  TestRun test(
      R"([{"name":"mail","for_each":{"items":[0,1,2],"on_error":"collect","concurrency":1}}])");
  test.start();
  EXPECT_EQ(planned_steps(test.fail("mail[0]")), Steps({"mail[1]"}));
  EXPECT_EQ(planned_steps(test.fail("mail[1]")), Steps({"mail[2]"}));
  test.fail("mail[2]");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(EachErrors, items_that_cannot_begin_are_collected_too) {
  TestRun test(R"([{"name":"mail","for_each":{"items":"people","on_error":"collect"},
                    "input":{"to":"item.name"}}])");
  const RunFacts facts = test.start(R"({"people":[{},{"name":"bob"},{},{"name":"dan"}]})");
  EXPECT_EQ(planned_steps(facts), Steps({"mail", "mail[0]", "mail[1]", "mail[2]", "mail[3]"}))
      << "each once";
  test.apply("mail[3]", "3");
  test.apply("mail[1]", "1");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
  const std::string_view results = *test.run->context_member("mail");
  EXPECT_TRUE(results.starts_with(R"([{"error":{"code":"missing_input_path")")) << results;
  EXPECT_TRUE(results.ends_with(",3]")) << results;
}

TEST(EachErrors, a_long_list_of_items_that_cannot_begin_ends) {
  std::string people = "{}";
  for (int i = 0; i < 20'000; ++i) {
    people += ",{}";
  }
  const auto definition =
      definition_of(R"([{"name":"mail","for_each":{"items":"people","on_error":"collect"},
                         "input":{"to":"item.name"}}])");
  RunProjection run(run_no(1));
  StartRun command;
  command.run_id = run.run_id();
  command.definition = definition;
  command.input = json(R"({"people":[)" + people + "]}");
  ASSERT_TRUE(decide_start(run, command, nothing_around(), TimeMs{1000}).ok());
  EXPECT_EQ(run.status(), RunStatus::completed);
}

TEST(EachVisits, each_visit_has_its_own_items) {
  TestRun test(flow(R"([{"name":"mail","for_each":"people"},{"name":"more"}])",
                    R"([{"from":"mail","to":"more"},
                        {"from":"more","to":"mail","when":{"path":"again","equals":true}},
                        {"from":"more","to":"complete"}])",
                    R"("entry":"mail")"));
  test.start(R"({"people":["ann"]})");
  test.apply("mail[0]", "1");
  EXPECT_EQ(planned_steps(test.apply("more", R"({"again":true,"people":["bob","cid"]})")),
            Steps({"mail@2", "mail@2[0]", "mail@2[1]"}));
  EXPECT_EQ(test.input("mail@2[1]"), json(R"({"item":"cid","index":1})"));
  test.apply("mail@2[1]", "3");
  EXPECT_EQ(planned_steps(test.apply("mail@2[0]", "2")), Steps({"more@2"}));
  EXPECT_EQ(*test.run->context_member("mail"), "[2,3]");
  EXPECT_EQ(test.run->visits("mail"), 2U);
}

class EachChild : public ::testing::Test {
 protected:
  EachChild() {
    test_.around.workflows.emplace("parcel", definition_of(R"([{"name":"one"}])", "parcel"));
    test_.start(R"({"parcels":[{"kg":1},{"kg":2}]})");
  }
  RunFacts end(std::string_view item, TerminalStatus status, std::string_view result) {
    ChildEnd ended{run_no(9), status, json(result), {}};
    return test_.child_ended(test_.key(item), ended);
  }

  TestRun test_{R"([{"name":"send","for_each":"parcels","child":"parcel",
                     "input":{"kg":"item.kg"},"retry":{"max_attempts":2}}])"};
};

TEST_F(EachChild, each_item_has_its_own_child) {
  ASSERT_EQ(test_.run->children().size(), 2U);
  std::set<std::string> steps;
  std::set<std::string> inputs;
  for (const auto& [id, child] : test_.run->children()) {
    steps.insert(child.origin.step.str());
    inputs.emplace(child.input.view());
  }
  EXPECT_EQ(steps, (std::set<std::string>{"send[0]", "send[1]"}));
  EXPECT_EQ(inputs, (std::set<std::string>{R"({"kg":1})", R"({"kg":2})"}));
}

TEST_F(EachChild, results_of_the_children_are_those_of_the_items) {
  end("send[1]", TerminalStatus::completed, R"({"b":2})");
  end("send[0]", TerminalStatus::completed, R"({"a":1})");
  EXPECT_EQ(*test_.run->context_member("send"), R"([{"a":1},{"b":2}])");
  EXPECT_EQ(test_.run->status(), RunStatus::completed);
}

TEST_F(EachChild, a_child_that_failed_is_tried_again_as_another_one) {
  end("send[1]", TerminalStatus::failed, "");
  EXPECT_EQ(test_.run->children().size(), 3U);
  end("send[0]", TerminalStatus::completed, "0");
  end("send[1]", TerminalStatus::completed, "1");
  EXPECT_EQ(*test_.run->context_member("send"), "[0,1]");
}

TEST_F(EachChild, an_item_that_begins_later_is_done_when_its_child_is) {
  TestRun test(R"([{"name":"ask"},{"name":"send","for_each":[1,2],"child":"other",
                    "after":["ask"]}])");
  test.around.workflows.emplace("other", definition_of(R"([{"name":"one"}])", "other"));
  test.start();
  test.apply("ask", "{}", R"({"schedule_in_ms":500})");
  EXPECT_TRUE(test.run->children().empty());
  test.fire(test.key("send[0]") + ":begin");
  test.fire(test.key("send[1]") + ":begin");
  EXPECT_EQ(test.run->children().size(), 2U);
  EXPECT_FALSE(test.run->is_terminal());
  test.child_ended(test.key("send[0]"), {run_no(8), TerminalStatus::completed, json("1"), {}});
  EXPECT_FALSE(test.run->is_terminal());
  test.child_ended(test.key("send[1]"), {run_no(9), TerminalStatus::completed, json("2"), {}});
  EXPECT_EQ(*test.run->context_member("send"), "[1,2]");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST_F(EachChild, a_child_that_was_withdrawn_before_it_began_never_begins) {
  TestRun test(flow(R"([{"name":"ask"},{"name":"send","for_each":[1,2],"child":"parcel"},
                        {"name":"fallback"}])",
                    R"([{"from":"ask","to":"send"},
                        {"from":"send","on":"error","to":"fallback"}])"));
  test.start();
  test.apply("ask", "{}", R"({"schedule_in_ms":500})");
  const std::string second = test.key("send[1]") + ":begin";
  test.fire(test.key("send[0]") + ":begin");
  EXPECT_NE(test.run->latest("fallback"), nullptr) << "there is no such workflow";
  test.around.workflows = test_.around.workflows;
  test.fire(second);
  EXPECT_TRUE(test.run->children().empty());
  test.apply("fallback");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

}  // namespace
}  // namespace holdfast::run_each_test
