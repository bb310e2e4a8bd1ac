// Compensation of a run.
#include "tests/support/run_fixture.h"

namespace holdfast::run_compensate_test {
namespace {

// book, pay and pack can be undone; ship fails.
constexpr std::string_view kTrip =
    R"([{"name":"book","compensate":"unbook"},)"
    R"({"name":"pay","compensate":{"handler":"refund","queue":"money","lease":"9s",)"
    R"("retry":{"max_attempts":2,"delay":"70ms"}},"after":["book"]},)"
    R"({"name":"note","after":["pay"]},{"name":"ship","after":["note"]}])";

// Everything but ship is done.
void go(TestRun& test) {
  test.start();
  test.apply("book", R"({"seat":"12a"})");
  test.apply("pay", R"({"sum":5})");
  test.apply("note");
}

TEST(Compensate, what_is_done_is_undone_newest_first_and_the_error_comes_last) {
  TestRun test(kTrip);
  go(test);
  const RunFacts facts = test.fail("ship");
  EXPECT_EQ(kinds(facts),
            Kinds({"compensation_started", "runnables_withdrawn", "runnables_planned"}));
  EXPECT_EQ(planned_steps(facts), Steps({"compensate:pay"}));
  EXPECT_EQ(test.run->status(), RunStatus::compensating);
  EXPECT_EQ(planned_steps(test.apply("compensate:pay")), Steps({"compensate:book"}));
  EXPECT_EQ(kinds(test.apply("compensate:book")), Kinds({"runnable_applied", "run_terminal"}));
  EXPECT_EQ(test.run->status(), RunStatus::failed);
  EXPECT_EQ(test.run->terminal()->error, json(R"({"code":"declined"})"));
  ASSERT_TRUE(test.run->terminal()->exhausted.has_value());
  EXPECT_EQ(test.run->terminal()->exhausted->step, "ship");
}

TEST(Compensate, a_compensation_knows_what_it_undoes_and_why) {
  TestRun test(kTrip);
  go(test);
  const std::string pay = test.key("pay");
  const Runnable plan = planned_runnables(test.fail("ship")).at(0);
  EXPECT_EQ(plan.handler, SharedText("refund"));
  EXPECT_EQ(plan.queue, SharedText("money"));
  EXPECT_EQ(plan.policy.claim.lease_ms, 9000U);
  EXPECT_EQ(plan.runnable_key, runnable_key(run_no(1), "compensate:pay", 1));
  EXPECT_EQ(plan.input,
            json(R"({"source":{"run_id":")" + to_string(run_no(1)) +
                 R"(","failure":{"code":"declined"}},"step":{"name":"pay","runnable_key":")" + pay +
                 R"(","input":{"order":7,"seat":"12a"},"output":{"sum":5},"applied_at":1000}})"));
  EXPECT_EQ(plan.dynamic_work, json(R"({"kind":"compensation","origin_step":"pay",)"
                                    R"("origin_runnable_key":")" +
                                    pay + R"("})"));
}

TEST(Compensate, the_order_is_that_of_completion) {
  TestRun test(R"([{"name":"a","compensate":"undo_a"},{"name":"b","compensate":"undo_b"},
                   {"name":"c","compensate":"undo_c"},{"name":"last","after":["a","b","c"]}])");
  test.start();
  test.apply("b");
  test.apply("c");
  test.apply("a");
  EXPECT_EQ(planned_steps(test.fail("last")), Steps({"compensate:a"}));
  EXPECT_EQ(planned_steps(test.apply("compensate:a")), Steps({"compensate:c"}));
  EXPECT_EQ(planned_steps(test.apply("compensate:c")), Steps({"compensate:b"}));
}

TEST(Compensate, results_of_compensations_are_not_part_of_the_context) {
  TestRun test(kTrip);
  go(test);
  test.fail("ship");
  const Payload before = test.run->context();
  test.apply("compensate:pay", R"({"sum":0})");
  EXPECT_EQ(test.run->context(), before);
}

