#include "runs/dispatch/dispatch_rules.h"
#include "tests/support/run_fixture.h"

namespace holdfast::run_decide_apply_test {
namespace {

TEST(DecideApply, a_join_is_planned_with_its_last_dependency) {
  TestRun test(kDiamond);
  test.start();
  EXPECT_EQ(planned_steps(test.apply("charge")), Steps({"ship", "bill"}));
  EXPECT_EQ(kinds(test.apply("bill")), Kinds({"runnable_applied"}));
  EXPECT_EQ(planned_steps(test.apply("ship")), Steps({"thank"}));
  EXPECT_EQ(kinds(test.apply("thank")), Kinds({"runnable_applied", "run_terminal"}));
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(DecideApply, an_applied_fact_carries_what_the_attempt_ended_with) {
  TestRun test(kLine);
  test.start();
  test.now = TimeMs{2500};
  const auto applied =
      the<RunnableApplied>(test.apply("ask", R"({"a":1})", R"({"schedule_in_ms":5})"));
  EXPECT_EQ(applied.result, json(R"({"a":1})"));
  EXPECT_EQ(applied.execution_opts, json(R"({"schedule_in_ms":5})"));
  EXPECT_EQ(applied.applied_at, TimeMs{2500});
}

TEST(DecideApply, a_step_sees_the_input_of_the_run_and_every_result) {
  TestRun test(kDiamond);
  test.start();
  test.apply("charge", R"({"paid":true,"by":"card"})");
  test.apply("ship", R"({"parcel":3})");
  const auto planned = the<RunnablesPlanned>(test.apply("bill", R"({"by":"invoice"})"));
  EXPECT_EQ(planned.runnables.front().input,
            json(R"({"order":7,"paid":true,"by":"invoice","parcel":3})"));
}

TEST(DecideApply, applying_again_adds_nothing_even_after_the_end) {
  TestRun test(kLine);
  test.start();
  const Attempt ask = test.completed("ask");
  test.put(test.applying(ask));
  EXPECT_TRUE(test.put(test.applying(ask)).empty());
  test.apply("act");
  EXPECT_TRUE(test.put(test.applying(ask)).empty());
}

TEST(DecideApply, only_a_completed_attempt_of_the_run_can_be_applied) {
  TestRun test(kLine);
  test.start();
  Attempt attempt = test.failed("ask");
  const auto refused = test.dry_run(test.applying(attempt));
  EXPECT_EQ(code_of(refused), ErrorCode::result_not_completed);
  EXPECT_EQ(refused.error().field("step"), "ask");
  EXPECT_EQ(refused.error().field("run_id"), to_string(run_no(1)));
  EXPECT_EQ(refused.error().field("runnable_key"), attempt.runnable_key.view());
  attempt = test.completed("ask");
  attempt.runnable_key = "other";
  EXPECT_EQ(code_of(test.dry_run(test.applying(attempt))), ErrorCode::unknown_runnable_intent);
  attempt = test.completed("ask");
  attempt.run_id = run_no(2);
  EXPECT_EQ(code_of(test.dry_run(test.applying(attempt))), ErrorCode::wrong_run);
  attempt = test.completed("ask");
  test.cancel();
  EXPECT_EQ(code_of(test.dry_run(test.applying(attempt))), ErrorCode::terminal_run);
}

TEST(DecideApply, a_delay_holds_back_what_follows_and_a_join_takes_the_longest) {
  TestRun test(kDiamond);
  test.start();
  auto planned = the<RunnablesPlanned>(test.apply("charge", "{}", R"({"schedule_in_ms":500})"));
  EXPECT_EQ(planned.runnables[0].visible_at, TimeMs{1500});
  EXPECT_EQ(planned.runnables[1].visible_at, TimeMs{1500});
  test.now = TimeMs{2000};
  test.apply("ship", "{}", R"({"schedule_in_ms":9000})");
  test.now = TimeMs{3000};
  planned = the<RunnablesPlanned>(test.apply("bill", "{}", R"({"schedule_in_ms":1})"));
  EXPECT_EQ(planned.runnables[0].visible_at, TimeMs{11000});
}

TEST(DecideApply, a_step_that_defers_itself_comes_back_and_holds_up_the_rest) {
  TestRun test(kLine);
  test.start();
  const std::string first = test.run->latest("ask")->plan.runnable_key.str();
  const auto again = the<RunnablesPlanned>(test.apply(
      "ask", R"({"page":2})", R"({"defer":{"reason":"not ready","schedule_in_ms":70}})"));
  const Runnable& runnable = again.runnables.front();
  EXPECT_EQ(runnable.step, SharedText("ask"));
  EXPECT_EQ(runnable.runnable_key, SharedText(first + ":deferred"));
  EXPECT_EQ(runnable.idempotency_key, SharedText(first));
  EXPECT_EQ(runnable.attempt_number, 1U);
  EXPECT_EQ(runnable.visible_at, TimeMs{1070});
  EXPECT_EQ(runnable.input, json(R"({"order":7,"page":2})"));
  EXPECT_EQ(runnable.deferred, (Deferred{"not ready", first, TimeMs{1000}}));
  EXPECT_EQ(planned_steps(test.apply("ask")), Steps({"act"}));
}

TEST(DecideApply, keys_of_a_step_that_defers_itself_often_stay_short) {
  TestRun test(kLine);
  test.start();
  const std::string first = test.run->latest("ask")->plan.runnable_key.str();
  for (int i = 0; i < 12; ++i) {
    test.apply("ask", "{}", R"({"defer":{}})");
  }
  EXPECT_EQ(test.run->latest("ask")->plan.runnable_key, SharedText(first + ":deferred:12"));
  EXPECT_EQ(test.run->latest("ask")->plan.idempotency_key, SharedText(first));
}

TEST(DecideApply, options_that_cannot_be_read_have_no_effect) {
  TestRun test(kLine);
  test.start();
  const auto planned = the<RunnablesPlanned>(test.apply("ask", "{}", R"({"schedule_in_ms":"x"})"));
  EXPECT_EQ(planned.runnables.front().visible_at, test.now);
}

TEST(DecideApply, a_result_that_is_not_an_object_leaves_the_context_as_it_is) {
  TestRun test(kLine);
  test.start();
  const auto planned = the<RunnablesPlanned>(test.apply("ask", "[1,2]"));
  EXPECT_EQ(planned.runnables.front().input, json(R"({"order":7})"));
}

constexpr std::string_view kRetrying =
    R"([{"name":"pay","retry":{"max_attempts":3,"delay":"100ms","backoff":"exponential"}}])";

TestRun::Decision failing(const TestRun& test, const Attempt& attempt,
                          const std::optional<PlannedRetry>& retry) {
  return [&test, attempt, retry](RunProjection& run) {
    return decide_after_failure(run, attempt, attempt.outcome->error, retry, test.around, test.now);
  };
}

TEST(PlanRetry, the_policy_of_the_step_says_how_often_and_when) {
  TestRun test(kRetrying);
  test.start();
  auto planned = the<RunnablesPlanned>(test.fail("pay")).runnables.front();
  EXPECT_EQ(planned.runnable_key, runnable_key(run_no(1), "pay", 2));
  EXPECT_EQ(planned.idempotency_key, runnable_key(run_no(1), "pay", 1));
  EXPECT_EQ(planned.attempt_number, 2U);
  EXPECT_EQ(planned.visible_at, TimeMs{1100});
  planned = the<RunnablesPlanned>(test.fail("pay")).runnables.front();
  EXPECT_EQ(planned.idempotency_key, runnable_key(run_no(1), "pay", 1));
  EXPECT_EQ(planned.visible_at, TimeMs{1200});
  const RunFacts end = test.fail("pay");
  EXPECT_EQ(kinds(end), Kinds({"run_terminal"}));
  EXPECT_EQ(the<RunTerminal>(end).status, TerminalStatus::failed);
  EXPECT_EQ(the<RunTerminal>(end).error, json(R"({"code":"declined"})"));
}

TEST(PlanRetry, a_failure_may_say_when_or_that_there_is_no_use) {
  TestRun test(kRetrying);
  test.start();
  const Attempt attempt = test.failed("pay");
  const auto retry = plan_retry(*test.run, attempt, {{}, true, 7}, test.now);
  ASSERT_TRUE(retry.has_value());
  EXPECT_EQ(retry->visible_at, TimeMs{1007});
  EXPECT_FALSE(plan_retry(*test.run, attempt, {{}, false, 7}, test.now).has_value());
  test.cancel();
  EXPECT_FALSE(plan_retry(*test.run, attempt, {}, test.now).has_value());
}

TEST(DecideAfterFailure, the_planned_retry_is_the_intent_the_queue_made_of_the_failure) {
  TestRun test(kRetrying);
  test.start();
  test.apply("pay", "{}", R"({"defer":{}})");
  const Attempt failed = test.failed("pay");
  const auto retry = plan_retry(*test.run, failed, {}, test.now);
  AttemptFailed fact;
  fact.queue = kDefaultQueue;
  fact.retry_runnable_key = retry->runnable_key;
  fact.retry_idempotency_key = failed.idempotency_key;
  fact.retry_visible_at = retry->visible_at;
  const auto planned = the<RunnablesPlanned>(test.put(failing(test, failed, retry)));
  AttemptScheduled intent = intent_of(planned.runnables.front(), failed.workflow);
  EXPECT_EQ(intent, retry_intent(failed, fact));
}

TEST(DecideAfterFailure, a_failure_that_was_dealt_with_adds_nothing) {
  TestRun test(kRetrying);
  test.start();
  const Attempt first = test.failed("pay");
  const auto retry = plan_retry(*test.run, first, {}, test.now);
  const auto again = [&] { return test.put(failing(test, first, retry)); };
  EXPECT_EQ(again().size(), 1U);
  EXPECT_TRUE(again().empty());
  test.apply("pay");
  EXPECT_TRUE(again().empty());
}

TEST(DecideAfterFailure, time_and_idempotency_key_of_the_retry_are_those_of_the_fact) {
  TestRun test(kRetrying);
  test.start();
  const Attempt attempt = test.failed("pay");
  const PlannedRetry recorded{runnable_key(run_no(1), "pay", 2), "recorded", TimeMs{1234}};
  test.now = TimeMs{99'000};
  const auto planned = the<RunnablesPlanned>(test.put(failing(test, attempt, recorded)));
  EXPECT_EQ(planned.runnables.front().visible_at, TimeMs{1234});
  EXPECT_EQ(planned.runnables.front().idempotency_key, SharedText("recorded"));
}

TEST(DecideAfterFailure, an_attempt_the_run_does_not_know_is_refused) {
  TestRun test(kRetrying);
  test.start();
  Attempt attempt = test.failed("pay");
  attempt.runnable_key = "other";
  EXPECT_EQ(code_of(test.dry_run(failing(test, attempt, std::nullopt))),
            ErrorCode::unknown_runnable_intent);
  attempt = test.failed("pay");
  attempt.run_id = run_no(2);
  EXPECT_EQ(code_of(test.dry_run(failing(test, attempt, std::nullopt))), ErrorCode::wrong_run);
}

}  // namespace
}  // namespace holdfast::run_decide_apply_test
