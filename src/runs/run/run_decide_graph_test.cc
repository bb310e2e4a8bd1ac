#include "tests/support/run_fixture.h"

namespace holdfast::run_decide_graph_test {
namespace {

GraphAddition node(std::string_view id, std::string_view input = "") {
  GraphAddition addition;
  addition.id = id;
  addition.handler = "work";
  addition.input = json(input);
  return addition;
}

GraphAddition edge(std::string_view from, std::string_view to) {
  GraphAddition addition;
  addition.kind = GraphItem::edge;
  addition.id = std::string(from) + "-" + std::string(to);
  addition.from = from;
  addition.to = to;
  return addition;
}

GraphRemoval no_node(std::string_view id) { return {GraphItem::node, SharedText(id)}; }
GraphRemoval no_edge(std::string_view id) { return {GraphItem::edge, SharedText(id)}; }

class DecideGraph : public ::testing::Test {
 protected:
  DecideGraph() { test_.start(); }

  MutateGraph mutation(std::vector<GraphAddition> additions,
                       std::vector<GraphRemoval> removals = {}) const {
    const std::uint64_t version = test_.run->graph().version;
    MutateGraph command;
    command.mutation_id = "m" + std::to_string(version);
    command.expected_version = version;
    command.origin = test_.origin("ask");
    command.additions = std::move(additions);
    command.removals = std::move(removals);
    return command;
  }
  TestRun::Decision changing(const MutateGraph& command) {
    return [this, command](RunProjection& run) {
      return decide_mutate_graph(run, command, test_.now);
    };
  }
  Result<RunFacts> decide(const MutateGraph& command) { return test_.dry_run(changing(command)); }
  RunFacts mutate(std::vector<GraphAddition> additions, std::vector<GraphRemoval> removals = {}) {
    return test_.put(changing(mutation(std::move(additions), std::move(removals))));
  }
  // Why a mutation is refused.
  std::string refused(std::vector<GraphAddition> additions,
                      std::vector<GraphRemoval> removals = {}) {
    const auto decided = decide(mutation(std::move(additions), std::move(removals)));
    EXPECT_EQ(code_of(decided), ErrorCode::invalid_graph_mutation);
    return decided.ok() ? "" : std::string(decided.error().field("reason"));
  }

