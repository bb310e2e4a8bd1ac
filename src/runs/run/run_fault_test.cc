// Runs that wait because their definition has a fault, and continue on a corrected one.
#include "runs/facts/activation.h"
#include "runs/run/run_migration.h"
#include "runs/run/run_rules.h"
#include "tests/support/run_fixture.h"

namespace holdfast::run_fault_test {
namespace {

using DefinitionPtr = std::shared_ptr<const Definition>;

RunFacts migrate(TestRun& test, const DefinitionPtr& target) {
  return test.put([&](RunProjection& run) {
    MigrateRun command;
    command.target = target;
    command.source.actor = "ann";
    return decide_migrate(run, command, test.around, test.now);
  });
}

std::string blocker(TestRun& test, const DefinitionPtr& target) {
  const auto decided = test.dry_run([&](RunProjection& run) {
    MigrateRun command;
    command.target = target;
    return decide_migrate(run, command, test.around, test.now);
  });
  return decided.ok() ? "" : std::string(decided.error().field("reason"));
}

// charge, then ship with an input from a path.
std::string shipping(std::string_view path) {
  return R"([{"name":"charge","output":"payment"},{"name":"ship","after":["charge"],)"
         R"("input":{"to":")" +
         std::string(path) + R"("}}])";
}

TEST(Fault, a_path_that_leads_nowhere_parks_the_step_with_the_error) {
  TestRun test(shipping("payment.adress"));
  test.start();
  const RunFacts facts = test.apply("charge", R"({"address":"Bern"})");
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "runnables_planned", "manual_step_paused"}));
  const auto parked = the<ManualStepPaused>(facts);
  EXPECT_EQ(parked.kind, ManualKind::parked);
  EXPECT_EQ(parked.step, SharedText("ship"));
  EXPECT_EQ(parked.runnable_key, SharedText(test.key("ship")));
  EXPECT_EQ(parked.queue, SharedText("default"));
  EXPECT_NE(parked.error.view().find(R"("missing_at":"adress")"), std::string_view::npos);
  EXPECT_EQ(test.parked_code("ship"), "missing_input_path");
  EXPECT_EQ(test.run->status(), RunStatus::parked);
  EXPECT_TRUE(is_fault(*test.run, *test.run->parked("ship")));
}

TEST(Fault, a_migration_continues_it_on_the_corrected_definition) {
  TestRun test(shipping("payment.adress"));
  test.start();
  test.apply("charge", R"({"address":"Bern"})");
  const std::string first = test.key("ship");
  const RunFacts facts = migrate(test, definition_of(shipping("payment.address")));
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "run_definition_migrated",
                                 "manual_step_resolved", "runnables_planned"}));
  EXPECT_EQ(the<ManualStepResolved>(facts).action, ManualAction::retried);
  EXPECT_EQ(planned_steps(facts), Steps({"ship"})) << "charge is not repeated";
  const Runnable& ship = test.plan_of("ship");
  EXPECT_EQ(ship.input, json(R"({"to":"Bern"})"));
  EXPECT_EQ(ship.handler, SharedText("ship"));
  EXPECT_EQ(ship.attempt_number, 2U);
  EXPECT_EQ(ship.earlier_attempts, 1U);
  EXPECT_EQ(ship.idempotency_key, SharedText(first));
  test.apply("ship");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Fault, a_retry_on_the_same_definition_parks_it_again) {
  TestRun test(shipping("payment.adress"));
  test.start();
  test.apply("charge", R"({"address":"Bern"})");
  const RunFacts facts = test.resolve(ManualAction::retried);
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "manual_step_resolved", "runnables_planned",
                                 "manual_step_paused"}));
  EXPECT_EQ(test.plan_of("ship").attempt_number, 2U);
  EXPECT_EQ(the<ManualStepPaused>(facts).runnable_key, SharedText(test.key("ship")));
  EXPECT_EQ(test.parked_code("ship"), "missing_input_path");
  migrate(test, definition_of(shipping("payment.address")));
  EXPECT_EQ(test.plan_of("ship").attempt_number, 3U);
  EXPECT_EQ(test.plan_of("ship").earlier_attempts, 2U);
}

