// Waits, compensation, child runs and the commands on runs, one test per feature, seen from an
// embedding program.
#include <gmock/gmock.h>

#include "tests/support/feature_fixture.h"

namespace holdfast::workflow_steering_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

using Waits = FeatureTest;
using Compensation = FeatureTest;
using RunCommands = FeatureTest;
using Family = FeatureTest;

TEST_F(Waits, a_wait_ends_at_its_time_and_not_before) {
  define(R"(
workflow: nap
steps:
  - {name: nap, wait: 40ms}
  - {name: late, after: nap, wait: {until: due}}
  - {name: end, after: late}
)");
  handle("end");
  const RunView view = run("nap", R"({"due":"2001-01-01T00:00:00Z"})");
  EXPECT_EQ(view.status, "completed");
  EXPECT_GE(view.ended_at_ms - view.started_at_ms, 40);
}

TEST_F(Waits, a_paused_run_continues_when_it_is_resumed) {
  define(R"(
workflow: hold
steps: [{name: stop, pause: {reason: "look at {n}"}}, {name: a, after: stop}]
)");
  handle("a");
  const std::string id = start("hold", R"({"n":5})");
  EXPECT_THAT(until_paused(id).json, HasSubstr("look at 5"));
  EXPECT_EQ(code_of(engine_.approve(id, {.actor = "ann"})), "invalid_transition");
  must(engine_.resume(id, {.actor = "ann", .comment = "fine"}));
  must(engine_.resume(id, {.actor = "ann", .comment = "fine"}));
  EXPECT_EQ(end_of(id).status, "completed");
}

TEST_F(Waits, concurrent_approvals_are_decided_one_by_one) {
  define(R"(
workflow: two
steps:
  - {name: boss, approval: true}
  - {name: legal, approval: true, output: law}
  - {name: end, after: [boss, legal]}
)");
  handle("end");
  const std::string id = start("two");
  until_paused(id);
  EXPECT_EQ(code_of(engine_.approve(id, {.actor = "ann"})), "invalid_argument");
  EXPECT_EQ(code_of(engine_.approve(id, {.step = "boss"})), "invalid_argument") << "no actor";
  must(engine_.approve(id, {.step = "boss", .actor = "ann", .comment = "ok"}));
  must(engine_.approve(id, {.step = "legal", .actor = "bob", .metadata = R"({"token":"t"})"}));
  const RunView view = end_of(id);
  EXPECT_EQ(view.status, "completed");
  EXPECT_THAT(view.context, HasSubstr(R"("boss":{"decision":"approved","actor":"ann")"));
  EXPECT_THAT(view.context, HasSubstr(R"("law":{"decision":"approved","actor":"bob")"));
  EXPECT_THAT(view.json, Not(HasSubstr(R"("token":"t")")));
}

TEST_F(Waits, a_rejection_takes_the_error_route_or_fails_the_run) {
  define(R"(
workflow: routed
steps: [{name: ok, approval: true}, {name: report}]
transitions: [{from: ok, to: complete}, {from: ok, on: error, to: report}]
)");
  define("{workflow: bare, steps: [{name: ok, approval: true}, {name: next, after: ok}]}");
  handle("report");
  const std::string routed = start("routed");
  const std::string bare = start("bare");
  until_paused(routed);
  until_paused(bare);
  must(engine_.reject(routed, {.actor = "ann", .comment = "no"}));
  must(engine_.reject(bare, {.actor = "ann"}));
  EXPECT_EQ(end_of(routed).status, "completed");
  EXPECT_THAT(calls(), ElementsAre("report"));
  EXPECT_THAT(end_of(bare).error, HasSubstr("rejected"));
}

