// How a run moves along transitions, and what its steps see.
#include "runs/facts/activation.h"
#include "tests/support/run_fixture.h"

namespace holdfast::run_transitions_test {
namespace {

constexpr std::string_view kSteps = R"([{"name":"check"},{"name":"small"},{"name":"big"}])";

std::shared_ptr<const Definition> by_total() {
  return flow(kSteps, R"([{"from":"check","to":"big","when":{"path":"total","greater":100}},
                          {"from":"check","to":"big","when":{"path":"vip","equals":true}},
                          {"from":"check","to":"small"}])");
}

TEST(Transitions, a_run_of_transitions_begins_with_one_step) {
  TestRun test(by_total());
  EXPECT_EQ(planned_steps(test.start()), Steps({"check"}));
}

TEST(Transitions, the_first_condition_that_fits_is_taken_and_recorded) {
  TestRun test(by_total());
  test.start();
  const RunFacts facts = test.apply("check", R"({"total":200,"vip":true})");
  EXPECT_EQ(planned_steps(facts), Steps({"big"}));
  const TransitionTaken route = taken(facts);
  EXPECT_EQ(route.from, SharedText("check"));
  EXPECT_EQ(route.on, RouteOn::ok);
  EXPECT_EQ(route.to, SharedText("big"));
  EXPECT_EQ(route.when, json(R"({"greater":100,"path":"total"})"));
  EXPECT_EQ(test.input("big"), json(R"({"order":7,"total":200,"vip":true})"));
}

TEST(Transitions, conditions_see_the_context_with_the_result_on_top) {
  TestRun test(by_total());
  test.start(R"({"total":500})");
  EXPECT_EQ(planned_steps(test.apply("check", R"({"total":5})")), Steps({"small"}));
  TestRun from_input(by_total());
  from_input.start(R"({"total":500})");
  EXPECT_EQ(planned_steps(from_input.apply("check")), Steps({"big"}));
}

TEST(Transitions, without_a_condition_it_is_the_way_for_all_others) {
  TestRun test(by_total());
  test.start();
  const RunFacts facts = test.apply("check", R"({"total":5})");
  EXPECT_EQ(planned_steps(facts), Steps({"small"}));
  EXPECT_TRUE(taken(facts).when.empty());
  EXPECT_EQ(kinds(test.apply("small")), Kinds({"runnable_applied", "run_terminal"}));
  EXPECT_EQ(test.run->status(), RunStatus::completed);
  EXPECT_EQ(test.run->latest("big"), nullptr) << "the other way was never gone";
}

TEST(Transitions, a_result_that_fits_no_condition_waits_for_one_that_does) {
  TestRun test(flow(R"([{"name":"check"},{"name":"big"}])",
                    R"([{"from":"check","to":"big","when":{"path":"total","greater":100}}])"));
  test.start();
  const RunFacts facts = test.apply("check", R"({"total":5})");
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "manual_step_paused"}));
  EXPECT_EQ(test.run->status(), RunStatus::parked);
  EXPECT_EQ(test.parked_code("check"), "no_matching_transition");
}

TEST(Transitions, a_failure_takes_the_error_route_with_the_error_in_the_context) {
  TestRun test(flow(R"([{"name":"pay"},{"name":"ask"},{"name":"wait"}])",
                    R"([{"from":"pay","on":"error","to":"ask",
                         "when":{"path":"error.code","equals":"declined"},"recovery":"undo"},
                        {"from":"pay","on":"error","to":"wait"}])"));
  test.start();
  const RunFacts facts = test.fail("pay", R"({"code":"declined"})");
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "runnables_planned"}));
  EXPECT_EQ(planned_steps(facts), Steps({"ask"}));
  EXPECT_EQ(taken(facts).on, RouteOn::error);
  EXPECT_EQ(taken(facts).recovery, RecoveryLabel::undo);
  EXPECT_EQ(test.input("ask"), json(R"({"order":7,"error":{"code":"declined"}})"));
  test.apply("ask");
  EXPECT_EQ(test.run->status(), RunStatus::completed);

  TestRun other(test.definition);
  other.start();
  EXPECT_EQ(planned_steps(other.fail("pay", R"({"code":"busy"})")), Steps({"wait"}));
}

