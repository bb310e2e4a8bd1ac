#include "runs/run/run_projection.h"

#include <gtest/gtest.h>

#include "runs/facts/retired_kinds.h"
#include "tests/support/run_fact_samples.h"
#include "tests/support/test_entries.h"

namespace holdfast::run_projection_test {
namespace {

using Facts = std::vector<RunFact>;

std::unique_ptr<RunProjection> run_of(const Facts& facts) {
  auto run = std::make_unique<RunProjection>(run_no(1));
  evolve_all(*run, facts);
  EXPECT_EQ(reasons(*run), std::vector<std::string>());
  return run;
}

std::string_view status_after(const Facts& facts) { return to_text(run_of(facts)->status()); }
std::string context_after(const Facts& facts) {
  return std::string(run_of(facts)->context().view());
}

std::shared_ptr<const Definition> diamond() {
  return must(Definition::parse(
      R"({"workflow":"order","steps":[{"name":"a"},{"name":"b","after":["a"]},
          {"name":"c","after":["a"]},{"name":"d","after":["b","c"]}]})"));
}

Facts begun(Facts more = {}) {
  Facts facts{run_signal(), run_started(), planned({runnable("a")})};
  facts.insert(facts.end(), more.begin(), more.end());
  return facts;
}

TEST(RunProjection, its_status_follows_the_facts) {
  EXPECT_EQ(status_after({}), "new");
  EXPECT_EQ(status_after({run_signal()}), "new");
  EXPECT_EQ(status_after({run_started()}), "started");
  EXPECT_EQ(status_after(begun()), "running");
  EXPECT_EQ(status_after(begun({applied_run("a#1")})), "idle");
  EXPECT_EQ(status_after(begun({applied_run("a#1"), planned({runnable("b")})})), "running");
  EXPECT_EQ(status_after(begun({applied_run("a#1"), paused("a")})), "paused");
  EXPECT_EQ(status_after(begun({applied_run("a#1"), paused("a"), resolved("a")})), "idle");
  EXPECT_EQ(status_after(begun({wait_opened()})), "paused");
  for (const auto status : {TerminalStatus::completed, TerminalStatus::failed,
                            TerminalStatus::cancelled, TerminalStatus::continued}) {
    EXPECT_EQ(status_after(begun({terminal(status)})), to_text(status));
    EXPECT_EQ(status_after(begun({paused("a"), terminal(status)})), to_text(status));
  }
}

TEST(RunProjection, a_newer_plan_of_a_step_takes_the_place_of_the_older) {
  const auto run = run_of(begun({planned({runnable("a", 2)})}));
  EXPECT_EQ(run->latest("a")->plan.attempt_number, 2U);
  EXPECT_EQ(run->latest("b"), nullptr);
  EXPECT_EQ(status_after(begun({planned({runnable("a", 2)}), applied_run("a#1")})), "running");
  EXPECT_EQ(status_after(begun({planned({runnable("a", 2)}), applied_run("a#2")})), "idle");
  EXPECT_EQ(status_after(begun({applied_run("a#1"), planned({runnable("a", 2)})})), "running");
}

TEST(RunProjection, the_timer_of_a_wait_is_not_a_plan_for_its_step) {
  const Facts facts = begun({applied_run("a#1"), planned({timer("a")})});
  const auto run = run_of(facts);
  EXPECT_EQ(run->status(), RunStatus::idle);
  EXPECT_EQ(run->latest("a")->plan.runnable_key.view(), "a#1");
  EXPECT_EQ(run->runnables().size(), 2U);
}

TEST(RunProjection, the_first_plan_of_a_key_stays) {
  Runnable other = runnable("a");
  other.input = json("[]");
  const auto run = run_of(begun({planned({runnable("b"), other, runnable("c"), runnable("c")})}));
  EXPECT_EQ(run->find("a#1")->plan.input.view(), "{}");
  std::vector<std::string> keys;
  for (const PlannedRunnable* planned : run->runnables()) {
    keys.push_back(planned->plan.runnable_key.str());
    EXPECT_EQ(planned->order, keys.size() - 1);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"a#1", "b#1", "c#1"}));
}

