// Steps whose last attempt has failed and that wait for an operator.
#include "tests/support/run_fixture.h"

namespace holdfast::run_park_test {
namespace {

constexpr std::string_view kParks =
    R"([{"name":"charge","retry":{"max_attempts":2,"delay":"70ms","then":"park"}},)"
    R"({"name":"ship","after":["charge"]}])";

ResolveStep on_parked(ManualAction action, std::string_view step = "") {
  ResolveStep command;
  command.action = action;
  command.step = step;
  return command;
}

TestRun::Decision resolving(const TestRun& test, const ResolveStep& command) {
  return [&test, command](RunProjection& run) {
    return decide_resolve(run, command, test.around, test.now);
  };
}

// The last attempt at the step has failed.
RunFacts park(TestRun& test, std::string_view step) {
  const Attempt failed = test.failed(step);
  return test.put([&](RunProjection& run) {
    return decide_after_failure(run, failed, failed.outcome->error, std::nullopt, test.around,
                                test.now);
  });
}

TEST(Park, the_run_waits_with_the_error_of_the_last_attempt) {
  TestRun test(kParks);
  test.start();
  const std::string key = test.key("charge");
  const RunFacts facts = park(test, "charge");
  EXPECT_EQ(kinds(facts), Kinds({"manual_step_paused"}));
  const auto parked = the<ManualStepPaused>(facts);
  EXPECT_EQ(parked.kind, ManualKind::parked);
  EXPECT_EQ(parked.step, SharedText("charge"));
  EXPECT_EQ(parked.runnable_key, SharedText(key));
  EXPECT_EQ(parked.queue, SharedText("default"));
  EXPECT_EQ(parked.error, json(R"({"code":"declined"})"));
  EXPECT_EQ(test.run->status(), RunStatus::parked);
  ASSERT_NE(test.run->parked("charge"), nullptr);
  EXPECT_EQ(test.run->parked("ship"), nullptr);
}

TEST(Park, without_the_option_the_step_fails_as_before) {
  TestRun test(R"([{"name":"charge","retry":{"max_attempts":2,"then":"fail"}}])");
  test.start();
  EXPECT_EQ(kinds(park(test, "charge")), Kinds({"run_terminal"}));
}

TEST(Park, what_follows_a_failure_is_decided_once) {
  TestRun test(kParks);
  test.start();
  const Attempt failed = test.failed("charge");
  const auto again = [&](RunProjection& run) {
    return decide_after_failure(run, failed, failed.outcome->error, std::nullopt, test.around,
                                test.now);
  };
  EXPECT_EQ(kinds(test.put(again)), Kinds({"manual_step_paused"}));
  EXPECT_TRUE(test.put(again).empty()) << "it is parked already";
}

TEST(Park, a_retry_plans_the_next_attempt_under_the_same_idempotency_key) {
  TestRun test(kParks);
  test.start();
  const Runnable first = test.run->latest("charge")->plan;
  park(test, "charge");
  test.now = TimeMs{5000};
  const RunFacts facts = test.put(resolving(test, on_parked(ManualAction::retried)));
  EXPECT_EQ(kinds(facts),
            Kinds({"run_signal_received", "manual_step_resolved", "runnables_planned"}));
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::retry_step);
  EXPECT_EQ(the<ManualStepResolved>(facts).action, ManualAction::retried);
  const Runnable again = planned_runnables(facts).at(0);
  EXPECT_EQ(again.runnable_key, runnable_key(run_no(1), "charge", 2));
  EXPECT_EQ(again.idempotency_key, first.idempotency_key);
  EXPECT_EQ(again.attempt_number, 2U);
  EXPECT_EQ(again.earlier_attempts, 1U);
  EXPECT_EQ(again.input, first.input);
  EXPECT_EQ(again.visible_at, TimeMs{5000});
  EXPECT_EQ(test.run->status(), RunStatus::running);
  EXPECT_EQ(planned_steps(test.apply("charge")), Steps({"ship"}));
}

TEST(Park, a_retry_has_as_many_attempts_as_the_policy_says) {
  TestRun test(kParks);
  test.start();
  const Failure flaky{json(R"({"code":"flaky"})"), true, std::nullopt};
  const auto retry_of = [&](std::string_view step) {
    return retry_at(*test.run, test.run->latest(step)->plan, flaky, test.now);
  };
  EXPECT_TRUE(retry_of("charge").has_value()) << "the first of two";
  park(test, "charge");
  test.put(resolving(test, on_parked(ManualAction::retried)));
  EXPECT_EQ(test.run->latest("charge")->plan.attempt_number, 2U);
  EXPECT_EQ(retry_of("charge"), TimeMs{1070}) << "the first of two again";
  park(test, "charge");
  test.put(resolving(test, on_parked(ManualAction::retried)));
  EXPECT_EQ(test.run->latest("charge")->plan.earlier_attempts, 2U);
}

TEST(Park, a_retry_may_have_another_input) {
  TestRun test(R"([{"name":"charge","retry":{"then":"park"},"input_schema":{"card":"string"}}])");
  test.start(R"({"card":"c-1"})");
  park(test, "charge");
  ResolveStep command = on_parked(ManualAction::retried, "charge");
  command.input = json("[1]");
  EXPECT_EQ(code_of(test.dry_run(resolving(test, command))), ErrorCode::invalid_argument);
  command.input = json(R"({"card":7})");
  EXPECT_EQ(code_of(test.dry_run(resolving(test, command))), ErrorCode::invalid_payload);
  command.input = json(R"({"card":"c-2"})");
  EXPECT_EQ(planned_runnables(test.put(resolving(test, command))).at(0).input,
            json(R"({"card":"c-2"})"));
}

TEST(Park, a_discarded_step_fails_as_it_would_have_failed) {
  TestRun plain(kParks);
  plain.start();
  park(plain, "charge");
  const RunFacts ended = plain.put(resolving(plain, on_parked(ManualAction::discarded)));
  EXPECT_EQ(kinds(ended), Kinds({"run_signal_received", "manual_step_resolved", "run_terminal"}));
  EXPECT_EQ(the<RunSignalReceived>(ended).signal_type, SignalType::discard_step);
  EXPECT_EQ(plain.run->terminal()->error, json(R"({"code":"declined"})"));
  EXPECT_FALSE(plain.run->terminal()->exhausted.has_value()) << "it was decided";

  TestRun routed(flow(R"([{"name":"charge","retry":{"then":"park"}},{"name":"sorry"}])",
                      R"([{"from":"charge","on":"error","to":"sorry"}])"));
  routed.start();
  park(routed, "charge");
  EXPECT_EQ(planned_steps(routed.put(resolving(routed, on_parked(ManualAction::discarded)))),
            Steps({"sorry"}));

  TestRun undone(R"([{"name":"book","compensate":"unbook"},)"
                 R"({"name":"charge","retry":{"then":"park"},"after":["book"]}])");
  undone.start();
  undone.apply("book");
  park(undone, "charge");
  EXPECT_EQ(planned_steps(undone.put(resolving(undone, on_parked(ManualAction::discarded)))),
            Steps({"compensate:book"}));
}

TEST(Park, a_command_that_is_repeated_adds_nothing) {
  TestRun test(kParks);
  test.start();
  park(test, "charge");
  ResolveStep keyed = on_parked(ManualAction::retried, "charge");
  keyed.source.idempotency_key = "k1";
  test.put(resolving(test, keyed));
  EXPECT_TRUE(test.put(resolving(test, keyed)).empty());
  EXPECT_TRUE(test.put(resolving(test, on_parked(ManualAction::retried, "charge"))).empty())
      << "it was retried, and is not parked";
  park(test, "charge");
  EXPECT_TRUE(test.put(resolving(test, keyed)).empty()) << "the key was used for the retry before";
  EXPECT_EQ(planned_steps(test.put(resolving(test, on_parked(ManualAction::retried, "charge")))),
            Steps({"charge"}))
      << "it is parked again";
  ResolveStep other = keyed;
  other.input = json(R"({"order":8})");
  EXPECT_EQ(code_of(test.dry_run(resolving(test, other))), ErrorCode::idempotency_conflict);
  other = keyed;
  other.action = ManualAction::discarded;
  EXPECT_EQ(code_of(test.dry_run(resolving(test, other))), ErrorCode::idempotency_conflict);
}

TEST(Park, a_command_for_one_attempt_does_not_decide_about_another) {
  TestRun test(kParks);
  test.start();
  ResolveStep first = on_parked(ManualAction::retried, "charge");
  first.runnable_key = test.key("charge");
  ResolveStep discard = first;
  discard.action = ManualAction::discarded;
  park(test, "charge");
  test.put(resolving(test, first));
  park(test, "charge");
  EXPECT_TRUE(test.put(resolving(test, first)).empty()) << "that attempt was retried";
  EXPECT_EQ(code_of(test.dry_run(resolving(test, discard))), ErrorCode::stale_manual_resolution);
  discard.runnable_key = test.key("charge");
  EXPECT_EQ(kinds(test.put(resolving(test, discard))).back(), "run_terminal");
}

TEST(Park, other_decisions_do_not_fit_and_the_others_do_not_fit_these) {
  TestRun test(R"([{"name":"charge","retry":{"then":"park"}},{"name":"look","pause":true}])");
  test.start();
  park(test, "charge");
  EXPECT_EQ(test.run->status(), RunStatus::parked) << "a pause and a parked step";
  for (const ManualAction action : {ManualAction::resumed, ManualAction::approved}) {
    EXPECT_EQ(code_of(test.dry_run(resolving(test, on_parked(action, "charge")))),
              ErrorCode::invalid_transition);
  }
  for (const ManualAction action : {ManualAction::retried, ManualAction::discarded}) {
    EXPECT_EQ(code_of(test.dry_run(resolving(test, on_parked(action, "look")))),
              ErrorCode::invalid_transition);
  }
  test.put(resolving(test, on_parked(ManualAction::retried)));
  EXPECT_EQ(test.run->status(), RunStatus::running);
}

TEST(Park, an_item_is_parked_alone_and_its_list_continues_when_it_is_retried) {
  TestRun test(R"([{"name":"send","for_each":{"items":[1,2]},"retry":{"then":"park"}}])");
  test.start();
  park(test, "send[0]");
  EXPECT_EQ(test.run->status(), RunStatus::running) << "the other item is not done";
  test.apply("send[1]");
  test.put(resolving(test, on_parked(ManualAction::retried, "send[0]")));
  EXPECT_EQ(kinds(test.apply("send[0]")).back(), "run_terminal");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Park, a_compensation_can_be_parked_and_a_step_of_a_compensating_run_is_not) {
  TestRun test(R"([{"name":"book","compensate":{"handler":"unbook","retry":{"then":"park"}}},)"
               R"({"name":"pay","after":["book"]}])");
  test.start();
  test.apply("book");
  test.fail("pay");
  EXPECT_EQ(kinds(park(test, "compensate:book")), Kinds({"manual_step_paused"}));
  EXPECT_EQ(test.run->status(), RunStatus::compensating);
  test.put(resolving(test, on_parked(ManualAction::retried, "compensate:book")));
  EXPECT_EQ(kinds(test.apply("compensate:book")), Kinds({"runnable_applied", "run_terminal"}));

  TestRun two(R"([{"name":"book","compensate":"unbook"},{"name":"pay","after":["book"]},)"
              R"({"name":"pack","after":["book"],"retry":{"then":"park"},"compensate":"unpack"}])");
  two.start();
  two.apply("book");
  two.around.claimed.insert(two.key("pack"));
  two.fail("pay");
  EXPECT_EQ(two.run->status(), RunStatus::compensating);
  EXPECT_EQ(kinds(two.fail("pack")).front(), "runnable_applied") << "it has ended";
}

TEST(Park, compensation_and_cancellation_end_what_is_parked) {
  TestRun test(R"([{"name":"book","compensate":"unbook"},)"
               R"({"name":"charge","retry":{"then":"park"},"after":["book"]},)"
               R"({"name":"pay","after":["book"]}])");
  test.start();
  test.apply("book");
  park(test, "charge");
  EXPECT_EQ(the<RunnablesWithdrawn>(test.fail("pay")).runnable_keys.size(), 2U);
  EXPECT_TRUE(test.run->boundaries().empty());

  TestRun cancelled(kParks);
  cancelled.start();
  park(cancelled, "charge");
  cancelled.cancel();
  EXPECT_EQ(cancelled.run->status(), RunStatus::cancelled);
  EXPECT_EQ(code_of(cancelled.dry_run(resolving(cancelled, on_parked(ManualAction::retried)))),
            ErrorCode::terminal_run);
}

TEST(Park, a_child_step_cannot_park) {
  const auto refused = Definition::parse(
      R"({"workflow":"w","steps":[{"name":"a","child":"b","retry":{"then":"park"}}]})");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_definition);
}

TEST(Park, a_definition_without_the_option_keeps_its_fingerprint) {
  const auto plain = definition_of(R"([{"name":"a","retry":{"max_attempts":2}}])");
  const auto fails = definition_of(R"([{"name":"a","retry":{"max_attempts":2,"then":"fail"}}])");
  const auto parks = definition_of(R"([{"name":"a","retry":{"max_attempts":2,"then":"park"}}])");
  EXPECT_EQ(plain->fingerprint(), fails->fingerprint());
  EXPECT_NE(plain->fingerprint(), parks->fingerprint());
}

}  // namespace
}  // namespace holdfast::run_park_test