TEST(Fault, a_retry_can_bring_the_input) {
  TestRun test(shipping("payment.adress"));
  test.start();
  test.apply("charge");
  ResolveStep command;
  command.action = ManualAction::retried;
  command.input = json(R"({"to":"Basel"})");
  test.put([&](RunProjection& run) { return decide_resolve(run, command, test.around, test.now); });
  EXPECT_EQ(test.input("ship"), json(R"({"to":"Basel"})"));
  test.apply("ship");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Fault, what_the_engine_does_takes_no_input) {
  TestRun test(R"([{"name":"rest","wait":{"until":"at"}}])");
  test.start();
  ResolveStep command;
  command.action = ManualAction::retried;
  command.input = json("{}");
  EXPECT_EQ(code_of(test.dry_run([&](RunProjection& run) {
              return decide_resolve(run, command, test.around, test.now);
            })),
            ErrorCode::invalid_argument);
}

TEST(Fault, a_discarded_one_fails_its_step) {
  TestRun test(shipping("payment.adress"));
  test.start();
  test.apply("charge");
  test.resolve(ManualAction::discarded);
  EXPECT_EQ(test.run->status(), RunStatus::failed);
  EXPECT_EQ(test.error_code(), "missing_input_path");
  EXPECT_FALSE(test.run->terminal()->exhausted.has_value()) << "no attempt failed";
}

TEST(Fault, other_paths_continue_meanwhile) {
  TestRun test(R"([{"name":"ship","input":{"to":"address"}},{"name":"bill"},)"
               R"({"name":"thank","after":["bill"]},{"name":"end","after":["ship","thank"]}])");
  test.start();
  EXPECT_EQ(test.run->status(), RunStatus::running);
  test.apply("bill");
  test.apply("thank");
  EXPECT_EQ(test.run->status(), RunStatus::parked);
  migrate(test, definition_of(R"([{"name":"ship"},{"name":"bill"},)"
                              R"({"name":"thank","after":["bill"]},)"
                              R"({"name":"end","after":["ship","thank"]}])"));
  EXPECT_EQ(planned_steps(test.apply("ship")), Steps({"end"}));
}

TEST(Fault, the_corrected_step_may_be_another_kind_or_wait_for_what_is_done) {
  const std::string charge = R"({"name":"charge"})";
  TestRun test("[" + charge + R"(,{"name":"ship","input":{"to":"address"}}])");
  test.start();
  const auto later =
      definition_of("[" + charge + R"(,{"name":"ship","after":["charge"],"log":"shipped"}])");
  EXPECT_EQ(blocker(test, later), "dependency_not_done");
  test.apply("charge");
  EXPECT_EQ(blocker(test, later), "");
  migrate(test, later);
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Fault, what_is_not_faulty_still_has_to_be_the_same) {
  TestRun test(R"([{"name":"a"},{"name":"b"},{"name":"c","input":{"x":"missing"}}])");
  test.start();
  test.apply("a");
  EXPECT_EQ(blocker(test, definition_of(R"([{"name":"a"},{"name":"b","handler":"z"},)"
                                        R"({"name":"c"}])")),
            "step_changed");
  EXPECT_EQ(blocker(test, definition_of(R"([{"name":"a","output":"z"},{"name":"b"},)"
                                        R"({"name":"c"}])")),
            "step_changed");
  EXPECT_EQ(blocker(test, definition_of(R"([{"name":"a"},{"name":"b"}])")), "step_removed");
}

