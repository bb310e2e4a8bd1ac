#include "tests/support/run_fixture.h"

namespace holdfast::run_decide_continue_test {
namespace {

class DecideContinue : public ::testing::Test {
 protected:
  DecideContinue() { test_.start(); }
  static ContinueRun command(std::string_view key = "page-2") {
    return {SharedText(key), json(R"({"page":2})")};
  }
  TestRun::Decision decide(const ContinueRun& command) {
    return [this, command](RunProjection& run) { return decide_continue(run, command, test_.now); };
  }
  TestRun::Decision decide_from(std::string_view step, const ContinueRun& command) {
    return [this, command, attempt = test_.completed(step)](RunProjection& run) {
      return decide_continue(run, attempt, command, test_.now);
    };
  }

  TestRun test_{kDiamond};
};

TEST_F(DecideContinue, the_last_open_step_may_hand_over_to_a_successor) {
  const RunFacts facts = test_.put(decide_from("charge", command()));
  EXPECT_EQ(kinds(facts),
            Kinds({"runnable_applied", "run_continuation_requested", "run_terminal"}));
  EXPECT_EQ(test_.run->status(), RunStatus::continued);
  const auto request = the<RunContinuationRequested>(facts);
  EXPECT_EQ(request.successor_run_id, successor_run_id(run_no(1), "page-2"));
  EXPECT_EQ(request.definition_fingerprint, test_.definition->fingerprint());
  EXPECT_NE(request.successor_run_id, successor_run_id(run_no(1), "page-3"));
}

TEST_F(DecideContinue, the_successor_names_its_predecessor) {
  const auto request = the<RunContinuationRequested>(test_.put(decide_from("charge", command())));
  RunStarted predecessor = *test_.run->started();
  predecessor.queue = "slow";
  predecessor.context = json(R"({"parent":{"run_id":"p"}})");
  const StartRun start = start_of_successor(request, predecessor, test_.definition);
  EXPECT_EQ(start.queue, SharedText("slow"));
  EXPECT_EQ(start.context, predecessor.context);
  EXPECT_EQ(start.input, json(R"({"page":2})"));
  RunProjection successor(start.run_id);
  const auto facts = decide_start(successor, start, nothing_around(), test_.now);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(kinds(facts.value()), Kinds({"run_signal_received", "run_started", "run_continued_from",
                                         "runnables_planned"}));
  EXPECT_TRUE(successor.anomalies().empty());
  EXPECT_EQ(successor.continued_from()->predecessor_run_id, run_no(1));
}

TEST_F(DecideContinue, the_same_request_again_adds_nothing_and_another_is_refused) {
  const auto from_charge = decide_from("charge", command());
  test_.put(from_charge);
  EXPECT_TRUE(test_.put(decide(command())).empty());
  EXPECT_TRUE(test_.put(from_charge).empty());
  EXPECT_EQ(code_of(test_.dry_run(decide(command("page-3")))), ErrorCode::conflicting_continuation);
}

TEST_F(DecideContinue, work_that_is_open_would_be_lost) {
  EXPECT_EQ(code_of(test_.dry_run(decide(command()))), ErrorCode::unsafe_continuation);
  test_.apply("charge");
  const auto refused = test_.dry_run(decide_from("ship", command()));
  EXPECT_EQ(code_of(refused), ErrorCode::unsafe_continuation);
  EXPECT_EQ(refused.error().field("step"), "bill");
}

TEST_F(DecideContinue, a_run_that_waits_or_has_ended_cannot_continue) {
  TestRun waiting(R"([{"name":"look","pause":true}])");
  waiting.start();
  const auto proceed = [&](RunProjection& run) {
    return decide_continue(run, command(), waiting.now);
  };
  const auto refused = waiting.dry_run(proceed);
  EXPECT_EQ(code_of(refused), ErrorCode::unsafe_continuation);
  EXPECT_EQ(refused.error().field("reason"), "manual_state");
  waiting.cancel();
  EXPECT_EQ(code_of(waiting.dry_run(proceed)), ErrorCode::terminal_run);
}

TEST_F(DecideContinue, a_run_with_anomalies_cannot_continue) {
  RunnableApplied unknown;
  unknown.run_id = run_no(1);
  unknown.runnable_key = "other";
  test_.run->evolve(test_.now, unknown);
  EXPECT_EQ(code_of(test_.dry_run(decide_from("charge", command()))),
            ErrorCode::unsafe_continuation);
}

TEST_F(DecideContinue, a_command_that_makes_no_sense_is_refused) {
  EXPECT_EQ(code_of(test_.dry_run(decide(command("")))), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(test_.dry_run(decide({"k", json("3")}))), ErrorCode::invalid_argument);
  RunProjection unknown(run_no(3));
  EXPECT_EQ(code_of(decide_continue(unknown, command(), test_.now)), ErrorCode::run_not_found);
}

}  // namespace
}  // namespace holdfast::run_decide_continue_test