TEST_F(Waits, an_early_event_is_kept_for_the_step_that_waits_for_it) {
  define(R"(
workflow: pay
steps:
  - {name: stop, pause: true}
  - name: paid
    after: stop
    await_event: {event: paid, correlation: {path: order}}
    output: payment
)");
  const std::string id = start("pay", R"({"order":"o-7"})");
  until_paused(id);
  must(engine_.signal(id, "paid", R"({"sum":1})", {.correlation = "o-8"}));
  must(engine_.signal(id, "paid", R"({"sum":2})", {.correlation = "o-7", .idempotency_key = "k"}));
  must(engine_.signal(id, "paid", R"({"sum":2})", {.correlation = "o-7", .idempotency_key = "k"}));
  EXPECT_EQ(code_of(engine_.signal(id, "paid", R"({"sum":3})",
                                   {.correlation = "o-7", .idempotency_key = "k"})),
            "idempotency_conflict");
  must(engine_.resume(id));
  EXPECT_THAT(end_of(id).context, HasSubstr(R"("payment":{"sum":2})"));
}

TEST_F(Waits, several_events_are_awaited_at_once_and_any_one_ends_the_wait) {
  define(R"(
workflow: both
steps:
  - {name: left, await_event: left, output: left}
  - {name: any, await_event: {any_of: [yes, no]}, output: said}
)");
  const std::string id = start("both");
  until_paused(id);
  must(engine_.signal(id, "no", R"({"why":"late"})"));
  must(engine_.signal(id, "left", R"({"x":1})"));
  const RunView view = end_of(id);
  EXPECT_THAT(view.context, HasSubstr(R"("said":{"event":"no","payload":{"why":"late"}})"));
  EXPECT_THAT(view.context, HasSubstr(R"("left":{"x":1})"));
  EXPECT_EQ(code_of(engine_.signal(id, "left")), "terminal_run");
}

TEST_F(Waits, a_wait_that_times_out_takes_its_route) {
  define(R"(
workflow: late
steps:
  - {name: paid, await_event: {event: paid, timeout: 20ms, on_timeout: remind}}
  - {name: remind}
)");
  handle("remind");
  const RunView view = run("late");
  EXPECT_EQ(view.status, "completed");
  EXPECT_THAT(view.context, HasSubstr(R"("timed_out":"paid")"));
  EXPECT_THAT(calls(), ElementsAre("remind"));
}

TEST_F(Compensation, completed_steps_are_compensated_in_reverse_despite_a_failed_compensation) {
  define(R"(
workflow: trip
steps:
  - {name: hotel, compensate: cancel_hotel}
  - {name: flight, after: hotel, compensate: {handler: cancel_flight, retry: {max_attempts: 2}}}
  - {name: car, after: flight, compensate: cancel_car}
  - {name: pay, after: car}
)");
  handle("hotel", says(R"({"booking":12})"));
  handle_all({"flight", "car", "cancel_hotel"});
  handle("pay",
         [](StepContext&, std::string_view) { return StepResult::fail("broke", "no money"); });
  handle("cancel_car",
         [](StepContext&, std::string_view) { return StepResult::fail("gone", "x"); });
  handle("cancel_flight", [](StepContext& context, std::string_view) {
    return context.attempt() == 1 ? StepResult::retry("busy", "x") : StepResult::ok();
  });
  const RunView view = run("trip");
  EXPECT_EQ(view.status, "failed");
  EXPECT_THAT(view.error, HasSubstr("broke")) << "the error that caused the compensation";
  EXPECT_THAT(calls(), ElementsAre("hotel", "flight", "car", "pay", "cancel_car", "cancel_flight",
                                   "cancel_flight", "cancel_hotel"));
  EXPECT_EQ(step(view, "compensate:car").status, "failed");
  EXPECT_EQ(step(view, "compensate:hotel").status, "completed");
  EXPECT_THAT(input_of("cancel_hotel"), HasSubstr(R"("output":{"booking":12})"));
}