TEST(Fault, a_step_that_a_worker_parked_stays_parked_and_must_be_the_same) {
  TestRun test(R"([{"name":"charge","retry":{"then":"park"}}])");
  test.start();
  test.fail("charge");
  EXPECT_FALSE(is_fault(*test.run, *test.run->parked("charge")));
  EXPECT_EQ(blocker(test, definition_of(R"([{"name":"charge","handler":"z"}])")), "step_changed");
  const RunFacts facts =
      migrate(test, definition_of(R"([{"name":"charge","retry":{"then":"park"}},)"
                                  R"({"name":"more","after":["charge"]}])"));
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "run_definition_migrated"}));
  EXPECT_EQ(test.run->status(), RunStatus::parked);
}

TEST(Fault, the_compensation_of_other_steps_does_not_take_the_error) {
  TestRun test(R"([{"name":"charge","compensate":"refund"},)"
               R"({"name":"ship","after":["charge"],"input":{"to":"address"}}])");
  test.start();
  test.apply("charge");
  EXPECT_EQ(test.run->status(), RunStatus::parked);
  test.cancel(OnCancel::compensate);
  EXPECT_EQ(test.run->status(), RunStatus::compensating);
  EXPECT_EQ(test.run->parked("ship"), nullptr);
  test.apply("compensate:charge");
  EXPECT_EQ(test.run->status(), RunStatus::cancelled);
}

TEST(FaultyWait, the_time_is_read_again) {
  TestRun test(R"([{"name":"rest","wait":{"until":"at"}}])");
  test.start(R"({"when":9000})");
  EXPECT_EQ(test.parked_code("rest"), "invalid_wait_time");
  migrate(test, definition_of(R"([{"name":"rest","wait":{"until":"when"}}])"));
  EXPECT_EQ(test.plan_of("rest").visible_at, TimeMs{9000});
  EXPECT_EQ(test.plan_of("rest").earlier_attempts, 1U);
  test.fire(test.key("rest"));
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(FaultyEvent, the_correlation_is_read_again) {
  const auto hears = [](std::string_view path) {
    return definition_of(R"([{"name":"hear","await_event":{"event":"paid","timeout":"1m",)"
                         R"("correlation":{"path":")" +
                         std::string(path) + R"("}}}])");
  };
  TestRun test(hears("oder"));
  test.start();
  EXPECT_EQ(test.parked_code("hear"), "missing_input_path");
  test.send("paid", "k1", R"({"sum":3})", "7");
  migrate(test, hears("order"));
  EXPECT_EQ(test.run->status(), RunStatus::completed) << "the buffered event ends the wait";
}

TEST(FaultyChild, it_starts_when_its_workflow_is_there) {
  TestRun test(R"([{"name":"send","child":"parcel"}])");
  test.start();
  EXPECT_EQ(test.parked_code("send"), "unknown_workflow");
  test.around.workflows["parcel"] = definition_of(R"([{"name":"pack"}])", "parcel");
  const RunFacts facts = test.resolve(ManualAction::retried);
  EXPECT_EQ(the<ChildRunStarted>(facts).child_workflow, SharedText("parcel"));
  EXPECT_EQ(test.run->status(), RunStatus::running);
}

TEST(FaultyList, its_items_are_taken_from_the_corrected_definition) {
  TestRun test(R"([{"name":"mail","for_each":"peple"},{"name":"end","after":["mail"]}])");
  test.start(R"({"people":["ann","bob"]})");
  EXPECT_EQ(test.parked_code("mail"), "invalid_items");
  const RunFacts facts = migrate(test, definition_of(R"([{"name":"mail","for_each":"people"},)"
                                                     R"({"name":"end","after":["mail"]}])"));
  EXPECT_EQ(planned_steps(facts), Steps({"mail", "mail[0]", "mail[1]"}));
  test.apply("mail[1]", "2");
  EXPECT_EQ(planned_steps(test.apply("mail[0]", "1")), Steps({"end"}));
  EXPECT_EQ(*test.run->context_member("mail"), "[1,2]");
}

std::string mailing(std::string_view path, std::string_view more = "") {
  return R"([{"name":"mail","for_each":{"items":"people")" + std::string(more) +
         R"(},"input":{"to":")" + std::string(path) + R"("}}])";
}

