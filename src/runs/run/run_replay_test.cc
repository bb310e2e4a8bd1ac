// Repeating a run, whole or from the middle.
#include "tests/support/run_fixture.h"

namespace holdfast::run_replay_test {
namespace {

Result<StartRun> plan(const TestRun& source, std::string_view from = "",
                      std::string_view input = "", bool allow_irreversible = false) {
  ReplayRun command;
  command.run_id = run_no(2);
  command.from_step = from;
  command.input = json(input);
  command.allow_irreversible = allow_irreversible;
  return plan_replay(*source.run, command);
}

StartRun planned(const TestRun& source, std::string_view from = "", std::string_view input = "") {
  auto replay = plan(source, from, input);
  EXPECT_TRUE(replay.ok()) << replay.error().text();
  return replay.ok() ? std::move(replay).value() : StartRun{};
}

// kDiamond with a result for each step.
void go_through_diamond(TestRun& test) {
  test.start();
  test.apply("charge", R"({"charge":1})");
  test.apply("bill", R"({"bill":1,"who":"bill"})");
  test.apply("ship", R"({"ship":1,"who":"ship"})");
  test.apply("thank", R"({"thank":1})");
}

TEST(Replay, the_whole_run_is_repeated_with_its_input) {
  TestRun source(kDiamond);
  StartRun first = source.start_command();
  first.queue = "slow";
  source.start(first);
  source.cancel();
  TestRun test(source.definition, 2);
  const RunFacts facts = test.start(planned(source));
  EXPECT_EQ(kinds(facts), Kinds({"run_signal_received", "run_started", "runnables_planned"}));
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::replay_run);
  EXPECT_EQ(the<RunSignalReceived>(facts).source, SharedText("replay"));
  const auto started = the<RunStarted>(facts);
  EXPECT_EQ(started.replayed_from_run_id, run_no(1));
  EXPECT_EQ(started.input, json(R"({"order":7})"));
  EXPECT_EQ(started.queue, SharedText("slow"));
  EXPECT_EQ(started.definition_fingerprint, source.definition->fingerprint());
  EXPECT_TRUE(test.start(planned(source)).empty()) << "the same replay again";
}

TEST(Replay, the_input_can_be_another) {
  TestRun source(kLine);
  source.start();
  TestRun test(source.definition, 2);
  test.start(planned(source, "", R"({"order":8})"));
  EXPECT_EQ(test.input("ask"), json(R"({"order":8})"));
}

TEST(Replay, the_definition_can_be_another) {
  TestRun source(kLine);
  source.start();
  source.apply("ask", R"({"said":1})");
  ReplayRun command;
  command.run_id = run_no(2);
  command.definition = definition_of(
      R"([{"name":"ask"},{"name":"act","after":["ask"]},{"name":"more","after":["ask"]}])");
  TestRun whole(command.definition, 2);
  EXPECT_EQ(planned_steps(whole.start(plan_replay(*source.run, command).value())), Steps({"ask"}));
  command.from_step = "act";
  TestRun rest(command.definition, 2);
  EXPECT_EQ(planned_steps(rest.start(plan_replay(*source.run, command).value())),
            Steps({"act", "more"}));
}

TEST(Replay, of_steps_that_another_definition_does_not_have_is_refused) {
  TestRun source(kLine);
  source.start();
  source.apply("ask");
  const auto code = [&](std::shared_ptr<const Definition> target) {
    ReplayRun command;
    command.run_id = run_no(2);
    command.from_step = "act";
    command.definition = std::move(target);
    return code_of(plan_replay(*source.run, command));
  };
  EXPECT_EQ(code(definition_of(R"([{"name":"act"}])")), ErrorCode::invalid_transition);
  EXPECT_EQ(code(definition_of(R"([{"name":"ask"}])")), ErrorCode::invalid_transition);
  EXPECT_EQ(
      code(definition_of(R"([{"name":"ask"},{"name":"new"},{"name":"act","after":["new"]}])")),
      ErrorCode::invalid_transition);
  EXPECT_EQ(code(definition_of(kLine, "other")), ErrorCode::invalid_argument);
}

TEST(Replay, of_a_child_is_not_a_child) {
  TestRun source(kLine);
  StartRun first = source.start_command();
  first.context = json(R"({"parent":{"run_id":")" + to_string(run_no(9)) +
                       R"(","runnable_key":"k","step":"s","attempt":1,"child_key":"c"}})");
  source.start(first);
  EXPECT_TRUE(planned(source).context.empty());
  source.apply("ask");
  EXPECT_TRUE(planned(source, "act").context.empty());
}

