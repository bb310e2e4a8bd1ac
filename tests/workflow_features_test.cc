// The features of the workflow language, one test each, seen from an embedding program. Waits,
// compensation and the commands on runs are in workflow_steering_test.cc.
#include <gmock/gmock.h>

#include "tests/support/feature_fixture.h"

namespace holdfast::workflow_features_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Authoring = FeatureTest;
using Graph = FeatureTest;
using Steps = FeatureTest;

TEST_F(Authoring, the_payload_contract_lists_every_invalid_field) {
  define(R"(
workflow: order
triggers:
  - name: api
    manual: {}
    payload:
      id: string
      amount: {type: integer, default: 1}
      note: {type: string, required: false}
steps:
  - {name: a}
)");
  const auto wrong = engine_.start("order", R"({"amount":"two","colour":"red"})");
  ASSERT_EQ(code_of(wrong), "invalid_payload");
  for (const char* part : {"id", "amount", "integer", "colour"}) {
    EXPECT_THAT(wrong.error().text(), HasSubstr(part));
  }
  handle("a");
  EXPECT_EQ(run("order", R"({"id":"x"})").input, R"({"id":"x","amount":1})");
}

TEST_F(Authoring, a_workflow_has_several_triggers_with_their_own_contracts) {
  define(R"(
workflow: order
triggers:
  - {name: api, manual: {}, payload: {id: string}}
  - {name: office, manual: {}, payload: {desk: integer}}
steps: [{name: a}]
)");
  handle("a");
  EXPECT_EQ(code_of(engine_.start("order", R"({"desk":3})")), "invalid_payload");
  EXPECT_EQ(end_of(start("order", R"({"desk":3})", {.trigger = "office"})).status, "completed");
  EXPECT_EQ(code_of(engine_.start("order", "{}", {.trigger = "post"})), "invalid_trigger");
}

TEST_F(Authoring, a_repeated_start_under_a_key_compares_payloads_regardless_of_order) {
  define("{workflow: order, steps: [{name: a}]}");
  const auto first = must(engine_.start("order", R"({"a":1,"b":2})", {.idempotency_key = "k"}));
  const auto again = must(engine_.start("order", R"({"b":2.0,"a":1})", {.idempotency_key = "k"}));
  EXPECT_EQ(again.run_id, first.run_id);
  EXPECT_TRUE(again.existed);
  EXPECT_EQ(code_of(engine_.start("order", R"({"a":2})", {.idempotency_key = "k"})),
            "idempotency_conflict");
}

TEST_F(Authoring, registered_definitions_are_known_to_engines_that_never_registered_them) {
  const std::string path = testing::TempDir() + "holdfast-definitions.db";
  std::remove(path.c_str());
  {
    Engine author = open_engine("sqlite:" + path);
    must(author.register_workflow_yaml("{workflow: shared, steps: [{name: a, log: hello}]}"));
  }
  Engine other = open_engine("sqlite:" + path);
  const std::string run = must(other.start("shared")).run_id;
  EXPECT_EQ(must(other.wait(run, kLong)).status, "completed");
}

TEST_F(Graph, transitions_follow_the_first_condition_that_holds) {
  define(R"(
workflow: sort
steps: [{name: look}, {name: small}, {name: large}, {name: odd}]
transitions:
  - {from: look, to: large, when: {path: n, greater: 100}}
  - from: look
    to: odd
    when: {all: [{path: n, in: [1, 3, 5]}, {not: {path: even, exists: true}}]}
  - {from: look, to: small}
)");
  handle_all({"look", "small", "large", "odd"});
  run("sort", R"({"n":101})");
  run("sort", R"({"n":3})");
  run("sort", R"({"n":3,"even":false})");
  EXPECT_THAT(calls(), ElementsAre("look", "large", "look", "odd", "look", "small"));
}

TEST_F(Graph, the_decision_is_recorded_with_its_condition) {
  define(R"(
workflow: sort
steps: [{name: look}, {name: large}]
transitions:
  - {from: look, to: large, when: {path: n, greater: 100}}
  - {from: look, to: complete}
)");
  handle_all({"look", "large"});
  EXPECT_THAT(run("sort", R"({"n":101})").json,
              HasSubstr(R"("transition":{"from":"look","on":"ok","to":"large",)"
                        R"("when":{"greater":100,"path":"n"}})"));
}

