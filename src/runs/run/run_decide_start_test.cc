#include "tests/support/run_fixture.h"

namespace holdfast::run_decide_start_test {
namespace {

TestRun::Decision starting(const TestRun& test, const StartRun& command) {
  return [&test, command](RunProjection& run) {
    return decide_start(run, command, test.around, test.now);
  };
}

TEST(DecideStart, start_plans_every_step_that_waits_for_nothing) {
  TestRun test(R"([{"name":"a"},{"name":"b"},{"name":"c","after":["a","b"]}])");
  const RunFacts facts = test.start();
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "run_started", "runnables_planned"}));
  EXPECT_EQ(planned_steps(facts), Steps({"a", "b"}));
  EXPECT_EQ(test.run->status(), RunStatus::running);
}

TEST(DecideStart, a_planned_runnable_says_all_its_queue_needs) {
  TestRun test(R"([{"name":"a","handler":"do_a","lease":"5s"}])");
  const Runnable runnable = the<RunnablesPlanned>(test.start()).runnables.front();
  EXPECT_EQ(runnable.run_id, run_no(1));
  EXPECT_EQ(runnable.runnable_key, runnable_key(run_no(1), "a", 1));
  EXPECT_EQ(runnable.idempotency_key, runnable.runnable_key);
  EXPECT_EQ(runnable.attempt_number, 1U);
  EXPECT_EQ(runnable.queue, SharedText(kDefaultQueue));
  EXPECT_EQ(runnable.handler, SharedText("do_a"));
  EXPECT_EQ(runnable.policy.claim.lease_ms, 5000U);
  EXPECT_EQ(runnable.visible_at, TimeMs{1000});
  EXPECT_EQ(runnable.input, json(R"({"order":7})"));
  const AttemptScheduled intent = intent_of(runnable, "order");
  EXPECT_EQ(intent.workflow, SharedText("order"));
  EXPECT_EQ(intent.handler, SharedText("do_a"));
  EXPECT_TRUE(to_entry(DispatchFact(intent), TimeMs{1000}).ok());
}

TEST(DecideStart, the_queue_of_a_step_wins_over_that_of_the_run) {
  TestRun test(R"([{"name":"a","queue":"slow"},{"name":"b"}])");
  StartRun command = test.start_command();
  command.queue = "fast";
  const auto runnables = the<RunnablesPlanned>(test.start(command)).runnables;
  EXPECT_EQ(runnables[0].queue, SharedText("slow"));
  EXPECT_EQ(runnables[1].queue, SharedText("fast"));
}

TEST(DecideStart, the_run_is_pinned_to_its_definition) {
  TestRun test(kLine);
  const auto started = the<RunStarted>(test.start());
  EXPECT_EQ(started.workflow, SharedText("order"));
  EXPECT_EQ(started.definition_fingerprint, test.definition->fingerprint());
  EXPECT_EQ(started.definition_version, SharedText("1"));
  EXPECT_EQ(started.trigger, SharedText("manual"));
}

TEST(DecideStart, starting_the_same_run_again_adds_nothing) {
  TestRun test(kLine);
  test.start();
  test.now = TimeMs{9000};
  EXPECT_TRUE(test.start().empty());
  test.cancel();
  EXPECT_TRUE(test.start().empty());
}

TEST(DecideStart, another_run_under_the_same_id_is_refused) {
  TestRun test(kLine);
  test.start();
  StartRun command = test.start_command();
  command.input = json(R"({"order":8})");
  const auto other_input = test.dry_run(starting(test, command));
  EXPECT_EQ(code_of(other_input), ErrorCode::run_exists);
  EXPECT_EQ(other_input.error().field("field"), "input");
  command = test.start_command();
  command.trigger = "cron";
  EXPECT_EQ(code_of(test.dry_run(starting(test, command))), ErrorCode::run_exists);
  command = test.start_command();
  command.definition = definition_of(kDiamond);
  EXPECT_EQ(code_of(test.dry_run(starting(test, command))), ErrorCode::run_exists);
  command.definition = definition_of(kLine, "other");
  EXPECT_EQ(code_of(test.dry_run(starting(test, command))), ErrorCode::run_exists);
}

TEST(DecideStart, what_cannot_be_stored_is_refused) {
  TestRun test(kLine);
  const auto code_with = [&](auto change) {
    StartRun command = test.start_command();
    change(command);
    return code_of(test.dry_run(starting(test, command)));
  };
  EXPECT_EQ(code_with([](StartRun& start) { start.input = json("[1]"); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](StartRun& start) { start.context = json("3"); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](StartRun& start) { start.queue = "a:b"; }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](StartRun& start) { start.search_attributes = json(R"({"Bad":1})"); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_with([](StartRun& start) { start.run_id = run_no(2); }), ErrorCode::wrong_run);
}

TEST(DecideStart, secrets_in_the_metadata_are_not_stored) {
  TestRun test(kLine);
  StartRun command = test.start_command();
  command.source.metadata = json(R"({"password":"hunter2","team":"a"})");
  const auto receipt = the<RunSignalReceived>(test.start(command));
  EXPECT_EQ(receipt.metadata.view().find("hunter2"), std::string_view::npos);
  EXPECT_NE(receipt.metadata.view().find(R"("team":"a")"), std::string_view::npos);
}

TEST(DecideStart, a_replay_names_the_run_it_repeats) {
  TestRun test(kLine);
  StartRun command = test.start_command();
  command.replayed_from = run_no(5);
  command.started_by = StartedBy::replay;
  const RunFacts facts = test.start(command);
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::replay_run);
  EXPECT_EQ(the<RunStarted>(facts).replayed_from_run_id, run_no(5));
}

}  // namespace
}  // namespace holdfast::run_decide_start_test