TEST(RunProjection, keeps_what_was_applied_and_when) {
  RunnableApplied fact = applied_run("a#1", R"({"x":1})", R"({"schedule_in_ms":5})");
  fact.transition = json(R"({"to":"b"})");
  auto run = run_of(begun({fact}));
  const PlannedRunnable& applied = *run->find("a#1");
  EXPECT_TRUE(applied.applied);
  EXPECT_EQ(applied.applied_at, ms(130)) << "the time of the entry";
  EXPECT_EQ(applied.result, fact.result);
  EXPECT_EQ(applied.transition, fact.transition);
  EXPECT_EQ(applied.execution_opts, fact.execution_opts);
  fact.applied_at = ms(7);
  EXPECT_EQ(run_of(begun({fact}))->find("a#1")->applied_at, ms(7));
}

TEST(RunProjection, knows_its_start_its_end_and_its_receipts) {
  const auto run = run_of(begun({run_signal(SignalType::cancel_run),
                                 terminal(TerminalStatus::cancelled, R"({"code":"c"})")}));
  EXPECT_EQ(run->started_at(), ms(110));
  EXPECT_EQ(run->started()->workflow.view(), "order");
  EXPECT_EQ(run->terminal_at(), ms(140));
  EXPECT_EQ(run->terminal()->error.view(), R"({"code":"c"})");
  ASSERT_EQ(run->receipts().size(), 2U);
  EXPECT_EQ(run->receipts()[0].at, ms(100));
  EXPECT_EQ(run->receipts()[1].signal.signal_type, SignalType::cancel_run);
  EXPECT_EQ(run->revision().value, 5U);
}

TEST(RunContext, later_results_win_and_keys_keep_their_place) {
  EXPECT_EQ(context_after({}), "{}");
  EXPECT_EQ(context_after(begun()), R"({"order":7})");
  const Facts facts = begun({planned({runnable("b")}), applied_run("b#1", R"({"z":1,"order":8})"),
                             applied_run("a#1", R"({"a":[1],"z":{"deep":2}})")});
  EXPECT_EQ(context_after(facts), R"({"order":8,"z":{"deep":2},"a":[1]})");
}

TEST(RunContext, a_result_that_is_not_an_object_is_left_out) {
  EXPECT_EQ(context_after({run_started("[1]"), planned({runnable("a"), runnable("b")}),
                           applied_run("a#1", "7"), applied_run("b#1", "")}),
            "{}");
}

TEST(RunContext, resolutions_add_their_results) {
  EXPECT_EQ(context_after(begun({paused("a"), resolved("a", R"({"ok":true})")})),
            R"({"order":7,"ok":true})");
  EXPECT_EQ(context_after(begun({wait_opened(), event_received(),
                                 wait_resolved(WaitAction::received, "a", R"({"sum":1})")})),
            R"({"order":7,"sum":1})");
}

TEST(RunContext, names_are_equal_however_they_are_escaped) {
  const auto run = run_of({run_started(R"({"a\"b":1,"\u0061":2,"":3})"), planned({runnable("a")}),
                           applied_run("a#1", R"({"a\u0022b":4,"a":5})")});
  const std::string text(run->context().view());
  EXPECT_EQ(text, R"({"a\"b":4,"a":5,"":3})");
  EXPECT_TRUE(is_compact_json(text));
  EXPECT_EQ(must(RunProjection::decode(run->encode()))->context(), run->context());
}

TEST(RunContext, can_be_seen_with_one_more_result) {
  const auto run = run_of(begun());
  EXPECT_EQ(run->context_with(json(R"({"x":1,"order":9,"x":2})")).view(), R"({"order":9,"x":2})");
  EXPECT_EQ(run->context_with(json("[]")), run->context());
  EXPECT_EQ(run->context_with(Payload()).view(), R"({"order":7})");
  run->evolve(ms(200), applied_run("a#1", R"({"x":1,"order":9,"x":2})"));
  EXPECT_EQ(run->context().view(), R"({"order":9,"x":2})");
}

