// Where a run waits: for a time, for a person, for an event; and how long a run may take.
#include "tests/support/run_fixture.h"

namespace holdfast::run_waits_test {
namespace {

std::string wait_then_act(std::string_view wait) {
  return R"([{"name":"rest","wait":)" + std::string(wait) + R"(},{"name":"act","after":["rest"]}])";
}

TEST(Wait, a_wait_ends_when_its_time_has_come) {
  TestRun test(wait_then_act(R"("5s")"));
  const RunFacts facts = test.start();
  const Runnable timer = planned_runnables(facts).at(0);
  EXPECT_EQ(timer.handler, SharedText(kTimerHandler));
  EXPECT_EQ(timer.visible_at, TimeMs{6000});
  EXPECT_FALSE(timer.is_timer()) << "it is the step itself";
  const auto early = test.dry_run(test.firing(test.key("rest")));
  EXPECT_EQ(code_of(early), ErrorCode::invalid_transition);
  EXPECT_EQ(planned_steps(test.fire(test.key("rest"))), Steps({"act"}));
  EXPECT_TRUE(test.put(test.firing(test.key("rest"))).empty()) << "it has ended already";
}

TEST(Wait, only_timers_can_be_fired) {
  TestRun test(kLine);
  EXPECT_EQ(code_of(test.dry_run(test.firing("nothing"))), ErrorCode::run_not_found);
  test.start();
  EXPECT_EQ(code_of(test.dry_run(test.firing("nothing"))), ErrorCode::unknown_runnable_intent);
  EXPECT_EQ(code_of(test.dry_run(test.firing(test.key("ask")))),
            ErrorCode::unknown_runnable_intent);
}

TEST(Wait, a_wait_may_be_until_a_time_that_is_written_or_known) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"until":"1970-01-01T00:00:09Z"})", "{}"},
      {R"({"until":"at"})", R"({"at":9000})"},
      {R"({"until":"when.at"})", R"({"when":{"at":"1970-01-01T00:00:09Z"}})"},
  };
  for (const auto& [wait, input] : cases) {
    TestRun test(wait_then_act(wait));
    test.start(input);
    EXPECT_EQ(test.run->latest("rest")->plan.visible_at, TimeMs{9000}) << wait;
    EXPECT_EQ(planned_steps(test.fire(test.key("rest"))), Steps({"act"})) << wait;
  }
}

TEST(Wait, a_time_that_has_passed_is_not_waited_for) {
  TestRun test(wait_then_act(R"({"until":"at"})"));
  EXPECT_EQ(planned_steps(test.start(R"({"at":999})")), Steps({"rest", "act"}));
}

TEST(Wait, an_invalid_time_parks_the_step) {
  for (const std::string_view input : {"{}", R"({"at":"soon"})", R"({"at":[1]})"}) {
    TestRun test(wait_then_act(R"({"until":"at"})"));
    test.start(input);
    EXPECT_EQ(test.parked_code("rest"), "invalid_wait_time") << input;
  }
  TestRun routed(flow(R"([{"name":"rest","wait":{"until":"at"}},{"name":"ask"}])",
                      R"([{"from":"rest","on":"error","to":"ask"}])"));
  EXPECT_EQ(planned_steps(routed.start()), Steps({"rest", "ask"}));
}

TEST(Log, a_line_is_filled_in_and_planned_and_done_at_once) {
  TestRun test(R"([{"name":"note","log":{"message":"order {order} of {who.name}{none}",
                    "level":"warning"}}])");
  const RunFacts facts = test.start(R"({"order":7,"who":{"name":"ann"}})");
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "run_started", "runnables_planned",
                                 "runnable_applied", "run_terminal"}));
  const Runnable line = planned_runnables(facts).at(0);
  EXPECT_TRUE(line.is_internal());
  EXPECT_EQ(line.input, json(R"({"level":"warning","message":"order 7 of ann"})"));
  EXPECT_EQ(test.run->context(), json(R"({"order":7,"who":{"name":"ann"}})"));
}

TEST(Pause, the_run_waits_until_it_is_resumed) {
  TestRun test(R"([{"name":"look","pause":{"reason":"order {order}"},
                    "deadline":{"within":"1m"}},{"name":"act","after":["look"]}])");
  const RunFacts facts = test.start();
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "run_started", "runnables_planned",
                                 "manual_step_paused"}));
  EXPECT_EQ(test.run->status(), RunStatus::paused);
  const ManualState state = test.run->boundaries().at("look");
  EXPECT_EQ(state.kind, BoundaryKind::pause);
  EXPECT_EQ(state.reason, SharedText("order 7"));
  EXPECT_NE(state.deadline.view().find(R"("due_at":61000)"), std::string_view::npos);
  EXPECT_EQ(planned_steps(test.resolve(ManualAction::resumed)), Steps({"act"}));
  EXPECT_EQ(test.input("act"), json(R"({"order":7})"));
}