TEST_F(Compensation, a_cancelled_run_is_compensated_on_request) {
  define(R"(
workflow: trip
steps: [{name: hotel, compensate: cancel_hotel}, {name: wait, after: hotel, pause: true}]
)");
  handle_all({"hotel", "cancel_hotel"});
  const std::string plain = start("trip");
  until_paused(plain);
  must(engine_.cancel(plain));
  EXPECT_EQ(end_of(plain).status, "cancelled");
  EXPECT_THAT(calls(), ElementsAre("hotel"));
  const std::string undone = start("trip");
  until_paused(undone);
  must(engine_.cancel(undone, {.mode = CancelMode::compensate}));
  EXPECT_EQ(end_of(undone).status, "cancelled");
  EXPECT_THAT(calls(), ElementsAre("hotel", "hotel", "cancel_hotel"));
}

TEST_F(RunCommands, a_cancelled_run_requests_its_handlers_to_stop) {
  define("{workflow: busy, steps: [{name: a}]}");
  // The handler may still be running when the test has ended.
  const auto began = std::make_shared<Gate>();
  const auto stopped = std::make_shared<Gate>();
  handle("a", [began, stopped](StepContext& context, std::string_view) {
    const std::stop_callback when(context.stop(), [&] { stopped->open(); });
    began->open();
    stopped->wait();
    return StepResult::ok();
  });
  const std::string id = start("busy");
  began->wait();
  must(engine_.cancel(id));
  stopped->wait();
  EXPECT_EQ(end_of(id).status, "cancelled");
}

TEST_F(RunCommands, a_run_is_replayed_with_edited_input_or_from_a_step) {
  define(R"(
workflow: report
steps:
  - {name: load, output: data}
  - {name: draw, after: load}
  - {name: send, after: draw}
)");
  handle("load", says(R"({"rows":3})"));
  handle_all({"draw", "send"});
  const RunView first = run("report", R"({"day":1})");
  const std::string edited = must(engine_.replay(first.run_id, {.input = R"({"day":2})"})).run_id;
  EXPECT_THAT(end_of(edited).context, HasSubstr(R"("day":2)"));
  const std::string tail = must(engine_.replay(first.run_id, {.from_step = "draw"})).run_id;
  EXPECT_THAT(end_of(tail).context, HasSubstr(R"("data":{"rows":3})"));
  EXPECT_THAT(calls(), ElementsAre("load", "draw", "send", "load", "draw", "send", "draw", "send"));
  EXPECT_EQ(code_of(engine_.replay(first.run_id, {.from_step = "paint"})), "invalid_argument");
}

TEST_F(RunCommands, a_replay_of_irreversible_steps_is_refused_unless_allowed) {
  define("{workflow: mail, steps: [{name: send, irreversible: true}, {name: note, after: send}]}");
  handle_all({"send", "note"});
  const RunView first = run("mail");
  const auto refused = engine_.replay(first.run_id);
  EXPECT_EQ(code_of(refused), "unsafe_replay");
  EXPECT_THAT(refused.error().text(), HasSubstr("send"));
  EXPECT_EQ(code_of(engine_.replay(first.run_id, {.from_step = "note"})), "ok");
  EXPECT_EQ(code_of(engine_.replay(first.run_id, {.allow_irreversible = true})), "ok");
}

TEST_F(RunCommands, a_run_continues_as_a_new_one) {
  define("{workflow: pages, steps: [{name: page}]}");
  handle("page", [](StepContext&, std::string_view input) {
    return input == R"({"page":2})" ? StepResult::ok(R"({"last":true})")
                                    : StepResult::continue_as_new(R"({"page":2})", "2");
  });
  const RunView first = run("pages", R"({"page":1})");
  EXPECT_EQ(first.status, "continued");
  const RunPage page = must(engine_.list({.workflow = "pages"}));
  EXPECT_EQ(page.runs.size(), 2U);
}