TEST(RunContext, a_migration_replaces_it) {
  const auto run = run_of(begun({paused("a"), migrated()}));
  EXPECT_EQ(run->context().view(), R"({"moved":true})");
  EXPECT_EQ(run->manual_state()->step.view(), "b");
  EXPECT_EQ(run->manual_state()->kind, BoundaryKind::approval);
  EXPECT_EQ(run->pinned_definition(), (PinnedDefinition{"2", "f2"}));
  EXPECT_EQ(run->started()->definition_fingerprint.view(), "f1");
  run->evolve(ms(300), applied_run("a#1", R"({"order":1})"));
  EXPECT_EQ(run->context().view(), R"({"moved":true,"order":1})");
}

TEST(RunManual, a_pause_says_where_and_why_the_run_waits) {
  ManualStepPaused fact = paused("a", ManualKind::approval);
  fact.reason = "check";
  fact.metadata = json(R"({"m":1})");
  fact.deadline = json("99");
  EXPECT_EQ(
      run_of(begun({fact}))->manual_state(),
      (ManualState{"a", BoundaryKind::approval, ms(130), "check", json(R"({"m":1})"), json("99")}));
  fact.paused_at = ms(3);
  EXPECT_EQ(run_of(begun({fact}))->manual_state()->paused_at, ms(3));
  EXPECT_FALSE(run_of(begun({fact, resolved("a")}))->manual_state().has_value());
  EXPECT_FALSE(run_of(begun({fact, terminal()}))->manual_state().has_value());
}

TEST(RunManual, a_run_may_wait_at_several_steps) {
  const auto run = run_of(begun({planned({runnable("b"), runnable("c")}), paused("b"),
                                 paused("a", ManualKind::approval), wait_opened("c")}));
  EXPECT_EQ(run->boundaries().size(), 3U);
  EXPECT_EQ(run->status(), RunStatus::paused);
  EXPECT_EQ(run->manual_state()->step.view(), "c") << "the one it has waited at longest";
  run->evolve(ms(200), resolved("b"));
  EXPECT_EQ(run->boundaries().size(), 2U);
  EXPECT_EQ(run->status(), RunStatus::running) << "b is open and waits for no decision";
  run->evolve(ms(210), applied_run("b#1"));
  EXPECT_EQ(run->status(), RunStatus::paused);
}

TEST(RunWithdrawn, a_withdrawn_runnable_ends_without_a_result) {
  const auto run = run_of(begun({planned({runnable("b")}), paused("b"), wait_opened("a"),
                                 withdrawn({"a#1", "b#1"}), applied_run("a#1", R"({"x":1})")}));
  EXPECT_TRUE(run->find("a#1")->applied);
  EXPECT_TRUE(run->find("a#1")->withdrawn);
  EXPECT_EQ(run->find("a#1")->applied_at, ms(160));
  EXPECT_TRUE(run->find("a#1")->result.empty());
  EXPECT_TRUE(run->boundaries().empty());
  EXPECT_EQ(run->waits().at("a#1").status, WaitStatus::cancelled);
  EXPECT_EQ(run->status(), RunStatus::idle);
  run->attach(diamond());
  EXPECT_EQ(run->progress(), StepProgress(*diamond())) << "it is not done";
}

TEST(RunWithdrawn, a_run_is_compensating_until_its_end) {
  const auto run = run_of(begun({paused("a"), compensation_started()}));
  EXPECT_EQ(run->status(), RunStatus::compensating);
  EXPECT_TRUE(run->is_compensating());
  run->evolve(ms(200), terminal(TerminalStatus::failed));
  EXPECT_FALSE(run->is_compensating());
  EXPECT_EQ(run->status(), RunStatus::failed);
}