TEST(Pause, a_run_is_paused_only_when_everything_open_waits) {
  TestRun test(R"([{"name":"look","pause":true},{"name":"work"}])");
  test.start();
  EXPECT_EQ(test.run->status(), RunStatus::running);
  test.apply("work");
  EXPECT_EQ(test.run->status(), RunStatus::paused);
  test.resolve(ManualAction::resumed);
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Pause, a_join_waits_for_a_pause_in_any_order) {
  TestRun test(R"([{"name":"look","pause":true},{"name":"work"},
                   {"name":"last","after":["look","work"]}])");
  test.start();
  EXPECT_EQ(planned_steps(test.resolve(ManualAction::resumed)), Steps());
  EXPECT_EQ(planned_steps(test.apply("work")), Steps({"last"}));
}

TEST(Pause, a_step_in_a_loop_waits_each_time) {
  TestRun test(flow(R"([{"name":"look","pause":true},{"name":"work"}])",
                    R"([{"from":"look","to":"work"},
                        {"from":"work","to":"complete","when":{"path":"ok","equals":true}},
                        {"from":"work","to":"look"}])",
                    R"("entry":"look")"));
  test.start();
  test.resolve(ManualAction::resumed);
  test.apply("work");
  EXPECT_TRUE(test.run->boundaries().contains("look@2"));
  EXPECT_EQ(planned_steps(test.resolve(ManualAction::resumed)), Steps({"work@2"}));
}

std::shared_ptr<const Definition> approval_flow() {
  return flow(R"([{"name":"ask","approval":true},{"name":"yes"},{"name":"no"}])",
              R"([{"from":"ask","to":"yes"},{"from":"ask","on":"error","to":"no"}])");
}

TEST(Approval, a_decision_takes_its_route) {
  TestRun yes(approval_flow());
  yes.start();
  RunFacts facts = yes.resolve(ManualAction::approved);
  EXPECT_EQ(planned_steps(facts), Steps({"yes"}));
  EXPECT_EQ(taken(facts).on, RouteOn::ok);
  EXPECT_EQ(yes.input("yes"),
            json(R"({"order":7,"ask":{"decision":"approved","actor":"ann","decided_at":1000}})"));
  TestRun no(approval_flow());
  no.start();
  facts = no.resolve(ManualAction::rejected);
  EXPECT_EQ(planned_steps(facts), Steps({"no"}));
  EXPECT_EQ(taken(facts).on, RouteOn::error);
  EXPECT_NE(no.input("no").view().find(R"("ask":{"decision":"rejected","actor":"ann")"),
            std::string_view::npos);
  EXPECT_NE(no.input("no").view().find(R"("error":{"code":"rejected")"), std::string_view::npos);
}

TEST(Approval, a_rejection_without_a_route_fails_the_run) {
  TestRun test(R"([{"name":"ask","approval":true},{"name":"act","after":["ask"]}])");
  test.start();
  test.resolve(ManualAction::rejected);
  EXPECT_EQ(test.error_code(), "rejected");
  TestRun approved(test.definition);
  approved.start();
  EXPECT_EQ(planned_steps(approved.resolve(ManualAction::approved)), Steps({"act"}));
}

TEST(Approval, of_several_at_once_the_command_names_one) {
  TestRun test(R"([{"name":"ann","approval":true},{"name":"bob","approval":true},
                   {"name":"look","pause":true},{"name":"act","after":["ann","bob"]}])");
  test.start();
  EXPECT_EQ(test.run->boundaries().size(), 3U);
  const auto which = test.dry_run(test.resolving(ManualAction::approved));
  EXPECT_EQ(code_of(which), ErrorCode::invalid_argument);
  EXPECT_EQ(which.error().field("field"), "step");
  EXPECT_EQ(planned_steps(test.resolve(ManualAction::approved, "bob")), Steps());
  EXPECT_EQ(planned_steps(test.resolve(ManualAction::approved)), Steps({"act"}))
      << "there is only one left";
  EXPECT_EQ(test.run->boundaries().size(), 1U);
  test.apply("act");
  EXPECT_EQ(test.run->status(), RunStatus::paused);
  test.resolve(ManualAction::resumed);
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

constexpr std::string_view kAwait =
    R"([{"name":"prepare"},{"name":"hear","await_event":{"event":"paid"},"after":["prepare"]},)"
    R"({"name":"act","after":["hear"]}])";