TEST(FaultyList, a_faulty_item_holds_back_the_items_after_it) {
  TestRun test(mailing("item.mail"));
  const RunFacts facts =
      test.start(R"({"people":[{"mail":"a","name":"A"},{"name":"B"},{"mail":"c","name":"C"}]})");
  EXPECT_EQ(planned_steps(facts), Steps({"mail", "mail[0]", "mail[1]"}));
  EXPECT_EQ(test.parked_code("mail[1]"), "missing_input_path");
  const auto corrected = definition_of(mailing("item.name"));
  EXPECT_EQ(blocker(test, corrected), "step_changed") << "mail[0] is open";
  EXPECT_EQ(planned_steps(test.apply("mail[0]", "0")), Steps());
  EXPECT_EQ(blocker(test, definition_of(mailing("item.name", R"(,"concurrency":1)"))),
            "step_changed")
      << "the list itself has begun";
  EXPECT_EQ(planned_steps(migrate(test, corrected)), Steps({"mail[1]", "mail[2]"}));
  EXPECT_EQ(test.input("mail[1]"), json(R"({"to":"B"})"));
  test.apply("mail[1]", "1");
  test.apply("mail[2]", "2");
  EXPECT_EQ(*test.run->context_member("mail"), "[0,1,2]");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(FaultyList, a_discarded_item_fails_the_list) {
  TestRun test(mailing("item.mail"));
  test.start(R"({"people":[{},{}]})");
  test.resolve(ManualAction::discarded);
  EXPECT_EQ(test.error_code(), "missing_input_path");
}

// check leads to big above a limit; `otherwise` is one more transition.
DefinitionPtr by_total(const std::string& otherwise = "") {
  return flow(R"([{"name":"check","output":"checked","compensate":"undo"},{"name":"big"},)"
              R"({"name":"small"}])",
              R"([{"from":"check","to":"big","when":{"path":"checked.total","greater":100}})" +
                  (otherwise.empty() ? R"(,{"from":"big","to":"small"})" : "," + otherwise) + "]");
}

TEST(NoTransition, the_result_stays_applied_and_the_step_is_parked) {
  TestRun test(by_total());
  test.start();
  const RunFacts facts = test.apply("check", R"({"total":5})");
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "manual_step_paused"}));
  EXPECT_EQ(taken(facts).to, SharedText(kNoTransition));
  EXPECT_EQ(test.parked_code("check"), "no_matching_transition");
  EXPECT_EQ(*test.run->context_member("checked"), R"({"total":5})");
  EXPECT_EQ(test.run->status(), RunStatus::parked);
  EXPECT_FALSE(test.run->progress().done[0]);
  const RunFacts again = test.resolve(ManualAction::retried);
  EXPECT_EQ(kinds(again),
            Kinds({"run_signal_received", "manual_step_resolved", "manual_step_paused"}));
  EXPECT_TRUE(the<ManualStepResolved>(again).transition.empty());
}

TEST(NoTransition, a_migration_takes_the_transition_that_fits_now) {
  TestRun test(by_total());
  test.start();
  test.apply("check", R"({"total":5})");
  const RunFacts facts =
      migrate(test, by_total(R"({"from":"check","to":"small"},{"from":"big","to":"small"})"));
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "run_definition_migrated",
                                 "manual_step_resolved", "runnables_planned"}));
  EXPECT_EQ(planned_steps(facts), Steps({"small"}));
  EXPECT_EQ(test.plan_of("small").path, SharedText("check"));
  EXPECT_EQ(transition_of(test.run->latest("check")->transition).to, SharedText("small"));
  EXPECT_EQ(test.run->latest("check")->plan.attempt_number, 1U) << "it is not repeated";
  test.apply("small");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(NoTransition, the_corrected_definition_may_have_no_transitions_at_all) {
  TestRun test(flow(R"([{"name":"check"},{"name":"big"},{"name":"end","after":["check"]}])",
                    R"([{"from":"check","to":"big","when":{"path":"total","greater":100}}])"));
  test.start();
  test.apply("check");
  const auto plain = definition_of(R"([{"name":"check"},{"name":"big","after":["check"]},)"
                                   R"({"name":"end","after":["check"]}])");
  EXPECT_EQ(planned_steps(migrate(test, plain)), Steps({"big", "end"}));
}