TEST(Transitions, retries_come_before_the_error_route) {
  TestRun test(flow(R"([{"name":"pay","retry":{"max_attempts":2}},{"name":"ask"}])",
                    R"([{"from":"pay","on":"error","to":"ask"}])"));
  test.start();
  EXPECT_EQ(planned_steps(test.fail("pay")), Steps({"pay"}));
  EXPECT_EQ(planned_steps(test.fail("pay")), Steps({"ask"}));
}

TEST(Transitions, a_failure_without_a_route_fails_the_run) {
  TestRun test(by_total());
  test.start();
  EXPECT_EQ(kinds(test.fail("check")), Kinds({"run_terminal"}));
  EXPECT_EQ(test.error_code(), "declined");
}

TEST(Transitions, complete_and_fail_are_places_too) {
  const auto definition = flow(R"([{"name":"check"}])",
                               R"([{"from":"check","to":"fail","when":{"path":"bad","equals":true}},
               {"from":"check","to":"complete"},
               {"from":"check","on":"error","to":"complete","when":{"path":"order","equals":1}},
               {"from":"check","on":"error","to":"fail"}])");
  const auto end_of = [&](std::string_view input, const auto& act) {
    TestRun test(definition);
    test.start(input);
    const RunFacts facts = act(test);
    return taken(facts).to.str() + " " + std::string(to_text(test.run->status())) + " " +
           test.error_code();
  };
  const auto apply = [](TestRun& test) { return test.apply("check"); };
  const auto fail = [](TestRun& test) { return test.fail("check"); };
  EXPECT_EQ(end_of("{}", apply), "complete completed ");
  EXPECT_EQ(end_of(R"({"bad":true})", apply), "fail failed failed_by_transition");
  EXPECT_EQ(end_of(R"({"order":1})", fail), "complete completed ");
  EXPECT_EQ(end_of("{}", fail), "fail failed declined")
      << "the error of the step is that of the run";
}

std::shared_ptr<const Definition> loop(std::string_view more = "") {
  return flow(R"([{"name":"poll"},{"name":"rest"}])",
              R"([{"from":"poll","to":"complete","when":{"path":"ready","equals":true}},
                  {"from":"poll","to":"rest"},{"from":"rest","to":"poll"}])",
              R"("entry":"poll")" + std::string(more));
}

TEST(Loops, each_visit_has_its_own_name_and_key) {
  TestRun test(loop());
  EXPECT_EQ(planned_steps(test.start()), Steps({"poll"}));
  test.apply("poll", R"({"ready":false})");
  EXPECT_EQ(planned_steps(test.apply("rest")), Steps({"poll@2"}));
  EXPECT_EQ(test.key("poll@2"), runnable_key(run_no(1), "poll@2", 1).str());
  EXPECT_EQ(test.run->latest("poll@2")->plan.handler, SharedText("poll"));
  EXPECT_EQ(planned_steps(test.apply("poll@2")), Steps({"rest@2"}));
  EXPECT_EQ(planned_steps(test.apply("rest@2")), Steps({"poll@3"}));
  EXPECT_EQ(test.run->visits("poll"), 3U);
  const RunFacts facts = test.apply("poll@3", R"({"ready":true})");
  EXPECT_EQ(taken(facts).from, SharedText("poll@3"));
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Loops, a_visit_is_retried_like_any_step) {
  TestRun test(flow(R"([{"name":"poll","retry":{"max_attempts":2}}])",
                    R"([{"from":"poll","to":"complete","when":{"path":"ready","equals":true}},
                        {"from":"poll","to":"poll"}])",
                    R"("entry":"poll")"));
  test.start();
  test.apply("poll");
  const auto again = planned_runnables(test.fail("poll@2"));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].step, SharedText("poll@2"));
  EXPECT_EQ(again[0].attempt_number, 2U);
  EXPECT_EQ(planned_steps(test.apply("poll@2")), Steps({"poll@3"}));
}