TEST_F(RunCommands, search_attributes_and_archiving) {
  define("{workflow: job, steps: [{name: a}]}");
  handle("a");
  const std::string id = start("job", "{}", {.search_attributes = R"({"customer":"c1"})"});
  EXPECT_EQ(end_of(id).status, "completed");
  must(engine_.set_search_attributes(id, R"({"customer":null,"n":1})", "k"));
  must(engine_.set_search_attributes(id, R"({"customer":null,"n":1})", "k"));
  EXPECT_EQ(code_of(engine_.set_search_attributes(id, R"({"n":2})", "k")), "idempotency_conflict");
  must(engine_.archive(id, "old"));
  EXPECT_THAT(inspect(engine_, id).json, HasSubstr(R"("archived":{)"));
  must(engine_.unarchive(id));
}

TEST_F(Family, a_step_waits_for_its_child_and_gets_its_result) {
  define("{workflow: inner, output: {twice: twice}, steps: [{name: double}]}");
  define(R"(
workflow: outer
steps:
  - {name: kid, child: {workflow: inner}, input: {n: n}, output: kid}
  - {name: end, after: kid}
)");
  handle("double", says(R"({"twice":6,"noise":true})"));
  handle("end");
  const RunView view = run("outer", R"({"n":3})");
  EXPECT_EQ(view.context, R"({"n":3,"kid":{"twice":6}})");
  ASSERT_EQ(view.children.size(), 1U);
  EXPECT_EQ(inspect(engine_, view.children[0]).parent_run_id, view.run_id);
}

TEST_F(Family, a_failed_child_is_an_error_of_its_step) {
  define("{workflow: inner, steps: [{name: breaks}]}");
  define(R"(
workflow: outer
steps: [{name: kid, child: inner}, {name: fallback}]
transitions: [{from: kid, on: error, to: fallback, when: {path: error.error.code, equals: dead}}]
)");
  handle("breaks", [](StepContext&, std::string_view) { return StepResult::fail("dead", "x"); });
  handle("fallback");
  EXPECT_EQ(run("outer").status, "completed");
}

TEST_F(Family, children_end_with_their_parent_unless_they_are_detached) {
  define("{workflow: inner, steps: [{name: hold, pause: true}]}");
  define(R"(
workflow: outer
steps:
  - {name: bound, child: inner}
  - {name: free, child: {workflow: inner, detached: true}}
)");
  const std::string id = start("outer");
  const RunView view = until(id, [](const RunView& now) { return now.children.size() == 2; });
  must(engine_.cancel(id));
  std::vector<std::string> statuses;
  for (const std::string& child : view.children) {
    statuses.push_back(inspect(engine_, child).status);
  }
  EXPECT_THAT(statuses, UnorderedElementsAre("cancelled", "paused"));
}

TEST_F(Family, a_child_that_takes_too_long_is_abandoned_and_cancelled) {
  define("{workflow: inner, steps: [{name: hold, pause: true}]}");
  define(R"(
workflow: outer
steps: [{name: kid, child: inner, timeout: 20ms, retry: {max_attempts: 2}}, {name: fallback}]
transitions: [{from: kid, on: error, to: fallback}]
)");
  handle("fallback");
  const RunView view = run("outer");
  EXPECT_EQ(view.status, "completed");
  EXPECT_THAT(view.context, HasSubstr("start_to_close_timeout"));
  ASSERT_EQ(view.children.size(), 2U);
  for (const std::string& child : view.children) {
    EXPECT_EQ(end_of(child).status, "cancelled");
  }
}

TEST_F(Compensation, a_run_whose_output_cannot_be_built_is_compensated_when_it_is_given_up) {
  define("{workflow: odd, output: {x: y}, steps: [{name: a, compensate: undo}]}");
  handle_all({"a", "undo"});
  const std::string id = start("odd");
  EXPECT_EQ(until_parked(id).status, "parked");
  EXPECT_THAT(calls(), ElementsAre("a"));
  must(engine_.discard(id));
  const RunView view = end_of(id);
  EXPECT_EQ(view.status, "failed");
  EXPECT_THAT(view.error, HasSubstr("missing_output_path"));
  EXPECT_THAT(calls(), ElementsAre("a", "undo"));
}

}  // namespace
}  // namespace holdfast::workflow_steering_test