TEST_F(Graph, a_step_starts_as_soon_as_its_own_dependencies_are_completed) {
  define(R"(
workflow: race
steps:
  - {name: slow}
  - {name: quick}
  - {name: next, after: quick}
  - {name: join, after: [slow, next]}
)");
  Gate gate;
  handle("slow", [&](StepContext&, std::string_view) {
    gate.wait();
    return StepResult::ok();
  });
  handle_all({"quick", "join"});
  handle("next", [&](StepContext&, std::string_view) {
    gate.open();  // slow can end only because this step runs beside it
    return StepResult::ok();
  });
  EXPECT_EQ(run("race").status, "completed");
}

TEST_F(Graph, error_routes_replace_failed_steps_also_among_dependencies) {
  define(R"(
workflow: offers
steps: [{name: fast}, {name: cheap}, {name: catalogue}, {name: choose, after: [fast, cheap]}]
transitions:
  - from: fast
    on: error
    to: catalogue
    when: {path: error.code, equals: sold_out}
    recovery: undo
)");
  handle("fast", [](StepContext&, std::string_view) { return StepResult::fail("sold_out", "no"); });
  handle_all({"cheap", "catalogue", "choose"});
  const RunView view = run("offers");
  EXPECT_EQ(view.status, "completed");
  EXPECT_EQ(step(view, "fast").status, "failed");
  EXPECT_EQ(step(view, "choose").status, "completed");
  EXPECT_THAT(input_of("catalogue"), HasSubstr(R"("code":"sold_out")"));
}

TEST_F(Graph, loops_visit_a_step_again_under_another_name_up_to_a_limit) {
  define(R"(
workflow: poll
entry: ask
max_visits: 3
steps: [{name: ask}]
transitions:
  - {from: ask, to: complete, when: {path: ready, equals: true}}
  - {from: ask, to: ask}
)");
  handle("ask", [](StepContext& context, std::string_view) {
    return StepResult::ok(context.info().visit == 3 ? R"({"ready":true})" : R"({"ready":false})");
  });
  const RunView view = run("poll");
  EXPECT_EQ(view.status, "completed");
  EXPECT_EQ(step(view, "ask@3").status, "completed");
  handle("ask");
  EXPECT_THAT(run("poll").error, HasSubstr("visit_limit_exceeded"));
}

TEST_F(Graph, for_each_collects_results_in_order_with_a_cap_on_concurrency) {
  define(R"(
workflow: sums
steps:
  - {name: square, for_each: {items: numbers, as: n, concurrency: 2}, output: squares}
)");
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  handle("square", [&](StepContext& context, std::string_view) {
    most = std::max(most.load(), ++running);
    --running;
    return StepResult::ok(R"({"item":)" + std::to_string(context.info().item) + "}");
  });
  EXPECT_EQ(run("sums", R"({"numbers":[7,8,9]})").context,
            R"({"numbers":[7,8,9],"squares":[{"item":0},{"item":1},{"item":2}]})");
  EXPECT_LE(most, 2);
}

TEST_F(Graph, for_each_fails_fast_or_collects_errors) {
  define(R"(
workflow: fast
steps: [{name: item, for_each: {items: [1, 2, 3], concurrency: 1}}]
)");
  define(R"(
workflow: all
steps: [{name: item, for_each: {items: [1, 2, 3], on_error: collect}, output: done}]
)");
  handle("item", [](StepContext& context, std::string_view) {
    return context.info().item == 1 ? StepResult::fail("bad", "no") : StepResult::ok("1");
  });
  const RunView failed = run("fast");
  EXPECT_EQ(failed.status, "failed");
  EXPECT_THAT(failed.error, HasSubstr(R"("item":1)"));
  const RunView collected = run("all");
  EXPECT_EQ(collected.status, "completed");
  EXPECT_THAT(collected.context, HasSubstr(R"("done":[1,{"error":{"code":"bad")"));
}

TEST_F(Steps, input_is_mapped_and_output_has_a_key) {
  define(R"(
workflow: map
steps:
  - {name: a, output: first}
  - name: b
    after: a
    input: {x: first.x, limit: {path: limit, default: 5}, unit: {value: EUR}}
)");
  handle("a", says(R"({"x":{"deep":1}})"));
  handle("b");
  EXPECT_EQ(run("map").context, R"({"first":{"x":{"deep":1}}})");
  EXPECT_EQ(input_of("b"), R"({"limit":5,"unit":"EUR","x":{"deep":1}})");
}