TEST(RunEach, items_are_counted_as_they_are_planned_and_applied) {
  Runnable whole = runnable("m");
  whole.handler = kEngineHandler;
  whole.input = json(R"({"items":["x",{"y":[1,2]}]})");
  Facts facts = begun(
      {planned({whole, runnable("m[0]"), runnable("m[1]")}), applied_run("m[1]#1", R"({"r":1})"),
       applied_run("m[0]#1", "{}", R"({"defer":{}})"), planned({runnable("m[0]", 2)})});
  const auto run = run_of(facts);
  const EachProgress& each = *run->each("m");
  EXPECT_EQ(each.items, (std::vector<std::string_view>{R"("x")", R"({"y":[1,2]})"}));
  EXPECT_EQ(each.next, 2U);
  EXPECT_EQ(each.done, 1U) << "what is put off is not done";
  EXPECT_EQ(run->context().view(), R"({"order":7})") << "items are not part of the context";
  const auto again = must(RunProjection::decode(run->encode()));
  EXPECT_EQ(again->each("m")->items, each.items);
  EXPECT_EQ(again->each("m")->done, 1U);
  EXPECT_EQ(again->each("m")->next, 2U);
}

TEST(RunVisits, visits_are_counted_by_step) {
  const auto run = run_of(begun({planned({runnable("a@2"), runnable("a@3"), runnable("b")}),
                                 planned({runnable("compensate:b@7"), runnable("b[4]")})}));
  EXPECT_EQ(run->visits("a"), 3U);
  EXPECT_EQ(run->visits("b"), 1U);
  EXPECT_EQ(run->visits("c"), 0U);
  EXPECT_EQ(must(RunProjection::decode(run->encode()))->visits("a"), 3U);
}

