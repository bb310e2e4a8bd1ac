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
  command.origin.attempt = 2;
  EXPECT_EQ(decide(command).error().field("field"), "origin");
  command.origin.runnable_key = "other";
  EXPECT_EQ(decide(command).error().field("field"), "origin");
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
  idle = node("b");
  idle.queue = "a b";
  EXPECT_EQ(refused({idle}), "queue");
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