TEST(NoTransition, a_step_that_was_added_behind_it_waits_for_the_retry) {
  const std::string steps = R"([{"name":"first"},{"name":"check"},{"name":"end"}])";
  const auto from_check = [&](const std::string& when) {
    return flow(steps,
                R"([{"from":"first","to":"check"},{"from":"check","to":"end")" + when + "}]");
  };
  TestRun test(from_check(R"(,"when":{"path":"total","greater":100})"));
  test.start();
  MutateGraph more;
  more.mutation_id = "m";
  more.additions.resize(2);
  more.additions[0].id = "new";
  more.additions[0].handler = "h";
  more.additions[1].kind = GraphItem::edge;
  more.additions[1].id = "to-new";
  more.additions[1].from = "check";
  more.additions[1].to = "new";
  test.put([&](RunProjection& run) { return decide_mutate_graph(run, more, test.now); });
  test.apply("first");
  EXPECT_EQ(kinds(test.apply("check")), Kinds({"runnable_applied", "manual_step_paused"}));
  EXPECT_TRUE(ready_nodes(*test.run, test.now).empty());
  EXPECT_EQ(planned_steps(migrate(test, from_check(""))), Steps({"new", "end"}));
}

TEST(NoTransition, a_discarded_one_fails_the_run_and_compensates_the_step) {
  TestRun test(by_total());
  test.start();
  test.apply("check", R"({"total":5})");
  test.resolve(ManualAction::discarded);
  EXPECT_EQ(test.run->status(), RunStatus::compensating);
  test.apply("compensate:check");
  EXPECT_EQ(test.error_code(), "no_matching_transition");
}

TEST(NoTransition, a_cancelled_run_waits_for_it_no_more) {
  TestRun test(by_total());
  test.start();
  test.apply("check", R"({"total":5})");
  test.cancel(OnCancel::compensate);
  EXPECT_EQ(test.run->parked("check"), nullptr);
  EXPECT_EQ(code_of(test.dry_run(test.resolving(ManualAction::retried))),
            ErrorCode::invalid_transition);
}

TEST(NoTransition, an_earlier_visit_keeps_the_transition_it_took) {
  const std::string steps = R"([{"name":"ask"},{"name":"act"}])";
  const std::string more = R"("entry":"ask","max_visits":3)";
  const std::string first = R"({"from":"ask","to":"act","when":{"path":"n","equals":1}})";
  const std::string back = R"(,{"from":"act","to":"ask"})";
  TestRun test(flow(steps, "[" + first + back + "]", more));
  test.start();
  test.apply("ask", R"({"n":1})");
  test.apply("act");
  test.apply("ask@2", R"({"n":2})");
  EXPECT_EQ(test.parked_code("ask@2"), "no_matching_transition");
  const std::string before = R"({"from":"ask","to":"complete","when":{"path":"n","equals":2}},)";
  const std::string added = R"(,{"from":"ask","to":"complete"})";
  EXPECT_EQ(blocker(test, flow(steps, "[" + before + first + back + "]", more)),
            "transition_changed");
  migrate(test, flow(steps, "[" + first + added + back + "]", more));
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

DefinitionPtr paying(std::string_view path) {
  return parsed(R"({"workflow":"order","steps":[{"name":"pay"}],"output":{"paid":")" +
                std::string(path) + R"("}})");
}

TEST(FaultyOutput, the_run_waits_and_ends_with_the_corrected_output) {
  TestRun test(paying("summ"));
  test.start();
  const RunFacts facts = test.apply("pay", R"({"sum":12})");
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "runnables_planned", "manual_step_paused"}));
  EXPECT_EQ(test.parked_code(kOutputStep), "missing_output_path");
  EXPECT_EQ(test.run->status(), RunStatus::parked);
  test.resolve(ManualAction::retried);
  EXPECT_EQ(test.plan_of(kOutputStep).attempt_number, 2U);
  migrate(test, paying("sum"));
  EXPECT_EQ(test.run->status(), RunStatus::completed);
  EXPECT_EQ(test.run->terminal()->result, json(R"({"paid":12})"));
}