TEST(RunAdopted, adopted_steps_count_as_done) {
  const auto run = run_of({run_signal(), run_started(), steps_adopted({"a", "b"})});
  run->attach(diamond());
  EXPECT_EQ(run->progress().done, (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(run->progress().unmet, (std::vector<std::uint32_t>{0, 0, 0, 1}));
  EXPECT_EQ(run->context().view(), R"({"order":7,"kept":1})");
}

std::string_view wait_status_after(Facts more) {
  more.insert(more.begin(), wait_opened());
  return to_text(run_of(begun(std::move(more)))->waits().at("a#1").status);
}

TEST(RunWaits, a_wait_goes_through_its_states) {
  EXPECT_EQ(wait_status_after({}), "waiting");
  EXPECT_EQ(wait_status_after({event_received()}), "received");
  EXPECT_EQ(wait_status_after({event_received(), wait_resolved(WaitAction::received)}), "resolved");
  EXPECT_EQ(wait_status_after({timeout_selected()}), "timeout_selected");
  EXPECT_EQ(wait_status_after({timeout_selected(), wait_resolved(WaitAction::timed_out)}),
            "timed_out");
}

TEST(RunWaits, the_end_of_the_run_ends_open_waits) {
  for (const auto status : {TerminalStatus::completed, TerminalStatus::failed,
                            TerminalStatus::cancelled, TerminalStatus::continued}) {
    EXPECT_EQ(wait_status_after({terminal(status)}), to_text(status));
    EXPECT_EQ(wait_status_after({event_received(), terminal(status)}), to_text(status));
    EXPECT_EQ(wait_status_after({timeout_selected(), terminal(status)}), to_text(status));
    EXPECT_EQ(wait_status_after(
                  {event_received(), wait_resolved(WaitAction::received), terminal(status)}),
              "resolved");
    EXPECT_EQ(wait_status_after(
                  {timeout_selected(), wait_resolved(WaitAction::timed_out), terminal(status)}),
              "timed_out");
  }
}

TEST(RunWaits, the_run_waits_until_the_wait_is_resolved) {
  const auto run = run_of(begun({wait_opened()}));
  EXPECT_EQ(run->manual_state(), (ManualState{"a", BoundaryKind::event_wait, ms(20), {}, {}, {}}));
  run->evolve(ms(200), event_received());
  EXPECT_TRUE(run->manual_state().has_value());
  EXPECT_EQ(run->waits().at("a#1").payload.view(), R"({"sum":1})");
  EXPECT_EQ(run->waits().at("a#1").idempotency_key.view(), "once");
  run->evolve(ms(210), wait_resolved(WaitAction::received));
  EXPECT_FALSE(run->manual_state().has_value());
  EXPECT_EQ(run->waits().at("a#1").result.view(), R"({"sum":1})");
}

TEST(RunOptionalState, is_empty_in_a_plain_run) {
  const auto run = run_of(begun());
  EXPECT_TRUE(run->waits().empty());
  EXPECT_EQ(run->graph().version, 0U);
}

TEST(RunOptionalState, children_are_known_by_their_id) {
  const auto run = run_of(begun({child_started(5), child_started(4)}));
  ASSERT_EQ(run->children().size(), 2U);
  EXPECT_EQ(run->children().at(run_no(5)), child_started(5));
}

TEST(RunOptionalState, the_graph_changes_with_each_mutation) {
  const auto run = run_of(begun({mutated("m0", 0, {node("n"), edge("e", "a", "n")}),
                                 mutated("m1", 1, {node("o")}, {{GraphItem::edge, "e"}})}));
  const GraphState& graph = run->graph();
  EXPECT_EQ(graph.version, 2U);
  EXPECT_EQ(graph.active.size(), 2U);
  EXPECT_EQ(graph.active.at("o"), node("o"));
  EXPECT_EQ(graph.tombstones.size(), 1U);
  EXPECT_EQ(graph.tombstones.at("e").kind, GraphItem::edge);
  EXPECT_EQ(run->graph_mutations().size(), 2U);
}

TEST(RunOptionalState, an_entry_of_a_retired_kind_only_counts) {
  const auto run = run_of(begun({}));
  const Revision before = run->revision();
  run->fold({"run:1", before, kRetiredDynamicWork, ms(1), "{}", {}});
  EXPECT_EQ(run->revision(), before.next());
  EXPECT_EQ(run->graph().version, 1U) << "later mutations name the version after it";
  EXPECT_TRUE(run->anomalies().empty());
}

TEST(RunOptionalState, attributes_can_change_after_the_end) {
  RunStarted started = run_started();
  started.search_attributes = json(R"({"a":1,"b":2})");
  const auto run = run_of({started, terminal(), attributes_updated(R"({"b":null,"c":3})", "i")});
  EXPECT_EQ(run->attributes(),
            (std::map<std::string, Payload>{{"a", json("1")}, {"c", json("3")}}));
}

TEST(RunOptionalState, a_run_is_archived_and_comes_back) {
  const auto run = run_of(begun({terminal(), archived("old")}));
  EXPECT_EQ(run->archived()->reason.view(), "old");
  EXPECT_EQ(run->archived_at(), ms(140));
  EXPECT_EQ(run->status(), RunStatus::completed);
  run->evolve(ms(200), unarchived());
  EXPECT_FALSE(run->archived().has_value());
  EXPECT_EQ(run->archived_at(), ms(0));
}

TEST(RunOptionalState, continuation_is_kept_on_both_sides) {
  const auto run = run_of(begun({continued_from(), continuation_requested()}));
  EXPECT_EQ(run->continuation(), continuation_requested());
  EXPECT_EQ(run->continued_from(), continued_from());
}

using Counts = std::vector<std::uint32_t>;

TEST(RunProgress, steps_are_done_when_they_are_applied) {
  const auto run = run_of(begun());
  run->attach(diamond());
  EXPECT_EQ(run->progress().unmet, (Counts{0, 1, 1, 2}));
  run->evolve(ms(200), applied_run("a#1"));
  EXPECT_EQ(run->progress().unmet, (Counts{0, 0, 0, 2}));
  EXPECT_EQ(run->progress().done, (std::vector<bool>{true, false, false, false}));
  run->evolve(ms(210), planned({runnable("b"), runnable("c"), runnable("a", 2), timer("b")}));
  run->evolve(ms(220), applied_run("b#1"));
  run->evolve(ms(230), applied_run("a#2"));
  EXPECT_EQ(run->progress().unmet, (Counts{0, 0, 0, 1}));
  EXPECT_EQ(run->progress().done_count, 2U) << "a step is done once";
  run->evolve(ms(240), applied_run("c#1"));
  EXPECT_EQ(run->progress().unmet, (Counts{0, 0, 0, 0}));
  EXPECT_EQ(run->progress().done_count, 3U);
}

TEST(RunProgress, a_step_that_is_put_off_or_timed_is_not_done) {
  const auto run = run_of(begun({planned({timer("a"), runnable("other")})}));
  run->attach(diamond());
  run->evolve(ms(200), applied_run("a#1", "{}", R"({"defer":{"reason":"r"},"schedule_in_ms":5})"));
  run->evolve(ms(210), applied_run("a#1:timeout"));
  run->evolve(ms(220), applied_run("other#1"));
  EXPECT_EQ(run->progress(), StepProgress(*diamond()));
  EXPECT_TRUE(run->anomalies().empty());
}

TEST(RunProgress, what_follows_waits_for_the_longest_delay) {
  const auto run = run_of(begun({planned({runnable("b"), runnable("c")}), applied_run("a#1")}));
  run->attach(diamond());
  run->evolve(ms(200), applied_run("b#1", "{}", R"({"schedule_in_ms":50})"));
  run->evolve(ms(210), applied_run("c#1", "{}", R"({"schedule_in_ms":30})"));
  EXPECT_EQ(run->progress().not_before, (std::map<StepIndex, TimeMs>{{3, ms(250)}}));
}

TEST(RunProgress, a_delay_without_end_does_not_overflow) {
  const auto run = run_of(begun());
  run->attach(diamond());
  run->evolve(ms(INT64_MAX - 5), applied_run("a#1", "{}", R"({"schedule_in_ms":6})"));
  EXPECT_EQ(run->progress().not_before.at(1), ms(INT64_MAX));
  const auto other = run_of(begun());
  other->attach(diamond());
  other->evolve(ms(-7), applied_run("a#1", "{}", R"({"schedule_in_ms":18446744073709551615})"));
  EXPECT_EQ(other->progress().not_before.at(1), ms(static_cast<std::int64_t>(kMaxDurationMs) - 7));
}

TEST(RunProgress, undoing_works_even_past_the_attachment) {
  const auto run = run_of(begun());
  UndoLog undo;
  run->set_undo(&undo);
  run->evolve(ms(200), applied_run("a#1", "{}", R"({"schedule_in_ms":50})"));
  run->attach(diamond());
  run->evolve(ms(210), planned({runnable("b")}));
  run->evolve(ms(220), applied_run("b#1"));
  EXPECT_EQ(run->progress().done_count, 2U);
  undo.roll_back_to(0);
  EXPECT_EQ(run->progress(), StepProgress(*diamond()));
}

EntryView view_of(const NewEntry& entry) {
  EntryView view;
  view.kind = entry.kind;
  view.at = entry.at;
  view.data = entry.data.view();
  return view;
}

TEST(RunProjection, folds_entries_as_they_are_stored) {
  RunProjection folded(run_no(1));
  const Facts facts = begun({applied_run("a#1", R"({"x":1})"), terminal()});
  std::int64_t at = 100;
  for (const RunFact& fact : facts) {
    const NewEntry entry = must(to_entry(fact, ms(at)));
    folded.fold(view_of(entry));
    at += 10;
  }
  EXPECT_EQ(folded.encode(), run_of(facts)->encode());
}

TEST(RunProjection, an_entry_that_is_not_a_fact_is_malformed) {
  const auto run = run_of(begun());
  const std::string before = known(*run);
  for (const auto& [kind, data] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"run_terminal", R"({"status":"completed"})"},
           {"run_terminal", "["},
           {"attempt_claimed", "{}"},
           {"", "{}"}}) {
    EntryView entry;
    entry.kind = kind;
    entry.data = data;
    run->fold(entry);
  }
  EXPECT_EQ(reasons(*run), std::vector<std::string>(4, "malformed_entry"));
  EXPECT_EQ(known(*run), before);
  EXPECT_EQ(run->revision().value, 7U);
  EXPECT_NE(run->anomalies()[0].detail.view().find("run_id"), std::string_view::npos);
  EXPECT_EQ(must(RunProjection::decode(run->encode()))->encode(), run->encode());
}

