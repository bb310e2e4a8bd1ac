#include "runs/run/run_rules.h"

#include <gtest/gtest.h>

#include "tests/support/must.h"
#include "tests/support/run_fact_samples.h"

namespace holdfast::run_rules_test {
namespace {

using Facts = std::vector<RunFact>;

// A started run with the steps a and b planned; none of it breaks a rule.
Facts begun(Facts more = {}) {
  Facts facts{run_signal(), run_started(), planned({runnable("a"), runnable("b")})};
  facts.insert(facts.end(), more.begin(), more.end());
  return facts;
}

// Folds `before`, which must be valid, then `fact`. The answer is the reason of a refusal, or
// "accept" or "repeat"; whatever is not accepted must have changed nothing.
std::string verdict_on(const Facts& before, const RunFact& fact) {
  RunProjection run(run_no(1));
  evolve_all(run, before);
  EXPECT_EQ(reasons(run), std::vector<std::string>());
  const std::string old = known(run);
  const RunVerdict verdict = judge(run, ms(500), fact);
  run.evolve(ms(500), fact);
  EXPECT_EQ(run.revision().value, before.size() + 1);
  switch (verdict.kind) {
    case RunVerdict::Kind::accept:
      EXPECT_TRUE(run.anomalies().empty());
      return "accept";
    case RunVerdict::Kind::repeat:
      EXPECT_TRUE(run.anomalies().empty());
      EXPECT_EQ(known(run), old);
      return "repeat";
    case RunVerdict::Kind::refuse:
      EXPECT_EQ(known(run), old);
      EXPECT_EQ(reasons(run), std::vector<std::string>{std::string(to_text(verdict.reason))});
      EXPECT_EQ(run.anomalies()[0].entry_type.view(), kind_of(fact));
      EXPECT_EQ(run.anomalies()[0].at, ms(500));
      break;
  }
  return std::string(to_text(verdict.reason));
}

template <typename Fact, typename Change>
Fact changed(Fact fact, Change change) {
  change(fact);
  return fact;
}

TEST(RunRules, a_fact_of_another_run_is_malformed) {
  for (RunFact fact : every_run_fact()) {
    std::visit([](auto& known) { known.run_id = run_no(2); }, fact);
    EXPECT_EQ(verdict_on(begun(), fact), "malformed_entry") << kind_of(fact);
    EXPECT_EQ(verdict_on({}, fact), "malformed_entry") << kind_of(fact);
  }
}

TEST(RunRules, a_fact_without_a_required_value_is_malformed_however_it_got_here) {
  EXPECT_EQ(verdict_on(begun(), of_run<ManualStepPaused>()), "malformed_entry");
  EXPECT_EQ(verdict_on(begun(), of_run<RunSignalReceived>()), "malformed_entry");
  EXPECT_EQ(verdict_on({}, of_run<RunStarted>()), "malformed_entry");
  auto child = child_started();
  child.origin.step = {};
  EXPECT_EQ(verdict_on(begun(), child), "malformed_entry");
  Runnable plan = runnable("c");
  plan.runnable_key = {};
  EXPECT_EQ(verdict_on(begun(), planned({plan})), "malformed_entry");
  plan = runnable("c");
  plan.deferred = Deferred{};
  EXPECT_EQ(verdict_on(begun(), planned({plan})), "malformed_entry");
}

TEST(RunRules, only_receipts_come_before_the_start) {
  for (const RunFact& fact : every_run_fact()) {
    const bool first =
        std::holds_alternative<RunSignalReceived>(fact) || std::holds_alternative<RunStarted>(fact);
    EXPECT_EQ(verdict_on({}, fact), first ? "accept" : "malformed_entry") << kind_of(fact);
  }
}

TEST(RunRules, a_run_starts_once) {
  EXPECT_EQ(verdict_on(begun(), run_started()), "repeat");
  EXPECT_EQ(verdict_on(begun(), run_started(R"({"order":8})")), "conflicting_run_start");
  const auto attributes = [](std::string_view text) {
    return changed(run_started(), [&](auto& fact) { fact.search_attributes = json(text); });
  };
  EXPECT_EQ(verdict_on({}, attributes(R"({"a":["x",1,true]})")), "accept");
  EXPECT_EQ(verdict_on({}, attributes(R"({"A":1})")), "malformed_entry");
  EXPECT_EQ(verdict_on({}, attributes("[]")), "malformed_entry");
}

TEST(RunRules, the_first_plan_of_a_key_wins) {
  const Runnable other = changed(runnable("a"), [](auto& plan) { plan.input = json("[]"); });
  EXPECT_EQ(verdict_on(begun(), planned({other})), "repeat");
  EXPECT_EQ(verdict_on(begun(), planned({})), "repeat");
  EXPECT_EQ(verdict_on(begun(), planned({other, runnable("c")})), "accept");
  const Runnable foreign = changed(runnable("c"), [](auto& plan) { plan.run_id = run_no(2); });
  EXPECT_EQ(verdict_on(begun(), planned({runnable("d"), foreign})), "malformed_entry");
  EXPECT_EQ(verdict_on(begun(), planned({runnable("c", 0)})), "malformed_entry");
}

TEST(RunRules, a_result_is_applied_once_to_what_was_planned) {
  EXPECT_EQ(verdict_on(begun(), applied_run("a#1")), "accept");
  EXPECT_EQ(verdict_on(begun(), applied_run("c#1")), "unknown_runnable_intent");
  EXPECT_EQ(verdict_on(begun({applied_run("a#1")}), applied_run("a#1")), "repeat");
  EXPECT_EQ(verdict_on(begun({applied_run("a#1")}), applied_run("a#1", R"({"x":1})")), "repeat");
}

TEST(RunRules, a_child_is_started_once) {
  const Facts before = begun({child_started()});
  EXPECT_EQ(verdict_on(before, child_started()), "repeat");
  EXPECT_EQ(verdict_on(before, child_started(6)), "accept");
  EXPECT_EQ(verdict_on(before, changed(child_started(), [](auto& fact) { fact.child_key = "x"; })),
            "conflicting_child_run");
}

TEST(RunRules, a_step_waits_in_one_way_at_a_time) {
  const Facts before = begun({paused("a")});
  EXPECT_EQ(verdict_on(begun(), paused("a")), "accept");
  EXPECT_EQ(verdict_on(before, paused("a")), "repeat");
  EXPECT_EQ(verdict_on(before, paused("b")), "accept") << "each step by itself";
  EXPECT_EQ(verdict_on(before, paused("a", ManualKind::approval)), "active_manual_step");
  EXPECT_EQ(verdict_on(before, changed(paused("a"), [](auto& fact) { fact.paused_at = ms(1); })),
            "active_manual_step");
  EXPECT_EQ(verdict_on(begun({wait_opened()}), paused("a")), "active_manual_step");
  EXPECT_EQ(verdict_on(begun({paused("a"), resolved("a")}), paused("b")), "accept");
}

TEST(RunRules, only_a_step_that_waits_for_a_decision_is_resolved) {
  EXPECT_EQ(verdict_on(begun({paused("a")}), resolved("a")), "accept");
  EXPECT_EQ(verdict_on(begun({paused("a")}), resolved("b")), "stale_manual_resolution");
  EXPECT_EQ(verdict_on(begun(), resolved("a")), "stale_manual_resolution");
  EXPECT_EQ(verdict_on(begun({paused("a"), resolved("a")}), resolved("a")),
            "stale_manual_resolution");
  EXPECT_EQ(verdict_on(begun({wait_opened()}), resolved("a")), "stale_manual_resolution");
}

ManualStepResolved resolved_as(ManualAction action) {
  return changed(resolved("a"), [&](auto& fact) { fact.action = action; });
}

TEST(RunRules, a_step_is_parked_by_its_newest_plan_while_that_is_open) {
  EXPECT_EQ(verdict_on(begun(), parked("a")), "accept");
  EXPECT_EQ(verdict_on(begun({parked("a")}), parked("a")), "repeat");
  EXPECT_EQ(verdict_on(begun({paused("a")}), parked("a")), "active_manual_step");
  EXPECT_EQ(verdict_on(begun(), parked("c")), "unknown_runnable_intent");
  EXPECT_EQ(verdict_on(begun({applied_run("a#1")}), parked("a")), "unknown_runnable_intent");
  EXPECT_EQ(verdict_on(begun({planned({runnable("a", 2)})}), parked("a")),
            "unknown_runnable_intent");
  const auto without = [](auto change) {
    return verdict_on(begun(), changed(parked("a"), change));
  };
  EXPECT_EQ(without([](auto& fact) { fact.runnable_key = {}; }), "malformed_entry");
  EXPECT_EQ(without([](auto& fact) { fact.queue = {}; }), "malformed_entry");
  EXPECT_EQ(without([](auto& fact) { fact.error = {}; }), "malformed_entry");
}

TEST(RunRules, a_parked_step_is_retried_or_discarded_and_no_other_step_is) {
  for (const ManualAction action : {ManualAction::retried, ManualAction::discarded}) {
    EXPECT_EQ(verdict_on(begun({parked("a")}), resolved_as(action)), "accept");
    EXPECT_EQ(verdict_on(begun({paused("a")}), resolved_as(action)), "stale_manual_resolution");
  }
  for (const ManualAction action :
       {ManualAction::resumed, ManualAction::approved, ManualAction::rejected}) {
    EXPECT_EQ(verdict_on(begun({parked("a")}), resolved_as(action)), "stale_manual_resolution");
  }
}

TEST(RunRules, a_result_or_a_newer_plan_of_a_parked_step_ends_the_wait) {
  for (const RunFact& fact : {RunFact(applied_run("a#1")), RunFact(planned({runnable("a", 2)}))}) {
    EXPECT_EQ(verdict_on(begun({parked("a"), fact}), resolved_as(ManualAction::retried)),
              "stale_manual_resolution");
  }
}

TEST(RunRules, a_run_ends_once) {
  const Facts ended = begun({terminal(TerminalStatus::failed, R"({"code":"x"})")});
  EXPECT_EQ(verdict_on(begun(), terminal()), "accept");
  EXPECT_EQ(verdict_on(ended, terminal(TerminalStatus::failed, R"({"code":"x"})")), "repeat");
  EXPECT_EQ(verdict_on(ended, terminal(TerminalStatus::failed, R"({"code":"y"})")),
            "conflicting_terminal");
  EXPECT_EQ(verdict_on(ended, terminal(TerminalStatus::cancelled, R"({"code":"x"})")),
            "conflicting_terminal");
  EXPECT_EQ(verdict_on(ended, changed(terminal(TerminalStatus::failed, R"({"code":"x"})"),
                                      [](auto& fact) { fact.trace = json("1"); })),
            "repeat");
}

TEST(RunRules, after_the_end_nothing_else_happens) {
  for (const RunFact& fact : every_run_fact()) {
    const std::string kind(kind_of(fact));
    const std::map<std::string, std::string> exceptions{
        {"run_terminal", "conflicting_terminal"},
        {"run_archived", "accept"},
        {"run_unarchived", "invalid_archive_transition"},
        {"search_attributes_updated", "accept"},
        {"dead_letter_resolved", "stale_dead_letter"}};
    const auto exception = exceptions.find(kind);
    EXPECT_EQ(verdict_on(begun({terminal()}), fact),
              exception == exceptions.end() ? "terminal_run" : exception->second)
        << kind;
  }
  EXPECT_EQ(verdict_on(begun({terminal()}), run_started()), "terminal_run");
  EXPECT_EQ(verdict_on(begun({applied_run("a#1"), terminal()}), applied_run("a#1")),
            "terminal_run");
}

TEST(RunRules, operations_on_the_graph_are_whole) {
  const auto verdict = [](std::vector<GraphAddition> additions,
                          std::vector<GraphRemoval> removals = {}) {
    return verdict_on(begun({mutated("m0", 0, {node("n"), edge("e", "a", "n")})}),
                      mutated("m1", 1, std::move(additions), std::move(removals)));
  };
  const std::string bad = "malformed_graph_operations";
  EXPECT_EQ(verdict({node("x"), edge("y", "a", "x")}), "accept");
  EXPECT_EQ(verdict({}), bad) << "no operation";
  EXPECT_EQ(verdict({node("x"), node("x")}), bad);
  EXPECT_EQ(verdict({node("x")}, {{GraphItem::node, "x"}}), bad);
  EXPECT_EQ(verdict({changed(node("x"), [](auto& item) { item.handler = {}; })}), bad);
  EXPECT_EQ(verdict({edge("y", "", "x")}), bad);
  EXPECT_EQ(verdict({edge("y", "x", "")}), bad);
  EXPECT_EQ(verdict({node("n")}), bad) << "the id is taken";
  EXPECT_EQ(verdict({}, {{GraphItem::node, "x"}}), bad) << "no such node";
  EXPECT_EQ(verdict({}, {{GraphItem::node, "e"}}), bad) << "it is an edge";
  EXPECT_EQ(verdict({}, {{GraphItem::edge, "e"}, {GraphItem::node, "n"}}), "accept");
}

TEST(RunRules, removed_ids_stay_reserved) {
  const Facts before =
      begun({mutated("m0", 0, {node("n")}), mutated("m1", 1, {}, {{GraphItem::node, "n"}})});
  EXPECT_EQ(verdict_on(before, mutated("m2", 2, {node("n")})), "malformed_graph_operations");
  EXPECT_EQ(verdict_on(before, mutated("m2", 2, {}, {{GraphItem::node, "n"}})),
            "malformed_graph_operations");
}

TEST(RunRules, mutations_of_the_graph_follow_each_other) {
  const Facts before = begun({mutated("m0", 0, {node("n")})});
  EXPECT_EQ(verdict_on(before, mutated("m0", 0, {node("n")})), "repeat");
  EXPECT_EQ(verdict_on(before, mutated("m0", 1, {node("x")})), "conflicting_graph_mutation");
  EXPECT_EQ(verdict_on(before, mutated("m1", 0, {node("x")})), "discontinuous_graph_version");
  EXPECT_EQ(verdict_on(before, mutated("m1", 2, {node("x")})), "discontinuous_graph_version");
  EXPECT_EQ(verdict_on(before, changed(mutated("m1", 1, {node("x")}),
                                       [](auto& fact) { fact.result_version = 3; })),
            "discontinuous_graph_version");
}

TEST(RunRules, a_runnable_of_the_graph_is_what_the_mutation_meant) {
  const auto mutation = changed(mutated("m0", 0, {node("n")}), [](auto& fact) {
    fact.runnable_intent_fingerprints = {{"n", "f"}};
  });
  const auto verdict = [&](const GraphIntent& intent) {
    Runnable plan = runnable("n");
    plan.graph_mutation = intent;
    return verdict_on(begun({mutation}), planned({runnable("c"), plan}));
  };
  const std::string bad = "runnable_intent_fingerprint_mismatch";
  EXPECT_EQ(verdict({"m0", "n", "f"}), "accept");
  EXPECT_EQ(verdict({"m0", "n", "g"}), bad);
  EXPECT_EQ(verdict({"m0", "x", "f"}), bad);
  EXPECT_EQ(verdict({"m1", "n", "f"}), bad);
  Runnable again = runnable("a");
  again.graph_mutation = GraphIntent{"m1", "n", "f"};
  EXPECT_EQ(verdict_on(begun(), planned({again})), "repeat") << "the key is known";
}

TEST(RunRules, a_run_is_continued_once_and_continues_one) {
  const Facts before = begun({continuation_requested(), continued_from()});
  EXPECT_EQ(verdict_on(before, continuation_requested()), "repeat");
  EXPECT_EQ(verdict_on(before, continuation_requested("x")), "conflicting_continuation");
  EXPECT_EQ(verdict_on(before, continued_from()), "repeat");
  EXPECT_EQ(verdict_on(before, continued_from("x")), "conflicting_continuation");
  EXPECT_EQ(verdict_on(begun(), continued_from("x")), "accept");
}

TEST(RunRules, a_step_waits_for_its_events_once) {
  const Facts before = begun({wait_opened("a")});
  EXPECT_EQ(verdict_on(begun(), wait_opened("a")), "accept");
  EXPECT_EQ(verdict_on(before, wait_opened("a")), "repeat");
  EXPECT_EQ(verdict_on(before, wait_opened("b")), "accept") << "each step by itself";
  EXPECT_EQ(verdict_on(begun({paused("a")}), wait_opened("a")), "active_manual_step");
  const Facts over =
      begun({wait_opened("a"), event_received("a"), wait_resolved(WaitAction::received, "a")});
  EXPECT_EQ(verdict_on(over, wait_opened("a")), "repeat");
  EXPECT_EQ(verdict_on(over, wait_opened("b")), "accept");
  EXPECT_EQ(verdict_on(over, changed(wait_opened("a"), [](auto& fact) { fact.opened_at = ms(1); })),
            "stale_event_wait");
  EXPECT_EQ(verdict_on(begun(), changed(wait_opened("a"),
                                        [](auto& fact) { fact.timeout->event = "other"; })),
            "malformed_entry");
}

TEST(RunRules, an_event_is_for_the_wait_that_waits_for_it) {
  const Facts before = begun({wait_opened()});
  const std::string stale = "stale_event_wait";
  EXPECT_EQ(verdict_on(before, event_received()), "accept");
  EXPECT_EQ(verdict_on(begun(), event_received()), stale);
  EXPECT_EQ(verdict_on(before, event_received("b")), stale);
  EXPECT_EQ(verdict_on(before, changed(event_received(), [](auto& fact) { fact.event = "x"; })),
            stale);
  EXPECT_EQ(
      verdict_on(before, changed(event_received(), [](auto& fact) { fact.correlation = "8"; })),
      stale);
  EXPECT_EQ(verdict_on(before, event_received("a", "[]")), "malformed_entry");
  const auto any = changed(wait_opened(), [](auto& fact) { fact.others = {{"refused", ""}}; });
  const auto refused = changed(event_received(), [](auto& fact) {
    fact.event = "refused";
    fact.correlation = {};
  });
  EXPECT_EQ(verdict_on(begun({any}), refused), "accept");
  EXPECT_EQ(verdict_on(before, refused), stale);
  const Facts received = begun({wait_opened(), event_received()});
  EXPECT_EQ(verdict_on(received, event_received()), "repeat");
  EXPECT_EQ(verdict_on(received, event_received("a", "{}")), stale);
  EXPECT_EQ(verdict_on(begun({wait_opened(), timeout_selected()}), event_received()), stale);
}

TEST(RunRules, either_the_event_or_the_timer_wins) {
  const std::string stale = "stale_event_wait";
  EXPECT_EQ(verdict_on(begun({wait_opened()}), timeout_selected()), "accept");
  EXPECT_EQ(verdict_on(begun(), timeout_selected()), stale);
  EXPECT_EQ(verdict_on(begun({wait_opened(), event_received()}), timeout_selected()), stale);
  EXPECT_EQ(verdict_on(begun({wait_opened(), timeout_selected()}), timeout_selected()), "repeat");
  EXPECT_EQ(verdict_on(begun({changed(wait_opened(), [](auto& fact) { fact.timeout.reset(); })}),
                       timeout_selected()),
            stale);
  const auto other = [&](auto change) {
    return verdict_on(begun({wait_opened()}), changed(timeout_selected(), change));
  };
  EXPECT_EQ(other([](auto& fact) { fact.step = "b"; }), stale);
  EXPECT_EQ(other([](auto& fact) { fact.event = "x"; }), stale);
  EXPECT_EQ(other([](auto& fact) { fact.correlation = "x"; }), stale);
  EXPECT_EQ(other([](auto& fact) { fact.target = "x"; }), stale);
  EXPECT_EQ(other([](auto& fact) { fact.timeout_runnable_key = "x"; }), stale);
}

TEST(RunRules, a_wait_is_resolved_by_what_happened_to_it) {
  const std::string stale = "stale_event_wait";
  const RunFact by_event = wait_resolved(WaitAction::received);
  const RunFact by_timer = wait_resolved(WaitAction::timed_out);
  const Facts waiting = begun({wait_opened()});
  const Facts received = begun({wait_opened(), event_received()});
  const Facts selected = begun({wait_opened(), timeout_selected()});
  EXPECT_EQ(verdict_on(begun(), by_event), stale);
  EXPECT_EQ(verdict_on(waiting, by_event), stale);
  EXPECT_EQ(verdict_on(waiting, by_timer), stale);
  EXPECT_EQ(verdict_on(received, by_event), "accept");
  EXPECT_EQ(verdict_on(received, by_timer), stale);
  EXPECT_EQ(verdict_on(selected, by_event), stale);
  EXPECT_EQ(verdict_on(selected, by_timer), "accept");
  const Facts over = begun({wait_opened(), event_received(), by_event});
  EXPECT_EQ(verdict_on(over, by_event), "repeat");
  EXPECT_EQ(verdict_on(over, by_timer), stale);
  EXPECT_EQ(verdict_on(over, wait_resolved(WaitAction::received, "a", "[]")), stale);
  EXPECT_EQ(verdict_on(over, event_received()), "repeat");
  EXPECT_EQ(verdict_on(begun({wait_opened(), timeout_selected(), by_timer}), by_timer), "repeat");
  EXPECT_EQ(verdict_on(received, changed(wait_resolved(WaitAction::received),
                                         [](auto& fact) { fact.step = "b"; })),
            stale);
  EXPECT_EQ(verdict_on(received, changed(wait_resolved(WaitAction::received),
                                         [](auto& fact) { fact.correlation = "8"; })),
            stale);
}

TEST(RunRules, a_key_stands_for_one_update_of_the_search_attributes) {
  const Facts before = begun({attributes_updated(R"({"a":1})", "i")});
  EXPECT_EQ(verdict_on(before, attributes_updated(R"({"a":1})", "i")), "repeat");
  EXPECT_EQ(verdict_on(before, attributes_updated(R"({"a":2})", "i")), "idempotency_conflict");
  EXPECT_EQ(verdict_on(before, attributes_updated(R"({"a":2})", "j")), "accept");
  EXPECT_EQ(verdict_on(before, attributes_updated(R"({"a":{}})", "j")), "malformed_entry");
  EXPECT_EQ(verdict_on(before, attributes_updated("[]", "j")), "malformed_entry");
}

TEST(RunRules, a_paused_run_migrates_from_the_definition_it_follows) {
  const std::string stale = "stale_definition_migration";
  const Facts before = begun({paused("a")});
  const auto other = [&](auto change) { return verdict_on(before, changed(migrated(), change)); };
  EXPECT_EQ(verdict_on(before, migrated()), "accept");
  EXPECT_EQ(verdict_on(begun(), migrated()), stale);
  EXPECT_EQ(verdict_on(begun({wait_opened()}), migrated()), stale);
  EXPECT_EQ(verdict_on(begun({paused("a"), paused("b")}), migrated()), stale) << "which one?";
  EXPECT_EQ(other([](auto& fact) { fact.source_version = "0"; }), stale);
  EXPECT_EQ(other([](auto& fact) { fact.source_fingerprint = "f0"; }), stale);
  EXPECT_EQ(other([](auto& fact) { fact.source_manual_step = "b"; }), stale);
  EXPECT_EQ(other([](auto& fact) { fact.source_manual_step = "a"; }), "accept");
  EXPECT_EQ(other([](auto& fact) { fact.context = json("[]"); }), "malformed_entry");
  EXPECT_EQ(other([](auto& fact) { fact.manual_state = json("{}"); }), "malformed_entry");
  EXPECT_EQ(other([](auto& fact) {
              fact.manual_state = json(R"({"step":"b","kind":"event_wait","paused_at":5})");
            }),
            "malformed_entry");
}

TEST(RunRules, a_migration_key_stands_for_one_migration) {
  const Facts before = begun({paused("a"), migrated()});
  EXPECT_EQ(verdict_on(before, migrated()), "repeat");
  EXPECT_EQ(verdict_on(before, changed(migrated(), [](auto& fact) { fact.target_version = "3"; })),
            "conflicting_definition_migration");
  EXPECT_EQ(verdict_on(before, migrated("m2")), "stale_definition_migration");
  EXPECT_EQ(verdict_on(before, changed(migrated("m2"),
                                       [](auto& fact) {
                                         fact.source_version = "2";
                                         fact.source_fingerprint = "f2";
                                       })),
            "accept");
  EXPECT_EQ(verdict_on(before, run_started()), "repeat");
}

TEST(RunRules, only_what_ended_is_archived_and_only_what_is_archived_comes_back) {
  const std::string bad = "invalid_archive_transition";
  EXPECT_EQ(verdict_on(begun(), archived()), bad);
  EXPECT_EQ(verdict_on(begun(), unarchived()), bad);
  EXPECT_EQ(verdict_on(begun({terminal()}), archived()), "accept");
  EXPECT_EQ(verdict_on(begun({terminal()}), unarchived()), bad);
  EXPECT_EQ(verdict_on(begun({terminal(), archived()}), archived()), bad);
  EXPECT_EQ(verdict_on(begun({terminal(), archived()}), unarchived()), "accept");
  EXPECT_EQ(verdict_on(begun({terminal(), archived(), unarchived()}), archived()), "accept");
}

TEST(RunRules, the_attempt_that_failed_a_run_is_decided_once) {
  const std::string bad = "stale_dead_letter";
  const Facts failed = begun({failed_by_attempt()});
  const RunFact discarded = letter_resolved(DeadLetterEnd::discarded);
  EXPECT_EQ(verdict_on(begun(), letter_resolved()), bad);
  EXPECT_EQ(verdict_on(begun({terminal()}), letter_resolved()), bad);
  EXPECT_EQ(verdict_on(failed, letter_resolved()), "accept");
  EXPECT_EQ(verdict_on(failed, discarded), "accept");
  EXPECT_EQ(
      verdict_on(failed, changed(letter_resolved(), [](auto& fact) { fact.runnable_key = "b#1"; })),
      bad);
  EXPECT_EQ(verdict_on(failed, changed(letter_resolved(),
                                       [](auto& fact) { fact.replay_run_id = RunId{}; })),
            "malformed_entry");
  const Facts redriven = begun({failed_by_attempt(), letter_resolved()});
  EXPECT_EQ(verdict_on(redriven, letter_resolved()), "repeat");
  EXPECT_EQ(verdict_on(redriven, discarded), bad);
}

TEST(RunRules, what_was_planned_can_be_withdrawn_until_it_is_applied) {
  EXPECT_EQ(verdict_on(begun(), withdrawn({"a#1", "b#1"})), "accept");
  EXPECT_EQ(verdict_on(begun(), withdrawn({"a#1", "x#1"})), "unknown_runnable_intent");
  EXPECT_EQ(verdict_on(begun({withdrawn({"a#1"})}), withdrawn({"a#1"})), "repeat");
  EXPECT_EQ(verdict_on(begun({withdrawn({"a#1"})}), withdrawn({"a#1", "b#1"})), "accept");
  EXPECT_EQ(verdict_on(begun({withdrawn({"a#1"})}), applied_run("a#1")), "repeat");
  EXPECT_EQ(verdict_on(begun({applied_run("a#1")}), withdrawn({"a#1"})), "repeat");
}

TEST(RunRules, a_key_stands_for_one_event) {
  const std::string conflict = "idempotency_conflict";
  EXPECT_EQ(verdict_on(begun(), event_buffered()), "accept");
  EXPECT_EQ(verdict_on(begun({event_buffered()}), event_buffered()), conflict);
  EXPECT_EQ(verdict_on(begun({wait_opened(), event_received()}), event_buffered("once")), conflict);
  EXPECT_EQ(verdict_on(begun({event_buffered()}), event_buffered("other")), "accept");
  EXPECT_EQ(
      verdict_on(begun(), changed(event_buffered(), [](auto& fact) { fact.payload = json("1"); })),
      "malformed_entry");
}

TEST(RunRules, a_run_compensates_once_and_adopts_once) {
  const Facts before = begun({compensation_started(), steps_adopted()});
  EXPECT_EQ(verdict_on(before, compensation_started()), "repeat");
  EXPECT_EQ(verdict_on(before, compensation_started(TerminalStatus::cancelled)),
            "conflicting_compensation");
  EXPECT_EQ(verdict_on(before, steps_adopted()), "repeat");
  EXPECT_EQ(verdict_on(before, steps_adopted({"b"})), "conflicting_run_start");
}

TEST(RunRules, an_anomaly_says_what_it_is_about) {
  RunProjection run(run_no(1));
  evolve_all(run, begun({child_started()}));
  run.evolve(ms(300), applied_run("x#1"));
  run.evolve(ms(301), resolved("x"));
  run.evolve(ms(302), changed(child_started(), [](auto& fact) { fact.child_key = "x"; }));
  run.evolve(ms(303), mutated("m", 9, {node("n")}));
  run.evolve(ms(304), event_received("x"));
  ASSERT_EQ(run.anomalies().size(), 5U);
  EXPECT_EQ(run.anomalies()[0].runnable_key.view(), "x#1");
  EXPECT_EQ(run.anomalies()[0].run_id, run_no(1));
  EXPECT_EQ(run.anomalies()[1].step.view(), "x");
  EXPECT_EQ(run.anomalies()[2].child_run_id.view(), to_string(run_no(5)));
  EXPECT_EQ(run.anomalies()[3].mutation_id.view(), "m");
  EXPECT_EQ(run.anomalies()[4].runnable_key.view(), "x#1");
  EXPECT_EQ(run.anomalies()[4].idempotency_key.view(), "once");
}

}  // namespace
}  // namespace holdfast::run_rules_test