TEST(Replay, of_a_scheduled_run_is_for_the_same_window_but_is_not_the_start_of_it) {
  TestRun source(kLine);
  StartRun first = source.start_command();
  first.context = json(R"({"tenant":"t","schedule":{"trigger_name":"often","signal_id":"x",)"
                       R"("idempotency":"none","idempotency_key":"x",)"
                       R"("intended_window":{"start_at":"a","end_at":"b"}}})");
  source.start(first);
  const Payload kept = json(R"({"schedule":{"trigger_name":"often","signal_id":"x",)"
                            R"("intended_window":{"start_at":"a","end_at":"b"}}})");
  EXPECT_EQ(planned(source).context, kept);
  TestRun test(source.definition, 2);
  EXPECT_EQ(the<RunStarted>(test.start(planned(source))).context, kept);
  EXPECT_EQ(test.input("ask"), json(R"({"order":7,"schedule":{"trigger_name":"often",)"
                                    R"("signal_id":"x",)"
                                    R"("intended_window":{"start_at":"a","end_at":"b"}}})"));
}

TEST(ReplayFrom, only_the_step_and_what_comes_after_it_is_done_again) {
  TestRun source(kDiamond);
  go_through_diamond(source);
  TestRun test(source.definition, 2);
  const RunFacts facts = test.start(planned(source, "ship"));
  EXPECT_EQ(kinds(facts),
            Kinds({"run_signal_received", "run_started", "steps_adopted", "runnables_planned"}));
  EXPECT_EQ(planned_steps(facts), Steps({"ship"}));
  const auto adopted = the<StepsAdopted>(facts);
  EXPECT_EQ(adopted.source_run_id, run_no(1));
  EXPECT_EQ(adopted.done, (std::vector<SharedText>{"charge", "bill"}));
  EXPECT_EQ(test.input("ship"), json(R"({"order":7,"charge":1,"bill":1,"who":"bill"})"))
      << "without what comes after";
  EXPECT_EQ(planned_steps(test.apply("ship", R"({"ship":2})")), Steps({"thank"}));
  test.apply("thank");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(ReplayFrom, the_first_step_means_everything) {
  TestRun source(kDiamond);
  go_through_diamond(source);
  TestRun test(source.definition, 2);
  EXPECT_EQ(planned_steps(test.start(planned(source, "charge"))), Steps({"charge"}));
  EXPECT_EQ(planned_steps(test.apply("charge")), Steps({"ship", "bill"}));
}

TEST(ReplayFrom, what_the_source_never_did_is_done_too) {
  TestRun source(kDiamond);
  source.start();
  source.apply("charge", R"({"charge":1})");
  source.fail("ship");
  TestRun test(source.definition, 2);
  EXPECT_EQ(planned_steps(test.start(planned(source, "ship"))), Steps({"ship", "bill"}));
}

TEST(ReplayFrom, the_input_of_the_run_can_be_another_here_too) {
  TestRun source(kLine);
  source.start();
  source.apply("ask", R"({"said":1})");
  source.apply("act");
  TestRun test(source.definition, 2);
  test.start(planned(source, "act", R"({"order":8})"));
  EXPECT_EQ(test.input("act"), json(R"({"order":8,"said":1})"));
}

std::shared_ptr<const Definition> path() {
  return flow(R"([{"name":"a","output":"ra"},{"name":"b"},{"name":"c"}])",
              R"([{"from":"a","to":"b"},{"from":"b","to":"c"}])");
}

TEST(ReplayFrom, a_path_continues_from_its_middle) {
  TestRun source(path());
  source.start();
  source.apply("a", R"({"x":1})");
  source.apply("b", R"({"b":1})");
  source.fail("c");
  TestRun test(source.definition, 2);
  const RunFacts facts = test.start(planned(source, "b"));
  EXPECT_EQ(planned_steps(facts), Steps({"b"}));
  EXPECT_EQ(the<StepsAdopted>(facts).path, SharedText("a"));
  EXPECT_EQ(test.input("b"), json(R"({"order":7,"ra":{"x":1}})"));
  EXPECT_EQ(planned_steps(test.apply("b", R"({"b":2})")), Steps({"c"}));
  test.apply("c");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(ReplayFrom, a_loop_may_be_entered_at_any_visit) {
  TestRun source(flow(R"([{"name":"poll"},{"name":"rest"}])",
                      R"([{"from":"poll","to":"complete","when":{"path":"ok","equals":true}},
                          {"from":"poll","to":"rest"},{"from":"rest","to":"poll"}])",
                      R"("entry":"poll")"));
  source.start();
  source.apply("poll", R"({"n":1})");
  source.apply("rest", R"({"r":1})");
  source.apply("poll@2", R"({"n":2})");
  source.apply("rest@2", R"({"r":2})");
  source.apply("poll@3", R"({"n":3,"ok":true})");
  TestRun test(source.definition, 2);
  EXPECT_EQ(planned_steps(test.start(planned(source, "rest@2"))), Steps({"rest"}));
  EXPECT_EQ(test.input("rest"), json(R"({"order":7,"n":2,"r":1})"));
  EXPECT_EQ(planned_steps(test.apply("rest")), Steps({"poll"}));
  test.apply("poll", R"({"ok":true})");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(ReplayFrom, a_join_takes_over_a_path_that_ended_elsewhere) {
  const auto definition = flow(R"([{"name":"pack"},{"name":"plan_b"},{"name":"bill"},
               {"name":"ship","after":["pack","bill"]}])",
                               R"([{"from":"pack","on":"error","to":"plan_b"}])");
  TestRun source(definition);
  source.start();
  source.fail("pack");
  source.apply("plan_b", R"({"b":1})");
  source.apply("bill");
  source.apply("ship");
  TestRun test(definition, 2);
  EXPECT_EQ(planned_steps(test.start(planned(source, "ship"))), Steps({"ship"}));
  EXPECT_EQ(*test.run->context_member("b"), "1");
  test.apply("ship");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
}