TEST(Compensate, a_compensation_is_tried_again_by_its_own_policy) {
  TestRun test(kTrip);
  go(test);
  test.fail("ship");
  const auto again = planned_runnables(test.fail("compensate:pay"));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].step, SharedText("compensate:pay"));
  EXPECT_EQ(again[0].attempt_number, 2U);
  EXPECT_EQ(again[0].visible_at, TimeMs{1070});
  EXPECT_EQ(planned_steps(test.apply("compensate:pay")), Steps({"compensate:book"}));
}

TEST(Compensate, a_compensation_that_fails_is_noted_and_the_rest_is_undone) {
  TestRun test(kTrip);
  go(test);
  test.fail("ship");
  test.fail("compensate:pay");
  const RunFacts facts = test.fail("compensate:pay", R"({"code":"bank_closed"})");
  EXPECT_EQ(the<RunnableApplied>(facts).result, json(R"({"error":{"code":"bank_closed"}})"));
  EXPECT_EQ(planned_steps(facts), Steps({"compensate:book"}));
  test.apply("compensate:book");
  EXPECT_EQ(test.error_code(), "declined");
}

TEST(Compensate, a_compensation_cannot_put_itself_off) {
  TestRun test(kTrip);
  go(test);
  test.fail("ship");
  EXPECT_EQ(planned_steps(test.apply("compensate:pay", "{}", R"({"defer":{}})")),
            Steps({"compensate:book"}));
}

TEST(Compensate, without_anything_to_undo_the_run_fails_at_once) {
  TestRun test(kTrip);
  test.start();
  EXPECT_EQ(kinds(test.fail("book")), Kinds({"run_terminal"}));
}

TEST(Compensate, a_step_that_failed_along_a_route_is_not_undone) {
  TestRun test(flow(R"([{"name":"book","compensate":"unbook"},
                        {"name":"pay","compensate":"refund"},{"name":"ask"}])",
                    R"([{"from":"book","to":"pay"},{"from":"pay","on":"error","to":"ask"}])"));
  test.start();
  test.apply("book");
  test.fail("pay");
  EXPECT_EQ(planned_steps(test.fail("ask")), Steps({"compensate:book"}));
}

TEST(Compensate, each_visit_is_undone) {
  TestRun test(flow(R"([{"name":"add","compensate":"remove"}])",
                    R"([{"from":"add","to":"fail","when":{"path":"full","equals":true}},
                        {"from":"add","to":"add"}])",
                    R"("entry":"add")"));
  test.start();
  test.apply("add");
  EXPECT_EQ(planned_steps(test.apply("add@2", R"({"full":true})")), Steps({"compensate:add@2"}));
  EXPECT_EQ(planned_steps(test.apply("compensate:add@2")), Steps({"compensate:add"}));
  test.apply("compensate:add");
  EXPECT_EQ(test.error_code(), "failed_by_transition");
}

// book is done, pay and ship are open.
constexpr std::string_view kWide =
    R"([{"name":"book","compensate":"unbook"},)"
    R"({"name":"pay","compensate":"refund","retry":{"max_attempts":5},"after":["book"]},)"
    R"({"name":"ship","after":["book"]}])";

TEST(InFlight, unclaimed_work_is_withdrawn) {
  TestRun test(kWide);
  test.start();
  test.apply("book");
  const Attempt late = test.completed("pay");
  const RunFacts facts = test.fail("ship");
  EXPECT_EQ(the<RunnablesWithdrawn>(facts).runnable_keys.size(), 2U);
  EXPECT_TRUE(test.run->latest("pay")->withdrawn);
  EXPECT_TRUE(test.put(test.applying(late)).empty());
  EXPECT_EQ(planned_steps(facts), Steps({"compensate:book"}));
}

TEST(InFlight, what_is_under_way_is_finished_first_and_undone_too) {
  TestRun test(kWide);
  test.start();
  test.apply("book");
  test.claim("pay");
  const RunFacts facts = test.fail("ship");
  EXPECT_EQ(kinds(facts), Kinds({"compensation_started", "runnables_withdrawn"}));
  EXPECT_FALSE(test.run->latest("pay")->applied);
  EXPECT_EQ(planned_steps(test.apply("pay", R"({"sum":5})")), Steps({"compensate:pay"}));
  EXPECT_EQ(planned_steps(test.apply("compensate:pay")), Steps({"compensate:book"}));
  test.apply("compensate:book");
  EXPECT_EQ(test.error_code(), "declined");
}

