// Steps that are runs of their own.
#include "tests/support/run_fixture.h"

namespace holdfast::run_children_test {
namespace {

std::shared_ptr<const Definition> parcel(std::string_view contract = R"({"kg":"integer"})") {
  return parsed(R"({"workflow":"parcel","steps":[{"name":"one"}],"triggers":[)"
                R"({"name":"api","manual":true,"payload":)" +
                std::string(contract) + R"(},{"name":"night","manual":true}]})");
}

// send is a child; then last.
std::string sending(std::string_view child, std::string_view more = "") {
  return R"([{"name":"send","child":)" + std::string(child) + R"(,"input":["kg"])" +
         std::string(more) + R"(},{"name":"last","after":["send"]}])";
}

std::unique_ptr<TestRun> started(std::shared_ptr<const Definition> definition,
                                 std::string_view input = R"({"kg":3,"other":1})") {
  auto test = std::make_unique<TestRun>(std::move(definition));
  test->around.workflows.emplace("parcel", parcel());
  test->start(input);
  return test;
}

ChildRunStarted only_child(const TestRun& test) {
  EXPECT_EQ(test.run->children().size(), 1U);
  return test.run->children().empty() ? ChildRunStarted{} : test.run->children().begin()->second;
}

ChildEnd completed(std::string_view result) {
  return {run_no(9), TerminalStatus::completed, json(result), {}};
}
ChildEnd failed() { return {run_no(9), TerminalStatus::failed, {}, json(R"({"code":"lost"})")}; }

TEST(Children, a_step_starts_its_child_and_waits_for_it) {
  const auto test = started(definition_of(sending(R"("parcel")")));
  const ChildRunStarted child = only_child(*test);
  EXPECT_EQ(child.child_workflow, SharedText("parcel"));
  EXPECT_EQ(child.child_trigger, SharedText("api")) << "the first of the child";
  EXPECT_EQ(child.child_key, SharedText("send"));
  EXPECT_EQ(child.input, json(R"({"kg":3})"));
  EXPECT_EQ(child.on_parent_close, SharedText("cancel"));
  EXPECT_EQ(child.child_definition_fingerprint, parcel()->fingerprint());
  EXPECT_TRUE(child.awaited);
  EXPECT_EQ(test->run->status(), RunStatus::running);
  EXPECT_FALSE(test->run->latest("send")->applied);
  EXPECT_TRUE(test->run->latest("send")->plan.is_internal()) << "no queue has to know";
}

TEST(Children, the_child_can_be_started_from_the_fact) {
  const auto test = started(definition_of(sending(
      R"({"workflow":"parcel","trigger":"night","queue":"slow","key":"box",
          "on_parent_close":"detach"})")));
  const ChildRunStarted link = only_child(*test);
  EXPECT_EQ(link.child_key, SharedText("box"));
  EXPECT_EQ(link.on_parent_close, SharedText("detach"));
  const StartRun command = start_of_child(link, parcel());
  EXPECT_EQ(command.trigger, SharedText("night"));
  EXPECT_EQ(command.queue, SharedText("slow"));
  RunProjection child(command.run_id);
  ASSERT_TRUE(decide_start(child, command, nothing_around(), test->now).ok());
  EXPECT_NE(child.started()->context.view().find(to_string(run_no(1))), std::string_view::npos);
}

TEST(Children, the_result_of_the_child_is_that_of_the_step) {
  const auto test = started(definition_of(sending(R"("parcel")", R"(,"output":"sent")")));
  const RunFacts facts = test->child_ended(test->key("send"), completed(R"({"no":5})"));
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "runnables_planned"}));
  EXPECT_EQ(test->input("last"), json(R"({"kg":3,"other":1,"sent":{"no":5}})"));
}

TEST(Children, a_step_does_not_wait_for_a_detached_child) {
  const auto test = started(definition_of(sending(R"({"workflow":"parcel","detached":true})")));
  const ChildRunStarted child = only_child(*test);
  EXPECT_FALSE(child.awaited);
  EXPECT_EQ(child.on_parent_close, SharedText("detach"));
  EXPECT_EQ(test->run->latest("send")->result,
            json(R"({"run_id":")" + to_string(child.child_run_id) + R"("})"));
  EXPECT_NE(test->run->latest("last"), nullptr);
  EXPECT_TRUE(test->child_ended(test->key("send"), failed()).empty());
}

TEST(Children, a_child_that_failed_fails_the_step) {
  const auto test = started(definition_of(sending(R"("parcel")")));
  test->child_ended(test->key("send"), failed());
  EXPECT_EQ(test->error_code(), "child_failed");
  EXPECT_NE(test->run->terminal()->error.view().find(R"("error":{"code":"lost"})"),
            std::string_view::npos);
}

TEST(Children, a_child_that_was_cancelled_fails_the_step) {
  const auto test = started(definition_of(sending(R"("parcel")")));
  test->child_ended(test->key("send"), {run_no(9), TerminalStatus::cancelled, {}, {}});
  EXPECT_EQ(test->error_code(), "child_cancelled");
}

TEST(Children, the_failure_of_a_child_takes_the_error_route) {
  const auto test = started(flow(R"([{"name":"send","child":"parcel","input":["kg"]},
                                     {"name":"carry"}])",
                                 R"([{"from":"send","on":"error","to":"carry"}])"));
  EXPECT_EQ(planned_steps(test->child_ended(test->key("send"), failed())), Steps({"carry"}));
  EXPECT_NE(test->run->context_member("error")->find("child_failed"), std::string_view::npos);
}