TEST(Loops, a_step_is_visited_a_limited_number_of_times) {
  TestRun test(loop(R"(,"max_visits":2)"));
  test.start();
  test.apply("poll");
  test.apply("rest");
  test.apply("poll@2");
  const RunFacts facts = test.apply("rest@2");
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "run_terminal"}));
  EXPECT_EQ(test.error_code(), "visit_limit_exceeded");
}

TEST(Loops, the_limit_of_a_step_wins_over_that_of_the_workflow) {
  TestRun test(flow(R"([{"name":"poll","max_visits":1}])",
                    R"([{"from":"poll","to":"complete","when":{"path":"ready","equals":true}},
                        {"from":"poll","to":"poll"}])",
                    R"("entry":"poll","max_visits":9)"));
  test.start();
  test.apply("poll");
  EXPECT_EQ(test.error_code(), "visit_limit_exceeded");
}

// pack begins a path that may lead to box; ship waits for it, and for bill.
std::shared_ptr<const Definition> mixed() {
  return flow(R"([{"name":"pack"},{"name":"box"},{"name":"plan_b"},{"name":"bill"},
                  {"name":"ship","after":["pack","bill"]}])",
              R"([{"from":"pack","to":"box","when":{"path":"loose","equals":true}},
                  {"from":"pack","to":"complete"},
                  {"from":"pack","on":"error","to":"plan_b"}])");
}

TEST(Paths, the_first_step_of_a_path_is_done_when_the_path_ends) {
  TestRun test(mixed());
  EXPECT_EQ(planned_steps(test.start()), Steps({"pack", "bill"}));
  test.apply("bill");
  EXPECT_EQ(planned_steps(test.apply("pack", R"({"loose":true})")), Steps({"box"}));
  EXPECT_EQ(test.run->latest("box")->plan.path, SharedText("pack"));
  EXPECT_EQ(planned_steps(test.apply("box")), Steps({"ship"}));
  test.apply("ship");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Paths, a_path_that_ends_at_once_releases_what_waits_for_it) {
  TestRun test(mixed());
  test.start();
  test.apply("bill");
  EXPECT_EQ(planned_steps(test.apply("pack")), Steps({"ship"}));
}

TEST(Paths, a_fallback_stands_in_for_the_step_that_failed) {
  TestRun test(mixed());
  test.start();
  EXPECT_EQ(planned_steps(test.fail("pack")), Steps({"plan_b"}));
  EXPECT_EQ(planned_steps(test.apply("bill")), Steps());
  EXPECT_EQ(planned_steps(test.apply("plan_b")), Steps({"ship"}));
  EXPECT_EQ(test.run->latest("ship")->plan.path, SharedText());
}

TEST(Paths, two_paths_may_lead_through_the_same_step) {
  const auto definition =
      flow(R"([{"name":"a"},{"name":"b"},{"name":"join"},{"name":"last","after":["a","b"]}])",
           R"([{"from":"a","to":"join"},{"from":"b","to":"join"}])");
  TestRun test(definition);
  test.start();
  EXPECT_EQ(planned_steps(test.apply("a")), Steps({"join"}));
  EXPECT_EQ(planned_steps(test.apply("b")), Steps({"join@2"}));
  EXPECT_EQ(test.run->latest("join@2")->plan.path, SharedText("b"));
  test.apply("join@2");
  EXPECT_EQ(planned_steps(test.apply("join")), Steps({"last"}));
}

TEST(Paths, two_paths_may_come_to_the_same_step_in_one_decision) {
  TestRun test(flow(R"([{"name":"a","log":"a"},{"name":"b","log":"b"},{"name":"join"},
                        {"name":"last","after":["a","b"]}])",
                    R"([{"from":"a","to":"join"},{"from":"b","to":"join"}])"));
  EXPECT_EQ(planned_steps(test.start()), Steps({"a", "b", "join", "join@2"}));
  test.apply("join");
  EXPECT_EQ(planned_steps(test.apply("join@2")), Steps({"last"}));
}

TEST(Paths, the_run_ends_when_every_path_has_ended) {
  TestRun test(mixed());
  test.start();
  test.apply("pack", R"({"loose":true})");
  test.apply("bill");
  EXPECT_FALSE(test.run->is_terminal());
  test.apply("box");
  EXPECT_FALSE(test.run->is_terminal());
  EXPECT_EQ(kinds(test.apply("ship")), Kinds({"runnable_applied", "run_terminal"}));
}