TEST(AwaitEvent, an_event_that_came_before_is_taken_first) {
  TestRun test(kAwait);
  test.start();
  test.send("other", "k0");
  test.send("paid", "k1", R"({"n":1})");
  test.send("paid", "k2", R"({"n":2})");
  const RunFacts facts = test.apply("prepare");
  EXPECT_EQ(kinds(facts),
            Kinds({"runnable_applied", "runnables_planned", "external_event_wait_opened",
                   "external_event_received", "external_event_wait_resolved", "runnable_applied",
                   "runnables_planned"}));
  EXPECT_EQ(test.input("act"), json(R"({"order":7,"n":1})"));
  EXPECT_EQ(test.run->buffered_events().size(), 2U) << "the second waits for the next";
  EXPECT_TRUE(test.send("paid", "k1", R"({"n":1})").empty());
}

TEST(AwaitEvent, any_of_several_ends_the_wait_and_says_which_it_was) {
  TestRun test(R"([{"name":"hear","await_event":{"any_of":["paid",
                    {"event":"cancelled","correlation":"c"}]},"output":"heard"},
                   {"name":"act","after":["hear"]}])");
  test.start();
  EXPECT_EQ(kinds(test.send("cancelled", "k1")),
            Kinds({"run_signal_received", "external_event_buffered"}))
      << "another correlation";
  EXPECT_EQ(planned_steps(test.send("cancelled", "k2", R"({"why":1})", "c")), Steps({"act"}));
  EXPECT_EQ(*test.run->context_member("heard"), R"({"event":"cancelled","payload":{"why":1}})");
}

TEST(AwaitEvent, a_correlation_may_come_from_the_context) {
  const std::string_view steps =
      R"([{"name":"hear","await_event":{"event":"paid","correlation":{"path":"order"}}}])";
  TestRun number(steps);
  number.start();
  number.send("paid", "k1", "{}", "8");
  EXPECT_EQ(number.run->status(), RunStatus::paused);
  number.send("paid", "k2", "{}", "7");
  EXPECT_EQ(number.run->status(), RunStatus::completed);
  TestRun text(steps);
  text.start(R"({"order":"a-1"})");
  text.send("paid", "k1", "{}", "a-1");
  EXPECT_EQ(text.run->status(), RunStatus::completed);
  TestRun missing(steps);
  missing.start("{}");
  EXPECT_EQ(missing.parked_code("hear"), "missing_input_path");
}

TEST(AwaitEvent, of_several_waits_the_oldest_takes_the_event) {
  TestRun test(R"([{"name":"z","await_event":"paid"},{"name":"work"},
                   {"name":"a","await_event":"paid","after":["work"]}])");
  test.start();
  test.now = TimeMs{2000};
  test.apply("work");
  EXPECT_EQ(test.run->boundaries().size(), 2U);
  test.send("paid", "k1");
  EXPECT_TRUE(test.run->latest("z")->applied);
  EXPECT_FALSE(test.run->latest("a")->applied);
  test.send("paid", "k2");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

std::shared_ptr<const Definition> timed(std::string_view on_timeout, std::string_view routes) {
  return flow(
      R"([{"name":"hear","await_event":{"event":"paid","timeout":"5s")" + std::string(on_timeout) +
          R"(}},{"name":"act"},{"name":"remind"}])",
      R"([{"from":"hear","to":"act"},{"from":"act","to":"complete"})" + std::string(routes) + "]");
}

TEST(AwaitTimeout, a_wait_with_a_limit_plans_its_timer) {
  TestRun test(timed(R"(,"on_timeout":"remind")", ""));
  test.start();
  const Runnable& timer = test.run->find(test.key("hear") + ":timeout")->plan;
  EXPECT_TRUE(timer.is_timer());
  EXPECT_EQ(timer.visible_at, TimeMs{6000});
  EXPECT_EQ(intent_of(timer, "order").event_wait_timeout, timer.event_wait_timeout);
  const Attempt attempt = test.attempt_of(timer);
  EXPECT_EQ(code_of(test.dry_run(test.applying(attempt))), ErrorCode::invalid_transition);
  EXPECT_FALSE(plan_retry(*test.run, attempt, {}, test.now).has_value());
  EXPECT_EQ(test.run->status(), RunStatus::paused);
}