TEST(InFlight, what_is_under_way_and_fails_is_not_tried_again) {
  TestRun test(kWide);
  test.start();
  test.apply("book");
  test.claim("pay");
  test.fail("ship");
  const RunFacts facts = test.fail("pay", R"({"code":"late"})");
  EXPECT_EQ(planned_steps(facts), Steps({"compensate:book"}));
  test.apply("compensate:book");
  EXPECT_EQ(test.error_code(), "declined") << "the failure that came first";
}

TEST(InFlight, what_is_under_way_is_undone_even_if_nothing_else_has_to_be) {
  TestRun test(R"([{"name":"pay","compensate":"refund"},{"name":"ship"}])");
  test.start();
  test.claim("pay");
  test.fail("ship");
  EXPECT_EQ(test.run->status(), RunStatus::compensating);
  EXPECT_EQ(planned_steps(test.apply("pay")), Steps({"compensate:pay"}));
  test.apply("compensate:pay");
  EXPECT_EQ(test.error_code(), "declined");
}

TEST(InFlight, waits_and_pauses_end_when_the_run_compensates) {
  TestRun test(R"([{"name":"book","compensate":"unbook"},
                   {"name":"look","pause":true,"after":["book"]},
                   {"name":"hear","await_event":{"event":"paid","timeout":"5s"},"after":["book"]},
                   {"name":"rest","wait":"9s","after":["book"]},
                   {"name":"ship","after":["book"]}])");
  test.start();
  test.apply("book");
  const std::string rest = test.key("rest");
  const std::string hear = test.key("hear");
  EXPECT_EQ(test.run->boundaries().size(), 2U);
  test.fail("ship");
  EXPECT_TRUE(test.run->boundaries().empty());
  EXPECT_EQ(test.run->waits().at(hear).status, WaitStatus::cancelled);
  EXPECT_TRUE(test.fire(rest).empty());
  EXPECT_TRUE(test.fire(hear + ":timeout").empty());
  EXPECT_EQ(code_of(test.dry_run(test.sending("paid", "k"))), ErrorCode::terminal_run);
  EXPECT_EQ(code_of(test.dry_run(test.resolving(ManualAction::resumed))),
            ErrorCode::invalid_transition);
  test.apply("compensate:book");
  EXPECT_EQ(test.run->status(), RunStatus::failed);
}

TEST(InFlight, the_timer_of_the_run_is_withdrawn) {
  TestRun test(flow(R"([{"name":"book","compensate":"unbook"},{"name":"ship"}])",
                    R"([{"from":"book","to":"ship"}])", R"("timeout":"1m")"));
  test.start();
  const std::string timer = runnable_key(run_no(1), "__run__", 1).str();
  test.apply("book");
  test.fail("ship");
  EXPECT_TRUE(test.run->find(timer)->withdrawn);
  EXPECT_TRUE(test.fire(timer).empty());
}

TEST(InFlight, a_timeout_of_the_run_compensates_too) {
  TestRun test(flow(R"([{"name":"book","compensate":"unbook"},{"name":"ship"}])",
                    R"([{"from":"book","to":"ship"}])", R"("timeout":"1m")"));
  test.start();
  test.apply("book");
  EXPECT_EQ(planned_steps(test.fire(runnable_key(run_no(1), "__run__", 1).str())),
            Steps({"compensate:book"}));
  test.apply("compensate:book");
  EXPECT_EQ(test.error_code(), "run_timeout");
}

TEST(CancelBack, cancelling_stops_at_once_unless_it_says_otherwise) {
  TestRun test(kTrip);
  go(test);
  EXPECT_EQ(kinds(test.cancel()), Kinds({"run_signal_received", "run_terminal"}));
  EXPECT_EQ(test.run->status(), RunStatus::cancelled);
}