TEST(Children, a_child_that_failed_is_tried_again_as_another_run) {
  const auto test =
      started(definition_of(sending(R"("parcel")", R"(,"retry":{"max_attempts":2})")));
  const std::string first = test->key("send");
  const RunId child = only_child(*test).child_run_id;
  const RunFacts facts = test->child_ended(first, failed());
  EXPECT_EQ(kinds(facts), Kinds({"runnables_withdrawn", "runnables_planned", "child_run_started"}));
  EXPECT_EQ(test->plan_of("send").idempotency_key, SharedText(first));
  const auto again = the<ChildRunStarted>(facts);
  EXPECT_EQ(again.child_key, SharedText("send#2"));
  EXPECT_EQ(again.origin.attempt, 2U);
  EXPECT_NE(again.child_run_id, child);
  EXPECT_EQ(again.input, json(R"({"kg":3})"));
  EXPECT_TRUE(test->child_ended(first, completed("{}")).empty()) << "that attempt has ended";
  test->child_ended(test->key("send"), failed());
  EXPECT_EQ(test->run->status(), RunStatus::failed);
}

TEST(Children, a_retry_waits_as_long_as_the_policy_says) {
  const auto test =
      started(definition_of(sending(R"("parcel")", R"(,"retry":{"max_attempts":2,"delay":"5s"})")));
  const RunFacts facts = test->child_ended(test->key("send"), failed());
  EXPECT_EQ(kinds(facts), Kinds({"runnables_withdrawn", "runnables_planned"}));
  EXPECT_EQ(test->run->children().size(), 1U);
  const RunFacts later = test->fire(test->key("send") + ":begin");
  EXPECT_EQ(test->now, TimeMs{6000});
  EXPECT_EQ(the<ChildRunStarted>(later).child_key, SharedText("send#2"));
  EXPECT_EQ(planned_steps(test->child_ended(test->key("send"), completed("{}"))), Steps({"last"}));
}

TEST(Children, a_workflow_that_does_not_exist_parks_the_step) {
  const auto test = started(definition_of(sending(R"("nothing")")));
  EXPECT_EQ(test->parked_code("send"), "unknown_workflow");
  EXPECT_TRUE(test->run->children().empty());
}

TEST(Children, an_input_the_child_does_not_take_parks_the_step) {
  const auto misfit = started(definition_of(sending(R"("parcel")")), R"({"kg":"three"})");
  EXPECT_EQ(misfit->parked_code("send"), "invalid_payload");
  const auto trigger =
      started(definition_of(sending(R"({"workflow":"parcel","trigger":"unknown"})")));
  EXPECT_EQ(trigger->parked_code("send"), "invalid_trigger");
  EXPECT_TRUE(trigger->run->children().empty());
}

TEST(Children, the_end_of_a_detached_child_changes_nothing) {
  const auto test = started(definition_of(sending(R"("parcel")")));
  const std::string key = test->key("send");
  EXPECT_TRUE(test->child_ended("nothing", completed("{}")).empty());
  EXPECT_TRUE(test->child_ended(key, {run_no(9), TerminalStatus::continued, {}, {}}).empty())
      << "its successor will end";
  test->child_ended(key, completed("{}"));
  EXPECT_TRUE(test->child_ended(key, failed()).empty());
  EXPECT_TRUE(test->child_ended(test->key("last"), failed()).empty()) << "a worker is at it";
  test->cancel();
  EXPECT_TRUE(test->child_ended(key, failed()).empty());
}

TEST(Children, a_second_visit_has_another_child) {
  const auto test =
      started(flow(R"([{"name":"send","child":"parcel","input":["kg"]},{"name":"check"}])",
                   R"([{"from":"send","to":"check"},
               {"from":"check","to":"send","when":{"path":"again","equals":true}},
               {"from":"check","to":"complete"}])",
                   R"("entry":"send")"));
  test->child_ended(test->key("send"), completed("{}"));
  test->apply("check", R"({"again":true})");
  EXPECT_EQ(test->run->children().size(), 2U);
  EXPECT_EQ(planned_steps(test->child_ended(test->key("send@2"), completed("{}"))),
            Steps({"check@2"}));
}

TEST(Children, a_completed_child_is_compensated_with_its_run) {
  const auto test = started(definition_of(
      R"([{"name":"send","child":"parcel","input":["kg"],"compensate":"call_back"},
          {"name":"last","after":["send"]}])"));
  test->child_ended(test->key("send"), completed(R"({"no":5})"));
  const RunFacts facts = test->fail("last");
  EXPECT_EQ(planned_steps(facts), Steps({"compensate:send"}));
  EXPECT_NE(planned_runnables(facts).at(0).input.view().find(R"("output":{"no":5})"),
            std::string_view::npos);
}

TEST(Children, a_compensating_run_does_not_wait_for_the_child) {
  const auto test = started(definition_of(
      R"([{"name":"book","compensate":"unbook"},
          {"name":"send","child":"parcel","input":["kg"],"after":["book"]},
          {"name":"work","after":["book"]}])"));
  test->apply("book");
  const std::string send = test->key("send");
  test->fail("work");
  EXPECT_TRUE(test->run->find(send)->withdrawn);
  EXPECT_TRUE(test->child_ended(send, completed("{}")).empty());
}

}  // namespace
}  // namespace holdfast::run_children_test