Facts everything() {
  return begun({child_started(),
                planned({runnable("b", 2)}),
                paused("a"),
                migrated(),
                resolved("b"),
                mutated("m", 0, {node("n")}),
                applied_run("a#1", R"({"x":1})", R"({"schedule_in_ms":3})"),
                wait_opened(),
                event_received(),
                continuation_requested(),
                continued_from(),
                event_buffered(),
                planned({runnable("c"), runnable("d@2")}),
                withdrawn({"c#1"}),
                steps_adopted({"c"}),
                paused("d@2"),
                compensation_started(),
                attributes_updated(R"({"a":1})", "i"),
                terminal(),
                archived()});
}

TEST(RunProjection, comes_back_from_its_bytes) {
  const auto run = run_of(everything());
  const auto again = must(RunProjection::decode(run->encode()));
  EXPECT_EQ(again->encode(), run->encode());
  EXPECT_EQ(again->run_id(), run->run_id());
  EXPECT_EQ(again->status(), run->status());
  EXPECT_EQ(again->revision(), run->revision());
  EXPECT_EQ(again->latest("b")->plan, run->latest("b")->plan);
  run->attach(diamond());
  again->attach(diamond());
  EXPECT_EQ(again->progress(), run->progress());
}

TEST(RunProjection, a_run_from_its_bytes_counts_open_steps_as_before) {
  for (const bool first_is_applied : {false, true}) {
    Facts facts = begun({planned({runnable("a", 2)})});
    if (first_is_applied) {
      facts.insert(facts.begin() + 3, applied_run("a#1"));
    }
    const auto run = must(RunProjection::decode(run_of(facts)->encode()));
    EXPECT_EQ(run->status(), RunStatus::running);
    run->evolve(ms(300), applied_run("a#2"));
    EXPECT_EQ(run->status(), RunStatus::idle);
    EXPECT_EQ(must(RunProjection::decode(run->encode()))->status(), RunStatus::idle);
  }
}

