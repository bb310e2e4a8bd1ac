#include "tests/support/run_fixture.h"

namespace holdfast {
namespace {

class DecideEvents : public ::testing::Test {
 protected:
  DecideEvents() { test_.start(); }

  static OpenWait paid() {
    OpenWait command;
    command.event = "paid";
    command.correlation = "order-7";
    return command;
  }
  static OpenWait paid_within(std::uint64_t timeout_ms, std::string_view target = "") {
    OpenWait command = paid();
    command.timeout_ms = timeout_ms;
    command.timeout_target = target;
    return command;
  }
  RunFacts open(const OpenWait& command, std::string_view step = "charge") {
    wait_id_ = test_.run->latest(step)->plan.runnable_key.str();
    return test_.put(decide_open_wait(*test_.run, test_.completed(step), command, test_.now));
  }
  static SendEvent event(std::string_view key = "k1") {
    SendEvent command;
    command.event = "paid";
    command.correlation = "order-7";
    command.payload = json(R"({"amount":5})");
    command.source.idempotency_key = key;
    return command;
  }
  Result<RunFacts> send(const SendEvent& command) {
    return decide_receive_event(*test_.run, command, test_.now);
  }
  Result<RunFacts> time_out() { return decide_wait_timeout(*test_.run, wait_id_, test_.now); }

  TestRun test_{kDiamond};
  std::string wait_id_;
};

TEST_F(DecideEvents, a_step_that_waits_holds_up_what_follows_until_the_event_comes) {
  EXPECT_EQ(kinds(open(paid())), Kinds({"runnable_applied", "external_event_wait_opened"}));
  EXPECT_EQ(test_.run->status(), RunStatus::paused);
  const RunFacts facts = test_.put(send(event()));
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "external_event_received",
                                 "external_event_wait_resolved", "runnables_planned"}));
  EXPECT_EQ(planned_steps(facts), Steps({"ship", "bill"}));
  EXPECT_EQ(the<RunnablesPlanned>(facts).runnables.front().input,
            json(R"({"order":7,"amount":5})"));
}

TEST_F(DecideEvents, a_wait_with_a_limit_plans_its_timer) {
  const auto timer = the<RunnablesPlanned>(open(paid_within(500))).runnables.front();
  EXPECT_EQ(timer.runnable_key, SharedText(wait_id_ + ":timeout"));
  EXPECT_EQ(timer.visible_at, TimeMs{1500});
  EXPECT_EQ(timer.handler, SharedText(kTimerHandler));
  EXPECT_TRUE(timer.is_timer());
  EXPECT_EQ(intent_of(timer, "order").event_wait_timeout, timer.event_wait_timeout);
  const Attempt attempt = test_.attempt_of(timer);
  EXPECT_EQ(code_of(decide_apply(*test_.run, attempt, test_.now)), ErrorCode::invalid_transition);
  EXPECT_FALSE(plan_retry(*test_.run, attempt, {}, test_.now).has_value());
}

TEST_F(DecideEvents, the_event_wins_over_the_timer) {
  open(paid_within(500));
  const RunFacts facts = test_.put(send(event()));
  EXPECT_EQ(kinds(facts),
            Kinds({"run_signal_received", "external_event_received", "external_event_wait_resolved",
                   "runnable_applied", "runnables_planned"}));
  test_.now = TimeMs{9000};
  EXPECT_TRUE(test_.put(time_out()).empty());
  EXPECT_TRUE(test_.run->find(wait_id_ + ":timeout")->applied);
}

TEST_F(DecideEvents, the_timer_wins_over_the_event) {
  open(paid_within(500));
  EXPECT_EQ(code_of(time_out()), ErrorCode::invalid_transition);
  test_.now = TimeMs{1500};
  const RunFacts facts = test_.put(time_out());
  EXPECT_EQ(kinds(facts),
            Kinds({"external_event_wait_timeout_selected", "external_event_wait_resolved",
                   "runnable_applied", "runnables_planned"}));
  EXPECT_EQ(the<RunnablesPlanned>(facts).runnables.front().input,
            json(R"({"order":7,"timed_out":"paid"})"));
  EXPECT_EQ(code_of(send(event())), ErrorCode::event_wait_not_found);
  EXPECT_TRUE(test_.put(time_out()).empty());
}

