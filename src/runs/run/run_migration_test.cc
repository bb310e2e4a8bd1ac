#include "runs/run/run_migration.h"

#include "tests/support/run_fixture.h"

namespace holdfast::run_migration_test {
namespace {

TestRun::Decision migrating(const TestRun& test, std::shared_ptr<const Definition> target) {
  return [&test, target](RunProjection& run) {
    MigrateRun command;
    command.target = target;
    command.source.actor = "ann";
    return decide_migrate(run, command, test.around, test.now);
  };
}

// The first reason why the run cannot continue on these steps.
std::string blocker(TestRun& test, std::shared_ptr<const Definition> target) {
  const auto decided = test.dry_run(migrating(test, std::move(target)));
  return decided.ok() ? "" : std::string(decided.error().field("reason"));
}
std::string blocker(TestRun& test, std::string_view steps) {
  return blocker(test, definition_of(steps));
}

TEST(Migration, a_run_continues_with_the_steps_of_the_other_definition) {
  TestRun test(kLine);
  test.start();
  test.apply("ask", R"({"said":1})");
  const auto target = definition_of(
      R"([{"name":"ask"},{"name":"act","after":["ask"]},{"name":"more","after":["ask"]},)"
      R"({"name":"end","after":["act","more"]}])");
  const RunFacts facts = test.put(migrating(test, target));
  EXPECT_EQ(kinds(facts),
            Kinds({"run_signal_received", "run_definition_migrated", "runnables_planned"}));
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::migrate_run);
  EXPECT_EQ(the<RunDefinitionMigrated>(facts).target_fingerprint, target->fingerprint());
  EXPECT_EQ(planned_steps(facts), Steps({"more"}));
  EXPECT_EQ(test.run->definition(), target);
  test.apply("act");
  EXPECT_EQ(planned_steps(test.apply("more")), Steps({"end"}));
  test.apply("end");
  EXPECT_EQ(test.run->status(), RunStatus::completed);
  EXPECT_EQ(test.run->context(), json(R"({"order":7,"said":1})"));
}

TEST(Migration, again_changes_nothing_and_it_can_return) {
  TestRun test(kLine);
  const auto source = test.definition;
  test.start();
  const auto target =
      definition_of(R"([{"name":"ask"},{"name":"act","after":["ask"],"handler":"other"}])");
  test.put(migrating(test, target));
  EXPECT_TRUE(test.put(migrating(test, target)).empty());
  EXPECT_EQ(kinds(test.put(migrating(test, source))),
            Kinds({"run_signal_received", "run_definition_migrated"}));
  EXPECT_EQ(kinds(test.put(migrating(test, target))),
            Kinds({"run_signal_received", "run_definition_migrated"}));
  test.apply("ask");
  EXPECT_EQ(test.plan_of("act").handler, SharedText("other"));
}

TEST(Migration, a_run_whose_remaining_steps_are_gone_ends) {
  TestRun test(R"([{"name":"a"},{"name":"wait","pause":true,"after":["a"]}])");
  test.start();
  EXPECT_EQ(blocker(test, R"([{"name":"b"}])"), "step_removed");
  test.apply("a");
  EXPECT_EQ(blocker(test, R"([{"name":"a"}])"), "step_removed") << "it waits there";
  TestRun other(R"([{"name":"a"},{"name":"b"},{"name":"c","after":["a","b"]}])");
  other.start();
  other.apply("a");
  other.apply("b");
  EXPECT_EQ(blocker(other, R"([{"name":"a"},{"name":"b"}])"), "step_removed") << "c is open";
}

TEST(Migration, open_steps_must_be_the_same_and_finished_ones_have_the_same_output) {
  TestRun test(kLine);
  test.start();
  EXPECT_EQ(blocker(test, R"([{"name":"ask","handler":"x"},{"name":"act","after":["ask"]}])"),
            "step_changed");
  test.apply("ask");
  EXPECT_EQ(blocker(test, R"([{"name":"ask","handler":"x"},{"name":"act","after":["ask"]}])"), "");
  EXPECT_EQ(blocker(test, R"([{"name":"ask","output":"x"},{"name":"act","after":["ask"]}])"),
            "step_changed");
  EXPECT_EQ(blocker(test, R"([{"name":"ask","wait":"1s"},{"name":"act","after":["ask"]}])"),
            "step_changed");
  EXPECT_EQ(blocker(test, R"([{"name":"new"},{"name":"ask","after":["new"]},)"
                          R"({"name":"act","after":["ask"]}])"),
            "dependency_not_done");
}

TEST(Migration, what_follows_a_finished_step_must_be_the_same) {
  const std::string steps = R"([{"name":"a"},{"name":"b"},{"name":"c"}])";
  const auto source = flow(
      steps, R"([{"from":"a","to":"b"},{"from":"b","to":"c","when":{"path":"n","equals":1}}])");
  TestRun test(source);
  test.start();
  test.apply("a");
  EXPECT_EQ(blocker(test, flow(steps, R"([{"from":"a","to":"c"},{"from":"c","to":"b"}])")),
            "transition_changed");
  EXPECT_EQ(blocker(test, flow(steps, R"([{"from":"a","to":"b"},{"from":"b","to":"c"}])")), "");
  EXPECT_EQ(blocker(test, definition_of(steps)), "transition_changed");
  TestRun open(flow(R"([{"name":"a"},{"name":"b"}])", R"([{"from":"a","to":"b"}])"));
  open.start();
  EXPECT_EQ(blocker(open, flow(R"([{"name":"a"},{"name":"b"}])", R"([{"from":"b","to":"a"}])")),
            "step_moved");
}

TEST(Migration, a_step_must_have_waited_for_what_it_names_now) {
  TestRun test(R"([{"name":"a"},{"name":"b"},{"name":"c","after":["a","b"]}])");
  test.start();
  test.apply("b");
  test.apply("a");
  EXPECT_EQ(blocker(test, R"([{"name":"a"},{"name":"b","after":["a"]},)"
                          R"({"name":"c","after":["a","b"]}])"),
            "dependency_not_done")
      << "b ended first";
}

TEST(Migration, some_runs_cannot_migrate_at_all) {
  TestRun test(kLine);
  test.start();
  EXPECT_EQ(blocker(test, definition_of(kLine, "other")), "other_workflow");
  EXPECT_EQ(blocker(test, flow(kLine, "[]", R"("timeout":"1m")")), "run_timeout");
  MutateGraph more;
  more.mutation_id = "m";
  more.additions.resize(1);
  more.additions[0].id = "new";
  more.additions[0].handler = "h";
  test.put([&](RunProjection& run) { return decide_mutate_graph(run, more, test.now); });
  EXPECT_EQ(blocker(test, R"([{"name":"ask"},{"name":"act","after":["ask"]},{"name":"new"}])"),
            "added_step");
  EXPECT_EQ(blocker(test, R"([{"name":"ask"},{"name":"act","after":["ask"]},{"name":"z"}])"), "");
  test.cancel();
  EXPECT_EQ(code_of(test.dry_run(migrating(test, definition_of(R"([{"name":"ask"}])")))),
            ErrorCode::terminal_run);
}

TEST(Migration, every_blocker_has_a_name) {
  EXPECT_EQ(to_text(MigrationBlocker::added_step), "added_step");
  EXPECT_EQ(std::size(kEnumNames<MigrationBlocker>),
            static_cast<std::size_t>(MigrationBlocker::added_step) + 1);
}

}  // namespace
}  // namespace holdfast::run_migration_test