TEST_F(Steps, a_missing_mapped_path_is_named_and_corrected_by_a_migration) {
  define("{workflow: map, steps: [{name: a, input: {x: order.id}}]}");
  handle("a");
  const std::string id = start("map", R"({"order":{"no":7}})");
  const RunView view = until_parked(id);
  EXPECT_EQ(view.status, "parked");
  for (const char* part : {"missing_input_path", "order.id", R"("missing_at":"id")"}) {
    EXPECT_THAT(step(view, "a").error, HasSubstr(part));
  }
  stop_pool();
  define("{workflow: map, steps: [{name: a, input: {x: order.no}}]}");
  must(engine_.migrate(id));
  work();
  EXPECT_EQ(end_of(id).status, "completed");
  EXPECT_EQ(input_of("a"), R"({"x":7})");
  EXPECT_THAT(calls(), ElementsAre("a"));
}

TEST_F(Steps, a_parent_waits_for_a_child_whose_definition_has_a_fault) {
  define("{workflow: child, steps: [{name: a, input: {x: lost}}]}");
  define("{workflow: parent, steps: [{name: kid, child: child}]}");
  handle("a");
  const std::string id = start("parent");
  const RunView parent =
      until(id, [](const RunView& view) { return !view.children.empty() || view.terminal; });
  ASSERT_EQ(parent.children.size(), 1U);
  const std::string child = parent.children.front();
  EXPECT_EQ(until_parked(child).status, "parked");
  EXPECT_FALSE(inspect(engine_, id).terminal);
  must(engine_.retry(child, {.input = R"({"x":1})"}));
  EXPECT_EQ(end_of(id).status, "completed");
  EXPECT_EQ(input_of("a"), R"({"x":1})");
}

TEST_F(Steps, the_payload_is_always_the_base_of_the_context) {
  define(R"(
workflow: base
steps: [{name: a, input: [other]}, {name: b, after: a}]
)");
  handle_all({"a", "b"});
  run("base", R"({"order":7})");
  EXPECT_EQ(input_of("a"), "{}");
  EXPECT_EQ(input_of("b"), R"({"order":7})");
}

TEST_F(Steps, schemas_are_checked_for_input_and_output) {
  define(R"(
workflow: strict
steps:
  - {name: a, output_schema: {n: integer}}
  - {name: b, after: a, input_schema: {n: integer, m: string}}
)");
  handle("a", says(R"({"n":"one"})"));
  EXPECT_THAT(run("strict").error, HasSubstr("invalid_output"));
  handle("a", says(R"({"n":1})"));
  const std::string error = step(until_parked(start("strict")), "b").error;
  EXPECT_THAT(error, HasSubstr("invalid_input"));
  EXPECT_THAT(error, HasSubstr(R"("missing_fields":["m"])"));
}

TEST_F(Steps, retries_follow_the_rule_of_the_error_code) {
  define(R"(
workflow: stubborn
steps:
  - name: a
    retry: {max_attempts: 2, delay: 1ms, backoff: linear, jitter_percent: 50,
            codes: {busy: {max_attempts: 4}, never: {max_attempts: 1},
                    step_exception: {max_attempts: 3}}}
)");
  for (const auto& [code, attempts] :
       std::map<std::string, std::size_t>{{"other", 2}, {"busy", 4}, {"never", 1}}) {
    handle("a", [code = code](StepContext&, std::string_view) {
      return StepResult::retry(code, "again");
    });
    EXPECT_EQ(step(run("stubborn"), "a").attempts, attempts) << code;
  }
  handle("a", [](StepContext&, std::string_view) -> StepResult { throw std::runtime_error("x"); });
  EXPECT_EQ(step(run("stubborn"), "a").attempts, 3U) << "an exception whose code is named";
}

TEST_F(Steps, the_handler_decides_on_retry_after_and_defer) {
  define("{workflow: later, steps: [{name: a, retry: {max_attempts: 2, delay: 1h}}]}");
  std::atomic<int> call = 0;
  handle("a", [&](StepContext&, std::string_view) {
    switch (++call) {
      case 1:
        return StepResult::retry_after("busy", "later", milliseconds(1));
      case 2:
        return StepResult::defer("too early", milliseconds(1));
      default:
        return StepResult::ok();
    }
  });
  EXPECT_EQ(run("later").status, "completed");
  EXPECT_EQ(call, 3);
}

