#include "tests/support/run_fixture.h"

namespace holdfast {
namespace {

TEST(DecideCancel, a_run_is_cancelled_once) {
  TestRun test(kLine);
  test.start();
  CommandSource source;
  source.actor = "ann";
  source.metadata = json(R"({"api_key":"hunter2"})");
  const RunFacts facts = test.put(decide_cancel(*test.run, source, test.now));
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "run_terminal"}));
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::cancel_run);
  EXPECT_EQ(the<RunSignalReceived>(facts).metadata.view().find("hunter2"), std::string_view::npos);
  EXPECT_EQ(test.run->status(), RunStatus::cancelled);
  EXPECT_TRUE(test.put(decide_cancel(*test.run, source, test.now)).empty());
}

TEST(DecideCancel, a_run_that_ended_otherwise_or_never_began_cannot_be_cancelled) {
  TestRun test(R"([{"name":"one"}])");
  EXPECT_EQ(code_of(decide_cancel(*test.run, {}, test.now)), ErrorCode::run_not_found);
  test.start();
  test.apply("one");
  EXPECT_EQ(code_of(decide_cancel(*test.run, {}, test.now)), ErrorCode::invalid_transition);
}

class DecideResolve : public ::testing::Test {
 protected:
  DecideResolve() { test_.start(); }

  RunFacts pause(std::string_view step, ManualKind kind, std::string_view metadata = "") {
    PauseStep command;
    command.kind = kind;
    command.reason = "look at it";
    command.metadata = json(metadata);
    return test_.put(decide_pause(*test_.run, test_.completed(step), command, test_.now));
  }
  Result<RunFacts> resolve(ManualAction action, std::string_view step = "",
                           std::string_view key = "") {
    ResolveStep command;
    command.action = action;
    command.step = step;
    command.source.actor = "ann";
    command.source.comment = "fine";
    command.source.idempotency_key = key;
    return decide_resolve(*test_.run, command, test_.now);
  }

  TestRun test_{kDiamond};
};

TEST_F(DecideResolve, a_paused_step_holds_up_what_follows_until_it_is_resumed) {
  EXPECT_EQ(kinds(pause("charge", ManualKind::pause, R"({"output":{"checked":true}})")),
            Kinds({"runnable_applied", "manual_step_paused"}));
  EXPECT_EQ(test_.run->status(), RunStatus::paused);
  const RunFacts facts = test_.put(resolve(ManualAction::resumed));
  EXPECT_EQ(kinds(facts),
            Kinds({"run_signal_received", "manual_step_resolved", "runnables_planned"}));
  EXPECT_EQ(planned_steps(facts), Steps({"ship", "bill"}));
  EXPECT_EQ(the<RunnablesPlanned>(facts).runnables.front().input,
            json(R"({"order":7,"checked":true})"));
  EXPECT_EQ(test_.run->status(), RunStatus::running);
}

TEST_F(DecideResolve, a_join_waits_for_a_paused_dependency_whoever_is_last) {
  test_.apply("charge");
  pause("ship", ManualKind::pause);
  EXPECT_EQ(kinds(test_.apply("bill")), Kinds({"runnable_applied"}));
  EXPECT_EQ(planned_steps(test_.put(resolve(ManualAction::resumed))), Steps({"thank"}));
}

TEST_F(DecideResolve, a_step_that_pauses_cannot_put_itself_off_as_well) {
  const Attempt attempt = test_.completed("charge", "{}", R"({"defer":{}})");
  const RunFacts facts = test_.put(decide_pause(*test_.run, attempt, {}, test_.now));
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "manual_step_paused"}));
  test_.put(resolve(ManualAction::resumed));
  for (const std::string_view step : {"ship", "bill", "thank"}) {
    test_.apply(step);
  }
  EXPECT_EQ(test_.run->status(), RunStatus::completed);
}

TEST_F(DecideResolve, a_run_is_not_completed_while_a_step_waits) {
  TestRun two(R"([{"name":"a"},{"name":"b"}])");
  two.start();
  two.put(decide_pause(*two.run, two.completed("a"), {}, two.now));
  EXPECT_EQ(kinds(two.apply("b")), Kinds({"runnable_applied"}));
  const RunFacts facts = two.put(decide_resolve(*two.run, {}, two.now));
  EXPECT_EQ(the<RunTerminal>(facts).status, TerminalStatus::completed);
}

TEST_F(DecideResolve, an_approval_joins_the_context) {
  pause("charge", ManualKind::approval, R"({"output_key":"verdict"})");
  const RunFacts facts = test_.put(resolve(ManualAction::approved, "charge"));
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::approve_run);
  EXPECT_EQ(the<RunnablesPlanned>(facts).runnables.front().input,
            json(R"({"order":7,"verdict":{"decision":"approved","actor":"ann","decided_at":1000,)"
                 R"("comment":"fine"}})"));
}