TEST(CancelBack, cancelling_with_compensation_undoes_what_is_done) {
  TestRun test(kTrip);
  go(test);
  const RunFacts facts = test.cancel(OnCancel::compensate);
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "compensation_started",
                                 "runnables_withdrawn", "runnables_planned"}));
  EXPECT_EQ(planned_runnables(facts).at(0).input.view().find("failure"), std::string_view::npos);
  EXPECT_TRUE(test.cancel(OnCancel::compensate).empty()) << "it was cancelled before";
  EXPECT_TRUE(test.cancel().empty());
  test.apply("compensate:pay");
  test.apply("compensate:book");
  EXPECT_EQ(test.run->status(), RunStatus::cancelled);
  EXPECT_TRUE(test.run->terminal()->error.empty());
}

TEST(CancelBack, a_definition_may_request_it) {
  const std::string spec =
      R"({"workflow":"order","steps":)" + std::string(kTrip) + R"(,"compensate_on_cancel":true})";
  TestRun test(parsed(spec));
  go(test);
  test.cancel();
  EXPECT_EQ(test.run->status(), RunStatus::compensating);
  TestRun stopped(parsed(spec));
  go(stopped);
  stopped.cancel(OnCancel::stop);
  EXPECT_EQ(stopped.run->status(), RunStatus::cancelled);
}

TEST(CancelBack, a_compensating_run_can_be_stopped) {
  TestRun test(kTrip);
  go(test);
  test.cancel(OnCancel::compensate);
  EXPECT_EQ(kinds(test.cancel(OnCancel::stop)), Kinds({"run_signal_received", "run_terminal"}));
  EXPECT_EQ(test.run->status(), RunStatus::cancelled);
}

TEST(CancelBack, with_nothing_to_undo_it_ends_at_once) {
  TestRun test(kTrip);
  test.start();
  EXPECT_EQ(kinds(test.cancel(OnCancel::compensate)),
            Kinds({"run_signal_received", "compensation_started", "runnables_withdrawn",
                   "run_terminal"}));
  EXPECT_EQ(test.run->status(), RunStatus::cancelled);
}

TEST(EachBack, items_are_undone_one_by_one) {
  TestRun test(R"([{"name":"book","for_each":["x","y"],"compensate":"unbook"},
                   {"name":"ship","after":["book"]}])");
  test.start();
  test.apply("book[1]", R"({"seat":1})");
  test.apply("book[0]", R"({"seat":0})");
  const RunFacts facts = test.fail("ship");
  EXPECT_EQ(planned_steps(facts), Steps({"compensate:book[0]"})) << "the newest first";
  EXPECT_NE(planned_runnables(facts).at(0).input.view().find(R"("output":{"seat":0})"),
            std::string_view::npos);
  EXPECT_EQ(planned_steps(test.apply("compensate:book[0]")), Steps({"compensate:book[1]"}));
  test.apply("compensate:book[1]");
  EXPECT_EQ(test.run->status(), RunStatus::failed);
}

TEST(EachBack, items_of_a_step_that_failed_are_undone_but_not_the_one_that_did) {
  TestRun test(R"([{"name":"book","for_each":[1,2,3],"compensate":"unbook"}])");
  test.start();
  test.apply("book[0]");
  EXPECT_EQ(planned_steps(test.fail("book[2]")), Steps({"compensate:book[0]"}));
  test.apply("compensate:book[0]");
  EXPECT_EQ(test.error_code(), "declined");
}

TEST(EachBack, items_that_are_under_way_are_finished_and_undone) {
  TestRun test(R"([{"name":"book","for_each":{"items":[1,2,3],"concurrency":2},
                    "compensate":"unbook"},{"name":"ship"}])");
  test.start();
  test.apply("book[0]");
  test.claim("book[1]");
  test.fail("ship");
  EXPECT_EQ(planned_steps(test.apply("book[1]")), Steps({"compensate:book[1]"}))
      << "and no further item begins";
  EXPECT_EQ(planned_steps(test.apply("compensate:book[1]")), Steps({"compensate:book[0]"}));
}

}  // namespace
}  // namespace holdfast::run_compensate_test
