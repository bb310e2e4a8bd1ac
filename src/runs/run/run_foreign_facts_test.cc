// Facts of a writer that keeps no rule: decisions based on them are refused or make
// sense, and never stops the program.
#include "tests/support/run_fixture.h"

namespace holdfast::run_foreign_facts_test {
namespace {

// Stores a fact that no decision of ours would make.
template <typename Fact>
void foreign(TestRun& test, Fact fact) {
  fact.run_id = test.run->run_id();
  test.put([&](RunProjection& run) -> Result<RunFacts> {
    run.evolve(test.now, fact);
    return RunFacts{fact};
  });
}

// Like the plan of a step that is there, under another key.
Runnable plan_like(const TestRun& test, std::string_view step, std::string_view key) {
  Runnable runnable = test.plan_of(step);
  runnable.runnable_key = key;
  runnable.idempotency_key = key;
  return runnable;
}

void foreign_plan(TestRun& test, const Runnable& runnable) {
  RunnablesPlanned planned;
  planned.runnables.push_back(runnable);
  foreign(test, planned);
}

// A node that no plan may carry out, because its mutation means another one. It is ready
// as soon as any step is done, and its plan takes down what is planned with it.
void foreign_node(TestRun& test) {
  DynamicGraphMutated mutation;
  mutation.mutation_id = "odd";
  mutation.result_version = 1;
  const Origin gate = test.origin("gate");
  mutation.origin = GraphOrigin{gate.runnable_key, gate.step, gate.attempt, {}, {}};
  GraphAddition node;
  node.id = "odd";
  node.handler = "work";
  mutation.additions.push_back(node);
  mutation.runnable_intent_fingerprints.emplace("odd", "of something else");
  foreign(test, mutation);
}

ExternalEventWaitOpened wait_of(const TestRun& test, std::string_view key, std::string_view step) {
  ExternalEventWaitOpened wait;
  wait.wait_id = key;
  wait.step = step;
  wait.event = "odd";
  wait.opened_at = test.now;
  return wait;
}

// An approval, and what comes after it.
class AfterApproval : public ::testing::TestWithParam<std::string_view> {
 protected:
  AfterApproval()
      : test_(R"([{"name":"gate","approval":true},)"
              R"({"name":"next","after":["gate"],)" +
              std::string(GetParam()) + "}]") {
    test_.start();
  }

  TestRun test_;
};

TEST_P(AfterApproval, what_cannot_be_planned_is_refused) {
  foreign_node(test_);
  const auto decided = test_.dry_run(test_.resolving(ManualAction::approved));
  EXPECT_EQ(code_of(decided), ErrorCode::invalid_transition);
  EXPECT_EQ(decided.error().field("reason"), "runnable_intent_fingerprint_mismatch");
  test_.cancel();
  EXPECT_EQ(test_.run->status(), RunStatus::cancelled) << "it can still be ended";
}

TEST_P(AfterApproval, nothing_begins_while_the_run_compensates) {
  CompensationStarted back;
  back.outcome = TerminalStatus::failed;
  foreign(test_, back);
  EXPECT_EQ(planned_steps(test_.resolve(ManualAction::approved)), Steps());
  EXPECT_EQ(test_.run->status(), RunStatus::failed);
}

INSTANTIATE_TEST_SUITE_P(Foreign, AfterApproval,
                         ::testing::Values(R"("input":{"x":"no.where"})",  // fails where it begins
                                           R"("pause":true)",  // carried out by the engine
                                           R"("for_each":[1,2])", R"("for_each":[])",
                                           R"("for_each":"no.where")",
                                           R"("await_event":{"event":"e"})",
                                           R"("wait":{"until":"no.where"})"));

TEST(ForeignPlan, on_an_invented_path_leads_nowhere) {
  TestRun test(kLine);
  test.start();
  Runnable odd = plan_like(test, "ask", "odd");
  odd.path = "nowhere";
  foreign_plan(test, odd);
  EXPECT_EQ(kinds(test.apply("ask")), Kinds({"runnable_applied"}));
}

TEST(ForeignPlan, of_an_item_where_there_is_no_list_is_an_end_of_it) {
  for (const bool well : {true, false}) {
    TestRun test(kLine);
    test.start();
    for (const std::string_view step :
         {"act[0]", "ask[0]"}) {  // act has not begun, ask has no list
      Runnable odd = plan_like(test, "ask", step);
      odd.step = step;
      foreign_plan(test, odd);
    }
    if (well) {
      EXPECT_EQ(kinds(test.apply("act[0]")), Kinds({"runnable_applied"}));
      EXPECT_EQ(kinds(test.apply("ask[0]")), Kinds({"runnable_applied"}));
    } else {
      EXPECT_EQ(kinds(test.fail("act[0]")), Kinds({"run_terminal"}));
      EXPECT_EQ(test.error_code(), "declined");
    }
  }
}

TEST(ForeignPlan, of_an_item_that_the_list_does_not_have_leaves_a_gap) {
  TestRun test(R"([{"name":"mail","for_each":{"items":[0,1],"concurrency":1}}])");
  test.start();
  for (const std::string_view step : {"mail[7]", "mail[8]"}) {
    Runnable odd = plan_like(test, "mail[0]", step);
    odd.step = step;
    foreign_plan(test, odd);
  }
  test.apply("mail[7]", "7");
  test.apply("mail[8]", "8");
  EXPECT_TRUE(test.run->latest("mail")->applied);
}

TEST(ForeignPlan, that_was_put_off_under_any_key_can_be_put_off_again) {
  for (const std::string_view key : {"odd", "odd:deferred:many", "odd:deferredly"}) {
    TestRun test(kLine);
    test.start();
    Runnable odd = plan_like(test, "ask", key);
    odd.deferred = Deferred{"later", test.plan_of("ask").runnable_key, test.now};
    foreign_plan(test, odd);
    const RunFacts facts = test.apply("ask", "{}", R"({"defer":{"schedule_in_ms":5}})");
    EXPECT_EQ(planned_steps(facts), Steps({"ask"})) << key;
  }
}

// A run that is at ask.
class ForeignWait : public ::testing::Test {
 protected:
  ForeignWait() { test_.start(); }