TEST(AwaitTimeout, it_leads_where_the_step_says) {
  TestRun test(timed(R"(,"on_timeout":"remind")", ""));
  test.start();
  const RunFacts facts = test.fire(test.key("hear") + ":timeout");
  EXPECT_EQ(kinds(facts),
            Kinds({"external_event_wait_timeout_selected", "external_event_wait_resolved",
                   "runnable_applied", "runnable_applied", "runnables_planned"}));
  EXPECT_EQ(planned_steps(facts), Steps({"remind"}));
  EXPECT_EQ(the<ExternalEventWaitTimeoutSelected>(facts).target, SharedText("remind"));
  const auto route =
      from_json<TransitionTaken>(test.run->latest("hear")->transition.view()).value();
  EXPECT_EQ(route.on, RouteOn::timeout);
  EXPECT_EQ(route.to, SharedText("remind"));
  EXPECT_TRUE(test.run->boundaries().empty());
  test.apply("remind");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(AwaitTimeout, without_a_target_it_is_a_failure_with_a_route) {
  TestRun test(timed("", R"(,{"from":"hear","on":"error","to":"remind"})"));
  test.start();
  EXPECT_EQ(planned_steps(test.fire(test.key("hear") + ":timeout")), Steps({"remind"}));
  EXPECT_NE(test.run->context_member("error")->find("event_timeout"), std::string_view::npos);
}

TEST(AwaitTimeout, without_a_route_the_run_fails) {
  TestRun test(R"([{"name":"hear","await_event":{"event":"paid","timeout":"5s"}}])");
  test.start();
  const std::string timer = test.key("hear") + ":timeout";
  test.fire(timer);
  EXPECT_EQ(test.error_code(), "event_timeout");
  EXPECT_TRUE(test.put(test.firing(timer)).empty());
}

TEST(AwaitTimeout, the_error_names_every_event_that_was_awaited) {
  TestRun test(R"([{"name":"hear","await_event":{"any_of":["paid","refused","lost"],
                    "timeout":"5s"}}])");
  test.start();
  test.fire(test.key("hear") + ":timeout");
  EXPECT_EQ(test.error_code(), "event_timeout");
  for (const std::string_view event : {"paid", "refused", "lost"}) {
    EXPECT_NE(test.run->terminal()->error.view().find(event), std::string_view::npos) << event;
  }
}

TEST(AwaitTimeout, complete_and_fail_are_targets_too) {
  TestRun complete(R"([{"name":"hear","await_event":
                        {"event":"paid","timeout":"5s","on_timeout":"complete"}}])");
  complete.start();
  complete.fire(complete.key("hear") + ":timeout");
  EXPECT_EQ(complete.run->status(), RunStatus::completed);
  TestRun fail(R"([{"name":"hear","await_event":
                    {"event":"paid","timeout":"5s","on_timeout":"fail"}}])");
  fail.start();
  fail.fire(fail.key("hear") + ":timeout");
  EXPECT_EQ(fail.error_code(), "event_timeout");
}

TEST(AwaitTimeout, the_event_ends_the_timer) {
  TestRun test(timed(R"(,"on_timeout":"remind")", ""));
  test.start();
  EXPECT_EQ(planned_steps(test.send("paid", "k1")), Steps({"act"}));
  const std::string timer = test.key("hear") + ":timeout";
  EXPECT_TRUE(test.run->find(timer)->applied);
  EXPECT_TRUE(test.fire(timer).empty());
}

TEST(AwaitTimeout, an_event_that_was_there_before_ends_the_timer_too) {
  TestRun test(R"([{"name":"work"},{"name":"hear","after":["work"],
                    "await_event":{"event":"paid","timeout":"5s"}}])");
  test.start();
  test.send("paid", "k1");
  test.apply("work");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
  EXPECT_TRUE(test.run->find(test.key("hear") + ":timeout")->applied);
}

TEST(AwaitTimeout, an_event_that_comes_too_late_is_kept) {
  TestRun test(timed(R"(,"on_timeout":"remind")", ""));
  test.start();
  test.fire(test.key("hear") + ":timeout");
  EXPECT_EQ(kinds(test.send("paid", "k1")),
            Kinds({"run_signal_received", "external_event_buffered"}));
}

class RunTimeout : public ::testing::Test {
 protected:
  RunTimeout() { test_.start(); }
  TestRun test_{parsed(R"({"workflow":"order","steps":[{"name":"work"}],"timeout":"1m"})")};
  const std::string timer_ = runnable_key(run_no(1), "__run__", 1).str();
};

TEST_F(RunTimeout, a_run_that_takes_too_long_fails) {
  EXPECT_EQ(test_.run->find(timer_)->plan.visible_at, TimeMs{61'000});
  EXPECT_EQ(code_of(test_.dry_run(test_.firing(timer_))), ErrorCode::invalid_transition);
  EXPECT_EQ(kinds(test_.fire(timer_)), Kinds({"run_terminal"}));
  EXPECT_EQ(test_.error_code(), "run_timeout");
}

TEST_F(RunTimeout, it_does_not_hold_up_the_end_of_the_run) {
  test_.apply("work");
  EXPECT_EQ(test_.run->status(), RunStatus::completed);
  EXPECT_TRUE(test_.fire(timer_).empty());
}

}  // namespace
}  // namespace holdfast::run_waits_test