TEST(RunProjection, bytes_that_do_not_fit_together_are_refused) {
  const std::string bytes = run_of(everything())->encode();
  const auto code_with = [&](std::string_view from, std::string_view to) {
    std::string changed = bytes;
    const auto at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return code_of(RunProjection::decode(changed));
  };
  EXPECT_EQ(code_of(RunProjection::decode("")), "invalid_json");
  EXPECT_EQ(code_of(RunProjection::decode("{}")), "missing_fields");
  EXPECT_EQ(code_with(R"("order":1)", R"("order":2)"), "invalid_argument");
  EXPECT_EQ(code_with(R"("name":"x")", R"("name":"moved")"), "invalid_argument");
  EXPECT_EQ(code_with(R"("name":"x")", R"("name":"x\",\"y")"), "invalid_argument");
  const std::string plan_b = R"("runnable_key":"b#2")";
  EXPECT_EQ(code_with(plan_b, R"("runnable_key":"a#1")"), "invalid_argument");
}

TEST(RunProjection, every_change_can_be_taken_back) {
  const Facts facts = everything();
  RunProjection run(run_no(1));
  run.attach(diamond());
  UndoLog undo;
  run.set_undo(&undo);
  std::vector<std::pair<std::string, StepProgress>> states;
  std::vector<UndoLog::Mark> marks;
  for (const RunFact& fact : facts) {
    states.emplace_back(run.encode(), run.progress());
    marks.push_back(undo.mark());
    run.evolve(ms(100), fact);
  }
  for (std::size_t i = facts.size(); i-- > 0;) {
    undo.roll_back_to(marks[i]);
    ASSERT_EQ(run.encode(), states[i].first) << kind_of(facts[i]);
    ASSERT_EQ(run.progress(), states[i].second) << kind_of(facts[i]);
  }
  EXPECT_EQ(run.status(), RunStatus::created);
}

}  // namespace
}  // namespace holdfast::run_projection_test