  TestRun test_{R"([{"name":"ask"},{"name":"hear","await_event":{"event":"e"},"after":["ask"]}])"};
};

TEST_F(ForeignWait, of_an_unknown_runnable_ends_with_its_event) {
  foreign(test_, wait_of(test_, "unknown", "ask"));
  EXPECT_EQ(kinds(test_.send("odd", "1")), Kinds({"run_signal_received", "external_event_received",
                                                  "external_event_wait_resolved"}));
}

TEST_F(ForeignWait, of_an_unknown_step_ends_with_its_event) {
  foreign(test_, wait_of(test_, test_.key("ask"), "nowhere"));
  EXPECT_EQ(kinds(test_.send("odd", "1")), Kinds({"run_signal_received", "external_event_received",
                                                  "external_event_wait_resolved"}));
}

TEST_F(ForeignWait, of_an_unknown_runnable_ends_with_its_time) {
  for (const auto& [key, step] : {std::pair(std::string("unknown"), std::string("ask")),
                                  std::pair(test_.key("ask"), std::string("nowhere"))}) {
    ExternalEventWaitOpened wait = wait_of(test_, key, step);
    WaitTimeout timeout;
    timeout.wait_id = wait.wait_id;
    timeout.timeout_runnable_key = "timer of " + step;
    timeout.event = wait.event;
    timeout.target = "error";
    timeout.after = 5;
    timeout.due_at = TimeMs{test_.now.value + 5};
    wait.timeout = timeout;
    foreign(test_, wait);
    Runnable timer = plan_like(test_, "ask", timeout.timeout_runnable_key.view());
    timer.handler = kTimerHandler;
    timer.visible_at = timeout.due_at;
    timer.event_wait_timeout = to_json(timeout).value();
    foreign_plan(test_, timer);
    const RunFacts facts = test_.fire(timeout.timeout_runnable_key.str());
    EXPECT_EQ(kinds(facts), Kinds({"external_event_wait_timeout_selected",
                                   "external_event_wait_resolved", "runnable_applied"}));
  }
}

TEST_F(ForeignWait, at_a_paused_step_is_refused) {
  ManualStepPaused paused;
  paused.step = "hear";
  paused.kind = ManualKind::approval;
  foreign(test_, paused);
  test_.send("e", "1");  // is there when the wait would be opened
  EXPECT_EQ(code_of(test_.dry_run(test_.applying(test_.completed("ask")))),
            ErrorCode::invalid_transition);
}

}  // namespace
}  // namespace holdfast::run_foreign_facts_test