TEST(FaultyOutput, a_discarded_one_fails_the_run) {
  TestRun test(paying("summ"));
  test.start();
  test.apply("pay");
  test.resolve(ManualAction::discarded, kOutputStep);
  EXPECT_EQ(test.error_code(), "missing_output_path");
}

TEST(FaultyOutput, it_waits_for_steps_that_are_added_meanwhile) {
  TestRun test(paying("summ"));
  test.start();
  test.apply("pay");
  MutateGraph more;
  more.mutation_id = "m";
  more.additions.resize(1);
  more.additions[0].id = "new";
  more.additions[0].handler = "h";
  test.put([&](RunProjection& run) { return decide_mutate_graph(run, more, test.now); });
  test.resolve(ManualAction::retried);
  EXPECT_EQ(test.run->status(), RunStatus::running);
  test.apply("new", R"({"summ":1})");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(FaultRules, only_a_result_that_no_transition_fits_is_parked_or_gets_one) {
  TestRun test(by_total());
  test.start();
  test.apply("check", R"({"total":5})");
  const RunProjection& run = *test.run;
  const Payload taken = json(R"({"from":"check","on":"ok","to":"small"})");
  ManualStepResolved retried;
  retried.run_id = run.run_id();
  retried.step = "check";
  retried.action = ManualAction::retried;
  retried.transition = taken;
  EXPECT_EQ(judge(run, test.now, retried).kind, RunVerdict::Kind::accept);
  retried.action = ManualAction::discarded;
  EXPECT_EQ(judge(run, test.now, retried).reason, RunReason::stale_manual_resolution);
  migrate(test, by_total(R"({"from":"check","to":"small"},{"from":"big","to":"small"})"));
  ManualStepPaused parked;
  parked.run_id = run.run_id();
  parked.step = "check";
  parked.kind = ManualKind::parked;
  parked.runnable_key = test.key("check");
  parked.queue = "default";
  parked.error = json("{}");
  EXPECT_EQ(judge(run, test.now, parked).reason, RunReason::unknown_runnable_intent);
  TestRun open(shipping("payment.adress"));
  open.start();
  open.apply("charge");
  retried.run_id = open.run->run_id();
  retried.step = "ship";
  retried.action = ManualAction::retried;
  EXPECT_EQ(judge(*open.run, open.now, retried).reason, RunReason::stale_manual_resolution);
}

// As programs wrote it for which a fault failed the run.
TEST(OlderRuns, that_failed_because_of_a_fault_stay_failed) {
  TestRun test(flow(R"([{"name":"check"},{"name":"big"}])",
                    R"([{"from":"check","to":"big","when":{"path":"total","greater":100}}])"));
  test.start();
  test.put([&](RunProjection& run) {
    RunnableApplied applied;
    applied.run_id = run.run_id();
    applied.runnable_key = run.latest("check")->plan.runnable_key;
    applied.result = json(R"({"total":5})");
    RunTerminal terminal;
    terminal.run_id = run.run_id();
    terminal.status = TerminalStatus::failed;
    terminal.error = json(R"({"code":"no_matching_transition","step":"check"})");
    RunFacts facts{applied, terminal};
    for (const RunFact& fact : facts) {
      run.evolve(test.now, fact);
    }
    return facts;
  });
  EXPECT_EQ(test.run->status(), RunStatus::failed);
  EXPECT_FALSE(test.run->latest("check")->is_undecided());
  EXPECT_EQ(code_of(test.dry_run(test.resolving(ManualAction::retried))), ErrorCode::terminal_run);
}

}  // namespace
}  // namespace holdfast::run_fault_test
