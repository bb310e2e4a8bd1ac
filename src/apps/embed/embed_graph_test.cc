// Runs that change while they run: steps that are added, and definitions that replace others.
#include "tests/support/embed_fixture.h"

namespace holdfast::embed_graph_test {
namespace {

StepResult done(StepContext& context, std::string_view /*input*/) {
  return StepResult::ok(JsonObject().add(context.step(), true).text());
}

TEST(EmbedGraph, a_handler_adds_steps_with_its_result) {
  Engine engine = open_engine();
  must(engine.register_workflow(Workflow("job").step("plan")));
  must(engine.register_handler("plan", [](StepContext&, std::string_view) {
    GraphMutation more;
    more.steps = {{.id = "one", .handler = "work", .input = R"({"x":1})"},
                  {.id = "two", .handler = "work", .max_attempts = 2}};
    more.edges = {{.from = "one", .to = "two"}};
    return StepResult::ok("{}", {.graph = more});
  }));
  must(engine.register_handler("work", [](StepContext& context, std::string_view input) {
    EXPECT_EQ(context.step() != "one" || input == R"({"x":1})", true) << input;
    return context.step() == "two" && context.attempt() == 1
               ? StepResult::retry("flaky", "again")
               : StepResult::ok(JsonObject().add(context.step(), true).text());
  }));
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 4U);
  const RunView view = inspect(engine, run);
  EXPECT_EQ(view.status, "completed");
  EXPECT_EQ(view.context, R"({"one":true,"two":true})");
  const std::string graph = must(engine.graph_json(run));
  EXPECT_NE(graph.find(R"("graph_version":1)"), std::string::npos) << graph;
  EXPECT_NE(graph.find(R"("added_by":{"mutation_id":)"), std::string::npos) << graph;
}

TEST(EmbedGraph, steps_that_do_not_fit_fail_the_step) {
  Engine engine = open_engine();
  must(engine.register_workflow(Workflow("job").step("plan")));
  must(engine.register_handler("plan", [](StepContext&, std::string_view) {
    GraphMutation more;
    more.steps = {{.id = "plan", .handler = "work"}};
    return StepResult::ok("{}", {.graph = more});
  }));
  const std::string run = start_job(engine);
  must(engine.drain());
  const RunView view = inspect(engine, run);
  EXPECT_EQ(view.status, "failed");
  EXPECT_NE(view.error.find("declared_identity"), std::string::npos) << view.error;
}

TEST(EmbedGraph, a_caller_adds_steps_once) {
  Engine engine = open_engine();
  must(engine.register_workflow(Workflow("job").step("work").step("last", {.after = {"work"}})));
  for (const char* handler : {"work", "last", "extra"}) {
    must(engine.register_handler(handler, done));
  }
  const std::string run = start_job(engine);
  GraphMutation more;
  more.id = "m";
  more.expected_version = 0;
  more.steps = {{.id = "check", .handler = "extra"}};
  more.edges = {{.from = "last", .to = "check"}};
  must(engine.mutate_graph(run, more, {.actor = "ann"}));
  must(engine.mutate_graph(run, more, {.actor = "bob"}));
  GraphMutation other = more;
  other.steps[0].handler = "work";
  const auto conflict = engine.mutate_graph(run, other);
  EXPECT_EQ(conflict.error().code(), ErrorCode::invalid_graph_mutation);
  EXPECT_EQ(conflict.error().field("reason"), "conflict");
  other.id = "late";
  EXPECT_EQ(engine.mutate_graph(run, other).error().field("reason"), "stale");
  EXPECT_EQ(must(engine.drain()), 3U);
  EXPECT_EQ(inspect(engine, run).context, R"({"work":true,"last":true,"check":true})");
  EXPECT_NE(must(engine.timeline_json(run)).find("requested by ann"), std::string::npos);
}

TEST(EmbedGraph, a_run_migrates_and_a_replay_uses_the_newest_definition) {
  Engine engine = open_engine();
  for (const char* handler : {"work", "last"}) {
    must(engine.register_handler(handler, done));
  }
  must(engine.register_workflow(Workflow("job").version("1").step("work").pause("hold")));
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 1U);
  must(engine.register_workflow(Workflow("job").version("2").step("work").pause("hold").step(
      "last", {.after = {"work", "hold"}})));
  must(engine.migrate(run));
  must(engine.migrate(run));
  EXPECT_EQ(inspect(engine, run).version, "2");
  must(engine.resume(run));
  EXPECT_EQ(must(engine.drain()), 1U);
  EXPECT_EQ(inspect(engine, run).status, "completed");
  EXPECT_EQ(engine.migrate(run, {.to = "none"}).error().code(), ErrorCode::unknown_workflow);

  must(engine.register_workflow(Workflow("job").version("3").step("work")));
  EXPECT_EQ(inspect(engine, must(engine.replay(run)).run_id).version, "2");
  const StartedRun newest = must(engine.replay(run, {.definition = "newest"}));
  EXPECT_EQ(inspect(engine, newest.run_id).version, "3");
}

TEST(EmbedGraph, a_run_whose_finished_steps_do_not_fit_stays) {
  Engine engine = open_engine();
  must(engine.register_handler("work", done));
  must(engine.register_workflow(Workflow("job").version("1").step("work").pause("hold")));
  const std::string run = start_job(engine);
  must(engine.drain());
  must(engine.register_workflow(Workflow("job").version("2").step("other").pause("hold")));
  const auto refused = engine.migrate(run);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_transition);
  EXPECT_EQ(refused.error().field("reason"), "step_removed");
  EXPECT_EQ(inspect(engine, run).version, "1");
}

}  // namespace
}  // namespace holdfast::embed_graph_test