TEST(StepData, a_mapping_says_what_a_step_gets) {
  TestRun test(R"([{"name":"pay","input":{"card":"customer.card","tries":{"path":"t","default":3},
                                          "currency":{"value":"EUR"}}}])");
  test.start(R"({"customer":{"card":"c1"},"secret":1})");
  EXPECT_EQ(test.input("pay"), json(R"({"card":"c1","currency":"EUR","tries":3})"));
}

TEST(StepData, a_path_that_leads_nowhere_parks_the_step_unless_a_route_takes_the_error) {
  const std::string steps = R"([{"name":"pay","input":{"card":"customer.card"}},{"name":"ask"}])";
  TestRun alone(definition_of(R"([{"name":"pay","input":{"card":"customer.card"}}])"));
  alone.start();
  EXPECT_EQ(alone.run->status(), RunStatus::parked);
  EXPECT_EQ(alone.parked_code("pay"), "missing_input_path");
  EXPECT_NE(alone.run->parked("pay")->error.view().find(R"("missing_at":"customer")"),
            std::string_view::npos);

  TestRun routed(flow(steps, R"([{"from":"pay","on":"error","to":"ask"}])"));
  const RunFacts facts = routed.start();
  EXPECT_EQ(planned_steps(facts), Steps({"pay", "ask"}));
  EXPECT_EQ(taken(facts).on, RouteOn::error);
  EXPECT_EQ(routed.run->status(), RunStatus::running);
}

TEST(StepData, an_output_key_gives_the_result_a_name) {
  TestRun test(R"([{"name":"pay","output":"payment"},{"name":"ship","after":["pay"]}])");
  test.start();
  const RunFacts facts = test.apply("pay", R"({"id":5})");
  EXPECT_EQ(the<RunnableApplied>(facts).output_key, SharedText("payment"));
  EXPECT_EQ(test.input("ship"), json(R"({"order":7,"payment":{"id":5}})"));
  TestRun list(test.definition);
  list.start();
  list.apply("pay", "[1,2]");
  EXPECT_EQ(list.input("ship"), json(R"({"order":7,"payment":[1,2]})"));
}

TEST(StepData, conditions_find_the_result_under_its_output_key) {
  TestRun test(flow(R"([{"name":"pay","output":"payment"},{"name":"ship"}])",
                    R"([{"from":"pay","to":"ship","when":{"path":"payment.ok","equals":true}},
                        {"from":"pay","to":"fail"}])"));
  test.start();
  EXPECT_EQ(planned_steps(test.apply("pay", R"({"ok":true})")), Steps({"ship"}));
}

TEST(StepData, an_input_that_breaks_the_contract_of_its_step_parks_it) {
  const std::string_view steps = R"([{"name":"pay","input_schema":{"order":"integer"}}])";
  TestRun good(steps);
  EXPECT_EQ(planned_steps(good.start()), Steps({"pay"}));
  TestRun bad(steps);
  bad.start(R"({"order":"seven"})");
  EXPECT_EQ(bad.parked_code("pay"), "invalid_input");
  EXPECT_NE(bad.run->parked("pay")->error.view().find("validation_errors"), std::string_view::npos);
}

TEST(StepData, a_result_is_held_to_what_its_step_promises) {
  TestRun test(R"([{"name":"pay","output_schema":{"id":"integer"}},{"name":"ship"}])");
  test.start();
  EXPECT_FALSE(output_fault(*test.run, test.key("pay"), json(R"({"id":5,"more":1})")).has_value());
  EXPECT_FALSE(output_fault(*test.run, test.key("ship"), json("[]")).has_value());
  const auto fault = output_fault(*test.run, test.key("pay"), json(R"({"id":"x"})"));
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(error_code_of(*fault), "invalid_output");
  EXPECT_TRUE(output_fault(*test.run, test.key("pay"), json("[]")).has_value());
}