  TestRun test_{kLine};
};

TEST_F(DecideGraph, nodes_without_predecessors_are_planned_with_the_mutation) {
  const RunFacts facts = mutate({node("a", R"({"x":1})"), node("b"), edge("a", "b")});
  EXPECT_EQ(kinds(facts), Kinds({"dynamic_graph_mutated", "runnables_planned"}));
  EXPECT_EQ(planned_steps(facts), Steps({"a"}));
  const Runnable planned = the<RunnablesPlanned>(facts).runnables.front();
  EXPECT_EQ(planned.handler, SharedText("work"));
  EXPECT_EQ(planned.input, json(R"({"x":1})"));
  EXPECT_EQ(planned.graph_mutation->mutation_id, SharedText("m0"));
}

TEST_F(DecideGraph, a_node_is_planned_once_all_its_predecessors_are_applied) {
  mutate({node("a"), node("b"), node("c"), edge("a", "c"), edge("b", "c"), edge("ask", "c")});
  EXPECT_EQ(planned_steps(test_.apply("a")), Steps());
  EXPECT_EQ(planned_steps(test_.apply("ask", R"({"said":1})")), Steps({"act"}));
  const RunFacts facts = test_.apply("b", R"({"b":2})");
  EXPECT_EQ(planned_steps(facts), Steps({"c"}));
  EXPECT_EQ(the<RunnablesPlanned>(facts).runnables.front().input,
            json(R"({"order":7,"said":1,"b":2})"));
}

TEST_F(DecideGraph, a_step_may_release_steps_and_nodes_at_once) {
  mutate({node("a"), edge("ask", "a")});
  EXPECT_EQ(planned_steps(test_.apply("ask")), Steps({"a", "act"}));
}

TEST_F(DecideGraph, the_run_ends_when_steps_and_nodes_are_done) {
  mutate({node("a"), node("b"), edge("a", "b")});
  test_.apply("ask");
  EXPECT_EQ(kinds(test_.apply("act")), Kinds({"runnable_applied"}));
  test_.apply("a");
  EXPECT_EQ(kinds(test_.apply("b")), Kinds({"runnable_applied", "run_terminal"}));
  EXPECT_EQ(test_.run->status(), RunStatus::completed);
}

TEST_F(DecideGraph, a_node_may_defer_itself_and_a_failure_ends_the_run) {
  mutate({node("a", R"({"x":1})")});
  const auto again = the<RunnablesPlanned>(test_.apply("a", "{}", R"({"defer":{}})"));
  EXPECT_EQ(again.runnables.front().input, json(R"({"x":1})"));
  EXPECT_EQ(again.runnables.front().graph_mutation->node_id, SharedText("a"));
  EXPECT_EQ(kinds(test_.fail("a")), Kinds({"run_terminal"}));
}

TEST_F(DecideGraph, the_same_mutation_again_adds_nothing_and_another_is_refused) {
  const MutateGraph first = mutation({node("a")});
  test_.put(changing(first));
  EXPECT_TRUE(test_.put(changing(first)).empty());
  MutateGraph other = first;
  other.additions = {node("b")};
  EXPECT_EQ(decide(other).error().field("reason"), "conflict");
  test_.cancel();
  EXPECT_TRUE(test_.put(changing(first)).empty());
  EXPECT_EQ(code_of(decide(mutation({node("c")}))), ErrorCode::terminal_run);
}

TEST_F(DecideGraph, a_mutation_of_another_version_is_refused) {
  const MutateGraph late = [&] {
    MutateGraph command = mutation({node("b")});
    command.mutation_id = "late";
    return command;
  }();
  mutate({node("a")});
  EXPECT_EQ(decide(late).error().field("reason"), "stale");
}

TEST_F(DecideGraph, the_origin_is_a_runnable_of_the_run) {
  MutateGraph command = mutation({node("a")});
  command.origin->attempt = 2;
  EXPECT_EQ(decide(command).error().field("field"), "origin");
  command.origin->runnable_key = "other";
  EXPECT_EQ(decide(command).error().field("field"), "origin");
}

TEST_F(DecideGraph, a_caller_is_recorded_with_a_receipt) {
  MutateGraph command = mutation({node("a")});
  command.origin.reset();
  command.source.source = "cli";
  command.source.actor = "ann";
  const RunFacts facts = test_.put(changing(command));
  EXPECT_EQ(kinds(facts),
            Kinds({"run_signal_received", "dynamic_graph_mutated", "runnables_planned"}));
  EXPECT_EQ(the<RunSignalReceived>(facts).signal_type, SignalType::mutate_graph);
  EXPECT_EQ(the<RunSignalReceived>(facts).payload, json(R"({"mutation_id":"m0"})"));
  EXPECT_EQ(the<DynamicGraphMutated>(facts).origin, (GraphOrigin{{}, {}, 0, "cli", "ann"}));
}

TEST_F(DecideGraph, without_a_version_it_fits_any_and_is_the_same_again) {
  mutate({node("a")});
  MutateGraph command = mutation({node("b")});
  command.mutation_id = "late";
  command.expected_version.reset();
  const RunFacts facts = test_.put(changing(command));
  EXPECT_EQ(the<DynamicGraphMutated>(facts).expected_version, 1U);
  mutate({node("c")});
  command.origin.reset();
  EXPECT_TRUE(test_.put(changing(command)).empty());
  command.expected_version = 0;
  EXPECT_EQ(decide(command).error().field("reason"), "conflict");
}

TEST_F(DecideGraph, a_node_is_retried_by_its_own_policy) {
  GraphAddition node_a = node("a");
  node_a.retry = RetryPolicy{{2, 50}, {}};
  mutate({node_a});
  const RunFacts again = test_.fail("a");
  EXPECT_EQ(planned_steps(again), Steps({"a"}));
  EXPECT_EQ(the<RunnablesPlanned>(again).runnables.front().attempt_number, 2U);
  EXPECT_EQ(kinds(test_.fail("a")), Kinds({"run_terminal"}));
}

TEST(DecideGraphRoutes, a_step_inside_a_path_releases_its_nodes_at_once) {
  TestRun test(parsed(R"({"workflow":"order","steps":[{"name":"one"},{"name":"two"},)"
                      R"({"name":"three"}],"transitions":[{"from":"one","to":"two"},)"
                      R"({"from":"two","to":"three"}]})"));
  test.start();
  test.apply("one");
  MutateGraph command;
  command.mutation_id = "m";
  command.additions = {node("a"), edge("two", "a")};
  test.put([&](RunProjection& run) { return decide_mutate_graph(run, command, test.now); });
  EXPECT_EQ(planned_steps(test.apply("two")), Steps({"a", "three"}));
}

// What a step that completes with this change leaves behind.
class StepMutation : public DecideGraph {
 protected:
  static std::string opts(std::string_view graph) {
    return R"({"graph":)" + std::string(graph) + "}";
  }
};

constexpr std::string_view kTwoNodes =
    R"({"additions":[{"kind":"node","id":"a","handler":"work","input":{"x":1}},)"
    R"({"kind":"node","id":"b","handler":"work"},)"
    R"({"kind":"edge","id":"e","from":"a","to":"b"}]})";

TEST_F(StepMutation, changes_the_graph_in_the_commit_that_applies_the_result) {
  const RunFacts facts = test_.apply("ask", "{}", opts(kTwoNodes));
  EXPECT_EQ(kinds(facts),
            Kinds({"dynamic_graph_mutated", "runnable_applied", "runnables_planned"}));
  EXPECT_EQ(planned_steps(facts), Steps({"a", "act"}));
  const auto mutated = the<DynamicGraphMutated>(facts);
  EXPECT_EQ(mutated.origin.step, SharedText("ask"));
  EXPECT_EQ(mutated.origin.attempt, 1U);
  EXPECT_EQ(mutated.mutation_id, test_.plan_of("ask").idempotency_key);
  test_.apply("act");
  EXPECT_EQ(planned_steps(test_.apply("a")), Steps({"b"}));
  test_.apply("b");
  EXPECT_EQ(test_.run->status(), RunStatus::completed);
}

TEST_F(StepMutation, that_is_not_allowed_fails_the_step_and_changes_nothing) {
  for (const std::string_view graph :
       {R"({"additions":[{"kind":"node","id":"act","handler":"work"}]})", R"({"additions":[]})",
        R"({"expected_version":3,"additions":[{"kind":"node","id":"a","handler":"work"}]})",
        R"({"additions":[{"kind":"node","id":"a","handler":"work"},)"
        R"({"kind":"edge","id":"e","from":"a","to":"a"}]})",
        R"([1])"}) {
    TestRun test(kLine);
    test.start();
    EXPECT_EQ(kinds(test.apply("ask", "{}", opts(graph))), Kinds({"run_terminal"})) << graph;
    EXPECT_EQ(test.run->status(), RunStatus::failed);
    EXPECT_EQ(test.run->graph().version, 0U);
    EXPECT_NE(test.run->terminal()->error.view().find("invalid_graph_mutation"),
              std::string_view::npos);
  }
}

TEST_F(StepMutation, of_a_step_that_defers_itself_is_ignored) {
  const RunFacts facts = test_.apply("ask", "{}", R"({"defer":{},"graph":{"additions":[]}})");
  EXPECT_EQ(kinds(facts), Kinds({"runnable_applied", "runnables_planned"}));
}

TEST_F(DecideGraph, blocked_nodes_can_be_removed_and_their_names_stay_taken) {
  mutate({node("a"), node("b"), edge("a", "b")});
  EXPECT_EQ(refused({}, {no_node("b")}), "invalid_target");
  EXPECT_EQ(kinds(mutate({}, {no_edge("a-b"), no_node("b")})), Kinds({"dynamic_graph_mutated"}));
  EXPECT_EQ(refused({node("b")}), "reserved_identity");
}

TEST_F(DecideGraph, taking_an_edge_away_releases_the_node) {
  mutate({node("a"), node("b"), edge("a", "b")});
  const RunFacts facts = mutate({}, {no_edge("a-b")});
  EXPECT_EQ(planned_steps(facts), Steps({"b"}));
  EXPECT_EQ(the<RunnablesPlanned>(facts).runnables.front().graph_mutation->mutation_id,
            SharedText("m0"));
}

TEST_F(DecideGraph, operations_that_are_not_allowed_are_named) {
  mutate({node("a")});
  EXPECT_EQ(refused({}), "operations");
  EXPECT_EQ(refused({node("act")}), "declared_identity");
  EXPECT_EQ(refused({node("a")}), "reserved_identity");
  EXPECT_EQ(refused({node("b"), node("b")}), "duplicate_identity");
  EXPECT_EQ(refused({node("a:b")}), "invalid_identity");
  EXPECT_EQ(refused({node("b", "[1]")}), "input");
  EXPECT_EQ(refused({edge("missing", "a")}), "predecessor_for_started_node");
  EXPECT_EQ(refused({node("b"), edge("missing", "b")}), "unknown_endpoint");
  EXPECT_EQ(refused({node("b"), edge("b", "missing")}), "invalid_target");
  EXPECT_EQ(refused({node("b"), edge("b", "act")}), "invalid_target");
  EXPECT_EQ(refused({node("b"), node("c"), edge("b", "c"), edge("c", "b")}), "cycle");
  EXPECT_EQ(refused({node("b"), edge("b", "b")}), "cycle");
  EXPECT_EQ(refused({}, {no_node("a")}), "node_not_removable");
  EXPECT_EQ(refused({}, {no_edge("a")}), "unknown_identity");
  EXPECT_EQ(refused({}, {no_node("missing")}), "unknown_identity");
  GraphAddition idle = node("b");
  idle.handler = {};
  EXPECT_EQ(refused({idle}), "handler");
  idle.handler = "__timer__";
  EXPECT_EQ(refused({idle}), "handler");
  idle = node("b");
  idle.queue = "a b";
  EXPECT_EQ(refused({idle}), "queue");
  idle = node("b");
  idle.retry = RetryPolicy{{0, 0}, {}};
  EXPECT_EQ(refused({idle}), "retry");
}

TEST_F(DecideGraph, a_mutation_has_a_limit) {
  std::vector<GraphAddition> many;
  for (std::size_t i = 0; i <= kMaxGraphOperations; ++i) {
    many.push_back(node("n" + std::to_string(i)));
  }
  EXPECT_EQ(refused(many), "operations");
  many.pop_back();
  EXPECT_EQ(planned_steps(mutate(many)).size(), kMaxGraphOperations);
}

}  // namespace
}  // namespace holdfast::run_decide_graph_test