TEST(ReplayFrom, results_of_items_are_taken_over_as_one) {
  TestRun source(R"([{"name":"mail","for_each":[1,2]},{"name":"last","after":["mail"]}])");
  source.start();
  source.apply("mail[1]", R"({"x":2})");
  source.apply("mail[0]", R"({"x":1})");
  source.apply("last");
  TestRun test(source.definition, 2);
  test.start(planned(source, "last"));
  EXPECT_EQ(test.input("last"), json(R"({"order":7,"mail":[{"x":1},{"x":2}]})"));
}

TEST(ReplayFrom, decisions_and_events_are_taken_over) {
  TestRun source(R"([{"name":"ask","approval":true},{"name":"hear","await_event":"paid"},
                     {"name":"last","after":["ask","hear"]}])");
  source.start();
  source.resolve(ManualAction::approved);
  source.send("paid", "k1", R"({"sum":5})");
  source.apply("last");
  TestRun test(source.definition, 2);
  EXPECT_EQ(planned_steps(test.start(planned(source, "last"))), Steps({"last"}));
  EXPECT_EQ(*test.run->context_member("sum"), "5");
  EXPECT_NE(test.run->context_member("ask")->find("approved"), std::string_view::npos);
}

TEST(ReplayFrom, a_compensated_run_can_be_replayed) {
  TestRun source(R"([{"name":"book","compensate":"unbook"},{"name":"ship","after":["book"]}])");
  source.start();
  source.apply("book", R"({"seat":1})");
  source.fail("ship");
  source.apply("compensate:book", R"({"undone":true})");
  TestRun test(source.definition, 2);
  EXPECT_EQ(planned_steps(test.start(planned(source, "book"))), Steps({"book"}));
  EXPECT_EQ(test.run->context(), json(R"({"order":7})"));
}

TEST(ReplayFrom, the_timeout_of_the_run_counts_from_the_new_start) {
  TestRun source(parsed(R"({"workflow":"order","timeout":"1m","steps":[{"name":"a"},)"
                        R"({"name":"b","after":["a"]}]})"));
  source.start();
  source.apply("a");
  source.apply("b");
  TestRun test(source.definition, 2);
  test.now = TimeMs{100'000};
  test.start(planned(source, "b"));
  EXPECT_EQ(test.run->find(runnable_key(run_no(2), "__run__", 1).view())->plan.visible_at,
            TimeMs{160'000});
}

class ReplaySafety : public ::testing::Test {
 protected:
  ReplaySafety() {
    source_.start();
    source_.apply("pay");
    source_.apply("mail");
    source_.fail("last");
  }
  TestRun source_{R"([{"name":"pay","irreversible":true},
                      {"name":"mail","compensatable":false,"after":["pay"]},
                      {"name":"last","irreversible":true,"after":["mail"]}])"};
};

TEST_F(ReplaySafety, what_cannot_be_undone_is_not_repeated) {
  const auto refused = plan(source_);
  EXPECT_EQ(code_of(refused), ErrorCode::unsafe_replay);
  EXPECT_EQ(refused.error().field("steps"), "pay, mail");
  EXPECT_EQ(plan(source_, "mail").error().field("steps"), "mail");
  EXPECT_TRUE(plan(source_, "last").ok()) << "it was never done";
}

TEST_F(ReplaySafety, unless_it_is_allowed) {
  EXPECT_TRUE(plan(source_, "", "", true).ok());
  EXPECT_TRUE(plan(source_, "mail", "", true).ok());
}

TEST(ReplayRefusals, only_a_step_the_run_came_to_can_be_the_first) {
  TestRun source(kDiamond);
  EXPECT_EQ(code_of(plan(source)), ErrorCode::run_not_found);
  source.start();
  const auto unknown = plan(source, "nothing");
  EXPECT_EQ(code_of(unknown), ErrorCode::invalid_argument);
  EXPECT_EQ(unknown.error().field("field"), "from_step");
  EXPECT_EQ(code_of(plan(source, "thank")), ErrorCode::invalid_transition);
  EXPECT_EQ(code_of(plan(source, "charge@2")), ErrorCode::invalid_transition);
  EXPECT_EQ(code_of(plan(source, "compensate:charge")), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace holdfast::run_replay_test