TEST_F(Steps, an_attempt_that_takes_too_long_fails_and_its_handler_is_requested_to_stop) {
  define(R"(
workflow: slow
steps: [{name: a, timeout: {start_to_close: 30ms}, retry: {max_attempts: 2}}]
)");
  handle("a", [](StepContext& context, std::string_view) {
    if (context.attempt() == 1) {
      std::promise<void> stopped;
      const std::stop_callback when(context.stop(), [&] { stopped.set_value(); });
      EXPECT_EQ(stopped.get_future().wait_for(kLong), std::future_status::ready);
    }
    return StepResult::ok();
  });
  const RunView view = run("slow");
  EXPECT_EQ(view.status, "completed");
  EXPECT_EQ(step(view, "a").attempts, 2U);
}

TEST_F(Steps, a_step_that_is_not_claimed_in_time_fails) {
  define(R"(
workflow: lonely
steps: [{name: a, handler: no_such_handler, timeout: {schedule_to_start: 20ms}}]
)");
  EXPECT_THAT(run("lonely").error, HasSubstr("schedule_to_start_timeout"));
}

TEST_F(Steps, a_run_that_takes_too_long_fails) {
  define("{workflow: long, timeout: 30ms, steps: [{name: a, wait: 1h}]}");
  EXPECT_THAT(run("long").error, HasSubstr("run_timeout"));
}

TEST_F(Steps, deadlines_are_shown_with_the_attempt) {
  define(R"(
workflow: due
steps:
  - name: a
    handler: no_such_handler
    deadline: {within: 1h, due_soon: 10m, escalate_after: 5m}
)");
  const RunView view = inspect(engine_, start("due"));
  for (const char* part : {R"("due_at":)", R"("due_soon_at":)", R"("escalated_at":)"}) {
    EXPECT_THAT(view.json, HasSubstr(part));
  }
}

TEST_F(Steps, exec_reads_its_input_from_stdin_and_returns_its_stdout) {
  define(R"(
workflow: shell
steps:
  - name: count
    exec: [sh, -c, 'read line; echo "note: $HOLDFAST_STEP" >&2; echo "{\"got\":$line}"']
  - {name: bad, after: count, exec: [sh, -c, 'echo oops >&2; exit 3'], retry: {max_attempts: 2}}
)");
  const RunView view = run("shell", R"({"n":1})");
  EXPECT_THAT(view.context, HasSubstr(R"("got":{"n":1})"));
  EXPECT_EQ(view.status, "failed");
  EXPECT_THAT(view.error, HasSubstr("oops"));
  EXPECT_THAT(view.json, HasSubstr("note: count")) << "stderr is kept with the attempt";
  EXPECT_EQ(step(view, "bad").attempts, 2U);
}

TEST_F(Steps, queues_are_chosen_by_step) {
  define("{workflow: two, steps: [{name: a, queue: slow}, {name: b, after: a}]}");
  handle("a", [](StepContext& context, std::string_view) {
    return StepResult::ok(R"({"queue":")" + context.info().queue + "\"}");
  });
  handle("b");
  EXPECT_EQ(run("two").context, R"({"queue":"slow"})");
}

class Logging : public FeatureTest {
 protected:
  Logging()
      : FeatureTest({.log = [this](const LogMessage& line) {
          const std::scoped_lock lock(mutex_);
          lines_.push_back(line.level + " " + line.message);
        }}) {}
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(Logging, a_log_step_logs_its_message_after_it_is_durable) {
  define(R"(
workflow: talk
steps: [{name: a, log: {message: "order {order.id} of {who}", level: warning}}]
)");
  EXPECT_EQ(run("talk", R"({"order":{"id":7},"who":"ann"})").status, "completed");
  until(start("talk"), [&](const RunView&) {
    const std::scoped_lock lock(mutex_);
    return lines_.size() == 2;
  });
  EXPECT_EQ(lines_.front(), "warning order 7 of ann");
}

}  // namespace
}  // namespace holdfast::workflow_features_test