TEST(StepData, the_output_of_a_workflow_is_the_result_of_its_runs) {
  TestRun test(parsed(R"({"workflow":"order","steps":[{"name":"pay"}],"output":{"paid":"sum"}})"));
  test.start();
  test.apply("pay", R"({"sum":12})");
  EXPECT_EQ(test.run->terminal()->result, json(R"({"paid":12})"));
  TestRun missing(test.definition);
  missing.start();
  missing.apply("pay");
  EXPECT_EQ(missing.parked_code(kOutputStep), "missing_output_path");
}

TEST(Delays, what_follows_a_transition_waits_as_the_step_requested) {
  TestRun test(by_total());
  test.start();
  const auto planned = planned_runnables(test.apply("check", "{}", R"({"schedule_in_ms":500})"));
  EXPECT_EQ(planned.at(0).visible_at, TimeMs{1500});
}

TEST(Delays, what_the_engine_does_itself_waits_too) {
  TestRun test(R"([{"name":"ask"},{"name":"note","log":"late","after":["ask"]}])");
  test.start();
  const RunFacts facts = test.apply("ask", "{}", R"({"schedule_in_ms":500})");
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "runnables_planned"}));
  EXPECT_FALSE(test.run->latest("note")->applied);
  const std::string timer = test.key("note") + ":begin";
  EXPECT_EQ(code_of(test.dry_run(test.firing(timer))), ErrorCode::invalid_transition);
  test.fire(timer);
  EXPECT_EQ(test.now, TimeMs{1500});
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Delays, a_pause_that_comes_later_begins_once) {
  TestRun test(R"([{"name":"ask"},{"name":"look","pause":true,"after":["ask"]}])");
  test.start();
  test.apply("ask", "{}", R"({"schedule_in_ms":500})");
  EXPECT_TRUE(test.run->boundaries().empty());
  const std::string timer = test.key("look") + ":begin";
  test.fire(timer);
  EXPECT_EQ(test.run->status(), RunStatus::paused);
  EXPECT_TRUE(test.put(test.firing(timer)).empty());
  test.resolve(ManualAction::resumed);
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(Delays, items_of_a_list_wait_too) {
  TestRun test(R"([{"name":"ask"},{"name":"mail","for_each":[1,2],"after":["ask"]}])");
  test.start();
  test.apply("ask", "{}", R"({"schedule_in_ms":500})");
  EXPECT_EQ(test.run->latest("mail[0]")->plan.visible_at, TimeMs{1500});
}

TEST(StepLimits, a_runnable_says_how_long_it_may_take) {
  TestRun test(R"([{"name":"pay","timeout":{"start_to_close":"2s","schedule_to_start":"3s"},
                    "deadline":{"within":"10s","due_soon":"1s"}}])");
  const Runnable plan = planned_runnables(test.start()).at(0);
  const AttemptScheduled intent = intent_of(plan, "order");
  EXPECT_EQ(intent.policy.timeout.start_to_close_ms, 2000U);
  EXPECT_EQ(intent.policy.timeout.schedule_to_start_ms, 3000U);
  EXPECT_EQ(intent.deadline.view().substr(0, 55),
            R"({"started_at":1000,"due_at":11000,"due_soon_at":10000,")");
}

TEST(Retries, a_code_has_its_own_rule) {
  TestRun test(R"([{"name":"pay","retry":{"max_attempts":2,"delay":"100ms",
                    "codes":{"busy":{"max_attempts":4,"delay":"5s"},
                             "gone":{"max_attempts":1}}}}])");
  test.start();
  EXPECT_EQ(planned_runnables(test.fail("pay", R"({"code":"busy"})")).at(0).visible_at,
            TimeMs{6000});
  EXPECT_EQ(planned_steps(test.fail("pay", R"({"code":"busy"})")), Steps({"pay"}));
  test.fail("pay", R"({"code":"other"})");
  EXPECT_EQ(test.run->status(), RunStatus::failed) << "the third attempt was one too many";
  TestRun gone(test.definition);
  gone.start();
  gone.fail("pay", R"({"code":"gone"})");
  EXPECT_EQ(gone.error_code(), "gone");
}

}  // namespace
}  // namespace holdfast::run_transitions_test
