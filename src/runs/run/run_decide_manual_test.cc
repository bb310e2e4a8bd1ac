#include "tests/support/run_fixture.h"

namespace holdfast::run_decide_manual_test {
namespace {

TestRun::Decision cancelling(const TestRun& test, const CommandSource& source = {}) {
  return [&test, source](RunProjection& run) {
    return decide_cancel(run, source, OnCancel::as_defined, test.around, test.now);
  };
}

TEST(DecideCancel, a_run_is_cancelled_once) {
  TestRun test(kLine);
  test.start();
  CommandSource source;
  source.actor = "ann";
  source.metadata = json(R"({"api_key":"hunter2"})");
  const RunFacts facts = test.put(cancelling(test, source));
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "run_terminal"}));
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::cancel_run);
  EXPECT_EQ(the<RunSignalReceived>(facts).metadata.view().find("hunter2"), std::string_view::npos);
  EXPECT_EQ(test.run->status(), RunStatus::cancelled);
  EXPECT_TRUE(test.put(cancelling(test, source)).empty());
}

TEST(DecideCancel, a_run_that_ended_otherwise_or_never_began_cannot_be_cancelled) {
  TestRun test(R"([{"name":"one"}])");
  EXPECT_EQ(code_of(test.dry_run(cancelling(test))), ErrorCode::run_not_found);
  test.start();
  test.apply("one");
  EXPECT_EQ(code_of(test.dry_run(cancelling(test))), ErrorCode::invalid_transition);
}

// look is a pause, then decide an approval, then look_again a pause.
constexpr std::string_view kManual =
    R"([{"name":"look","pause":{"reason":"order {order}"}},)"
    R"({"name":"decide","approval":true,"output":"verdict","after":["look"]},)"
    R"({"name":"look_again","pause":true,"after":["decide"]}])";

class DecideResolve : public ::testing::Test {
 protected:
  DecideResolve() { test_.start(); }

  Result<RunFacts> resolve(ManualAction action, std::string_view step = "",
                           std::string_view key = "") {
    return test_.dry_run(test_.resolving(action, step, key));
  }
  RunFacts put(ManualAction action, std::string_view step = "", std::string_view key = "") {
    return test_.put(test_.resolving(action, step, key));
  }

  TestRun test_{kManual};
};

TEST_F(DecideResolve, a_resolution_applies_its_step) {
  const RunFacts facts = put(ManualAction::resumed);
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "manual_step_resolved", "runnable_applied",
                                 "runnables_planned", "manual_step_paused"}));
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::resume_run);
  EXPECT_EQ(the<ManualStepResolved>(facts).step, SharedText("look"));
}

TEST_F(DecideResolve, a_decision_joins_the_context_under_the_output_of_its_step) {
  put(ManualAction::resumed);
  ResolveStep command;
  command.action = ManualAction::approved;
  command.source.actor = "ann";
  command.source.comment = "fine";
  command.source.metadata = json(R"({"ticket":3,"token":"hunter2"})");
  const RunFacts facts = test_.put(
      [&](RunProjection& run) { return decide_resolve(run, command, test_.around, test_.now); });
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::approve_run);
  const std::string context(test_.run->context().view());
  EXPECT_NE(context.find(R"("verdict":{"decision":"approved","actor":"ann","decided_at":1000,)"
                         R"("comment":"fine","metadata":{"ticket":3,)"),
            std::string::npos)
      << context;
  for (const RunFact& fact : facts) {
    const auto entry = to_entry(fact, test_.now);
    EXPECT_EQ(entry.value().data.view().find("hunter2"), std::string_view::npos) << kind_of(fact);
  }
}

TEST_F(DecideResolve, the_same_resolution_again_adds_nothing) {
  put(ManualAction::resumed, "", "k1");
  EXPECT_TRUE(put(ManualAction::resumed, "", "k1").empty());
  EXPECT_TRUE(put(ManualAction::resumed, "look", "k1").empty());
  EXPECT_TRUE(put(ManualAction::resumed, "look").empty());
  put(ManualAction::approved);
  EXPECT_TRUE(put(ManualAction::resumed, "look").empty());
  EXPECT_TRUE(put(ManualAction::approved, "decide").empty());
  EXPECT_FALSE(put(ManualAction::resumed).empty()) << "it waits again, so that is meant";
  EXPECT_EQ(test_.run->status(), RunStatus::completed);
  EXPECT_TRUE(put(ManualAction::resumed).empty());
  EXPECT_TRUE(put(ManualAction::resumed, "look_again").empty());
}

TEST_F(DecideResolve, a_key_stands_for_one_command) {
  put(ManualAction::resumed);
  put(ManualAction::approved, "", "k1");
  EXPECT_EQ(code_of(resolve(ManualAction::rejected, "", "k1")), ErrorCode::idempotency_conflict);
  EXPECT_EQ(code_of(resolve(ManualAction::approved, "look", "k1")),
            ErrorCode::idempotency_conflict);
  EXPECT_EQ(code_of(resolve(ManualAction::rejected, "decide")), ErrorCode::stale_manual_resolution);
}

TEST_F(DecideResolve, only_what_the_run_waits_for_can_be_resolved) {
  EXPECT_EQ(code_of(resolve(ManualAction::approved)), ErrorCode::invalid_transition);
  EXPECT_EQ(code_of(resolve(ManualAction::approved, "look")), ErrorCode::invalid_transition);
  put(ManualAction::resumed);
  EXPECT_EQ(code_of(resolve(ManualAction::approved, "look_again")),
            ErrorCode::stale_manual_resolution);
  const auto anonymous = [&](RunProjection& run) {
    ResolveStep command;
    command.action = ManualAction::approved;
    return decide_resolve(run, command, test_.around, test_.now);
  };
  const auto refused = test_.dry_run(anonymous);
  EXPECT_EQ(code_of(refused), ErrorCode::invalid_argument);
  EXPECT_EQ(refused.error().field("field"), "actor");
  test_.cancel();
  EXPECT_EQ(code_of(resolve(ManualAction::approved)), ErrorCode::terminal_run);
  RunProjection unknown(run_no(3));
  EXPECT_EQ(code_of(anonymous(unknown)), ErrorCode::run_not_found);
}

TEST_F(DecideResolve, a_running_run_waits_for_no_decision) {
  TestRun other(kLine);
  other.start();
  EXPECT_EQ(code_of(other.dry_run(other.resolving(ManualAction::resumed))),
            ErrorCode::invalid_transition);
}

}  // namespace
}  // namespace holdfast::run_decide_manual_test