TEST_F(DecideEvents, a_timeout_goes_where_its_target_says) {
  open(paid_within(500, kFailTarget));
  test_.now = TimeMs{1500};
  const auto end = the<RunTerminal>(test_.put(time_out()));
  EXPECT_EQ(end.status, TerminalStatus::failed);
  EXPECT_NE(end.error.view().find("event_timeout"), std::string_view::npos);
  EXPECT_TRUE(test_.put(time_out()).empty());

  TestRun other(kLine);
  other.start();
  const std::string wait = other.run->latest("ask")->plan.runnable_key.str();
  other.put(decide_open_wait(*other.run, other.completed("ask"), paid_within(1, kCompleteTarget),
                             other.now));
  other.now = TimeMs{2000};
  other.put(decide_wait_timeout(*other.run, wait, other.now));
  EXPECT_EQ(other.run->status(), RunStatus::completed);
}

TEST_F(DecideEvents, a_join_waits_for_the_event_whoever_is_last) {
  test_.apply("charge");
  open(paid_within(500), "ship");
  EXPECT_EQ(kinds(test_.apply("bill")), Kinds({"runnable_applied"}));
  EXPECT_EQ(planned_steps(test_.put(send(event()))), Steps({"thank"}));
  test_.apply("thank");
  EXPECT_EQ(test_.run->status(), RunStatus::completed);
}

TEST_F(DecideEvents, the_same_event_counts_once) {
  open(paid());
  test_.put(send(event()));
  EXPECT_TRUE(test_.put(send(event())).empty());
  SendEvent other = event();
  other.payload = json(R"({"amount":6})");
  EXPECT_EQ(code_of(send(other)), ErrorCode::idempotency_conflict);
  EXPECT_EQ(code_of(send(event("k2"))), ErrorCode::event_wait_not_found);
  test_.cancel();
  EXPECT_TRUE(test_.put(send(event())).empty());
  EXPECT_EQ(code_of(send(event("k2"))), ErrorCode::terminal_run);
}

TEST_F(DecideEvents, only_an_event_the_run_waits_for_is_taken) {
  EXPECT_EQ(code_of(send(event())), ErrorCode::event_wait_not_found);
  open(paid());
  SendEvent other = event();
  other.correlation = "order-8";
  EXPECT_EQ(code_of(send(other)), ErrorCode::event_wait_not_found);
  other = event();
  other.event = "shipped";
  EXPECT_EQ(code_of(send(other)), ErrorCode::event_wait_not_found);
  EXPECT_EQ(code_of(send(event(""))), ErrorCode::invalid_argument);
  other = event();
  other.payload = json("[1]");
  EXPECT_EQ(code_of(send(other)), ErrorCode::invalid_argument);
  other.payload = json(R"({"a":")" + std::string(1U << 20U, 'x') + R"("})");
  EXPECT_EQ(code_of(send(other)), ErrorCode::invalid_argument);
}

TEST_F(DecideEvents, a_run_has_one_open_wait) {
  test_.apply("charge");
  open(paid(), "ship");
  EXPECT_EQ(code_of(decide_open_wait(*test_.run, test_.completed("bill"), paid(), test_.now)),
            ErrorCode::active_manual_step);
  ResolveStep resume;
  EXPECT_EQ(code_of(decide_resolve(*test_.run, resume, test_.now)), ErrorCode::invalid_transition);
  EXPECT_TRUE(
      test_.put(decide_open_wait(*test_.run, test_.completed("ship"), paid(), test_.now)).empty());
}

TEST_F(DecideEvents, a_wait_that_makes_no_sense_is_refused) {
  const auto code_with = [&](auto change) {
    OpenWait command = paid();
    change(command);
    return code_of(decide_open_wait(*test_.run, test_.completed("charge"), command, test_.now));
  };
  EXPECT_EQ(code_with([](OpenWait& wait) { wait.event = {}; }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](OpenWait& wait) { wait.event = std::string(256, 'e'); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](OpenWait& wait) { wait.correlation = std::string(1025, 'c'); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](OpenWait& wait) { wait.timeout_ms = 0; }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](OpenWait& wait) { wait.timeout_target = "ship"; }),
            ErrorCode::invalid_argument);
}

TEST_F(DecideEvents, a_wait_without_a_limit_never_times_out) {
  open(paid());
  test_.now = TimeMs{1'000'000'000};
  EXPECT_EQ(code_of(time_out()), ErrorCode::invalid_transition);
  wait_id_ = "other";
  EXPECT_EQ(code_of(time_out()), ErrorCode::event_wait_not_found);
}

TEST_F(DecideEvents, a_run_that_ended_times_out_no_more) {
  open(paid_within(500));
  test_.cancel();
  test_.now = TimeMs{1500};
  EXPECT_EQ(code_of(time_out()), ErrorCode::terminal_run);
}

}  // namespace
}  // namespace holdfast