TEST_F(DecideResolve, a_rejection_fails_the_run_unless_a_route_says_otherwise) {
  pause("charge", ManualKind::approval);
  const auto end = the<RunTerminal>(test_.put(resolve(ManualAction::rejected)));
  EXPECT_EQ(end.status, TerminalStatus::failed);
  EXPECT_NE(end.error.view().find(R"("code":"rejected")"), std::string_view::npos);

  const auto rejected_to = [](std::string_view target) {
    TestRun test(kLine);
    test.start();
    PauseStep command;
    command.kind = ManualKind::approval;
    command.metadata = json(R"({"error_target":")" + std::string(target) + R"("})");
    test.put(decide_pause(*test.run, test.completed("ask"), command, test.now));
    ResolveStep reject;
    reject.action = ManualAction::rejected;
    reject.source.actor = "ann";
    test.put(decide_resolve(*test.run, reject, test.now));
    return test.run->status();
  };
  EXPECT_EQ(rejected_to(kCompleteTarget), RunStatus::completed);
  EXPECT_EQ(rejected_to(kNextTarget), RunStatus::running);
  EXPECT_EQ(rejected_to(kFailTarget), RunStatus::failed);
}

TEST_F(DecideResolve, the_same_resolution_again_adds_nothing) {
  pause("charge", ManualKind::pause);
  test_.put(resolve(ManualAction::resumed, "", "k1"));
  EXPECT_TRUE(test_.put(resolve(ManualAction::resumed, "", "k1")).empty());
  EXPECT_TRUE(test_.put(resolve(ManualAction::resumed, "charge", "k1")).empty());
  EXPECT_TRUE(test_.put(resolve(ManualAction::resumed, "charge")).empty());
  EXPECT_TRUE(test_.put(resolve(ManualAction::resumed)).empty());
  pause("ship", ManualKind::pause);
  EXPECT_TRUE(test_.put(resolve(ManualAction::resumed, "charge")).empty());
  EXPECT_FALSE(test_.put(resolve(ManualAction::resumed)).empty());
  test_.cancel();
  EXPECT_TRUE(test_.put(resolve(ManualAction::resumed, "ship")).empty());
}

TEST_F(DecideResolve, a_key_stands_for_one_command) {
  pause("charge", ManualKind::approval);
  test_.put(resolve(ManualAction::approved, "", "k1"));
  EXPECT_EQ(code_of(resolve(ManualAction::rejected, "", "k1")), ErrorCode::idempotency_conflict);
  EXPECT_EQ(code_of(resolve(ManualAction::approved, "ship", "k1")),
            ErrorCode::idempotency_conflict);
  EXPECT_EQ(code_of(resolve(ManualAction::rejected, "charge")), ErrorCode::invalid_transition);
}

TEST_F(DecideResolve, only_what_the_run_waits_for_can_be_resolved) {
  EXPECT_EQ(code_of(resolve(ManualAction::resumed)), ErrorCode::invalid_transition);
  pause("charge", ManualKind::approval);
  EXPECT_EQ(code_of(resolve(ManualAction::resumed)), ErrorCode::invalid_transition);
  EXPECT_EQ(code_of(resolve(ManualAction::approved, "ship")), ErrorCode::stale_manual_resolution);
  ResolveStep anonymous;
  anonymous.action = ManualAction::approved;
  EXPECT_EQ(code_of(decide_resolve(*test_.run, anonymous, test_.now)), ErrorCode::invalid_argument);
  test_.cancel();
  EXPECT_EQ(code_of(resolve(ManualAction::approved)), ErrorCode::terminal_run);
  const RunProjection nobody(run_no(3));
  EXPECT_EQ(code_of(decide_resolve(nobody, anonymous, test_.now)), ErrorCode::run_not_found);
}

TEST_F(DecideResolve, a_run_waits_at_one_step_at_a_time) {
  test_.apply("charge");
  pause("ship", ManualKind::pause);
  EXPECT_EQ(code_of(decide_pause(*test_.run, test_.completed("bill"), {}, test_.now)),
            ErrorCode::active_manual_step);
  EXPECT_TRUE(test_.put(decide_pause(*test_.run, test_.completed("ship"), {}, test_.now)).empty());
}

TEST_F(DecideResolve, a_pause_with_an_unknown_target_is_refused) {
  PauseStep command;
  command.metadata = json(R"({"error_target":"thank"})");
  EXPECT_EQ(code_of(decide_pause(*test_.run, test_.completed("charge"), command, test_.now)),
            ErrorCode::invalid_argument);
  command.metadata = json("[]");
  EXPECT_EQ(code_of(decide_pause(*test_.run, test_.completed("charge"), command, test_.now)),
            ErrorCode::invalid_argument);
}

TEST_F(DecideResolve, secrets_in_the_metadata_are_not_stored) {
  pause("charge", ManualKind::approval, R"({"password":"hunter2"})");
  EXPECT_EQ(test_.run->manual_state()->metadata.view().find("hunter2"), std::string_view::npos);
  ResolveStep command;
  command.action = ManualAction::approved;
  command.source.actor = "ann";
  command.source.metadata = json(R"({"token":"hunter2"})");
  for (const RunFact& fact : test_.put(decide_resolve(*test_.run, command, test_.now))) {
    const auto entry = to_entry(fact, test_.now);
    EXPECT_EQ(entry.value().data.view().find("hunter2"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace holdfast
