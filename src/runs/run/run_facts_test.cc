#include <gtest/gtest.h>

#include "tests/support/run_fact_samples.h"
#include "tests/support/test_entries.h"

namespace holdfast::run_facts_test {
namespace {

constexpr TimeMs kAt{1'700'000'000'000};

const std::map<std::string_view, std::vector<std::string>>& required_fields() {
  static const std::map<std::string_view, std::vector<std::string>> fields{
      {"run_signal_received", {"run_id", "signal_type", "payload", "metadata"}},
      {"run_started", {"run_id", "workflow"}},
      {"runnables_planned", {"run_id", "runnables"}},
      {"runnable_applied", {"run_id", "runnable_key"}},
      {"child_run_started",
       {"run_id", "child_run_id", "child_workflow", "child_trigger", "child_key", "origin"}},
      {"manual_step_paused", {"run_id", "step", "kind"}},
      {"manual_step_resolved", {"run_id", "step", "action"}},
      {"run_terminal", {"run_id", "status"}},
      {"dynamic_graph_mutated",
       {"run_id", "mutation_id", "expected_version", "result_version", "origin"}},
      {"run_continuation_requested",
       {"run_id", "successor_run_id", "continuation_key", "workflow", "trigger", "input",
        "definition", "definition_fingerprint"}},
      {"run_continued_from", {"run_id", "predecessor_run_id", "continuation_key"}},
      {"external_event_wait_opened", {"run_id", "wait_id", "step", "event", "opened_at"}},
      {"external_event_received", {"run_id", "wait_id", "event", "payload", "idempotency_key"}},
      {"external_event_wait_timeout_selected",
       {"run_id", "wait_id", "timeout_runnable_key", "step", "event", "target", "selected_at"}},
      {"external_event_wait_resolved", {"run_id", "wait_id", "step", "event", "action", "result"}},
      {"search_attributes_updated", {"run_id", "changes", "fingerprint", "idempotency_key"}},
      {"run_definition_migrated",
       {"run_id", "migration_key", "source_fingerprint", "target_fingerprint"}},
      {"run_archived", {"run_id", "reason"}},
      {"run_unarchived", {"run_id"}},
      {"runnables_withdrawn", {"run_id", "runnable_keys"}},
      {"external_event_buffered", {"run_id", "event", "payload", "idempotency_key"}},
      {"compensation_started", {"run_id", "outcome"}},
      {"steps_adopted", {"run_id", "source_run_id", "from_step", "context"}},
      {"dead_letter_resolved", {"run_id", "runnable_key", "action"}}};
  return fields;
}

// The data without one member, or with null in its place.
std::string spoiled(const NewEntry& entry, std::string_view name, std::string_view value) {
  std::string text;
  JsonSlicer slicer(entry.data.view());
  while (const auto member = slicer.next()) {
    const std::string_view shown = member->name == name ? value : member->value;
    if (!shown.empty()) {
      text += text.empty() ? "" : ",";
      text += '"' + std::string(member->name) + "\":" + std::string(shown);
    }
  }
  return "{" + text + "}";
}

bool has_member(const NewEntry& entry, std::string_view name) {
  return entry.data.view().find('"' + std::string(name) + "\":") != std::string_view::npos;
}

TEST(RunFacts, every_fact_reads_back_as_it_was_written) {
  const auto facts = every_run_fact();
  ASSERT_EQ(facts.size(), std::variant_size_v<RunFact>);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    ASSERT_EQ(facts[i].index(), i) << "one of each kind";
    const NewEntry entry = must(to_entry(facts[i], kAt));
    EXPECT_EQ(entry.kind, kind_of(facts[i]));
    EXPECT_EQ(entry.at, kAt);
    must(check_new_entry(entry));
    EXPECT_EQ(must(run_fact(entry.kind, entry.data.view())), facts[i]) << entry.kind;
  }
}

TEST(RunFacts, a_required_field_that_is_missing_or_null_is_named) {
  for (const RunFact& fact : every_run_fact()) {
    const NewEntry entry = must(to_entry(fact, kAt));
    for (const std::string& field : required_fields().at(entry.kind)) {
      ASSERT_TRUE(has_member(entry, field)) << entry.kind << " " << field;
      for (const std::string_view value : {"", "null"}) {
        const auto read = run_fact(entry.kind, spoiled(entry, field, value));
        ASSERT_EQ(code_of(read), "missing_fields") << entry.kind << " " << field;
        EXPECT_EQ(read.error().field("fields"), field) << entry.kind;
        EXPECT_EQ(read.error().field("kind"), entry.kind);
      }
    }
  }
}

TEST(RunFacts, every_other_field_may_be_missing_or_null) {
  for (const RunFact& fact : every_run_fact()) {
    const NewEntry entry = must(to_entry(fact, kAt));
    const auto& required = required_fields().at(entry.kind);
    JsonSlicer slicer(entry.data.view());
    while (const auto member = slicer.next()) {
      if (std::find(required.begin(), required.end(), member->name) == required.end()) {
        EXPECT_TRUE(run_fact(entry.kind, spoiled(entry, member->name, "")).ok()) << member->name;
        EXPECT_TRUE(run_fact(entry.kind, spoiled(entry, member->name, "null")).ok())
            << member->name;
      }
    }
  }
}

TEST(RunFacts, a_fact_without_a_required_value_does_not_become_an_entry) {
  ManualStepPaused fact = paused("a");
  fact.step = {};
  const auto entry = to_entry(RunFact(fact), kAt);
  ASSERT_EQ(code_of(entry), "missing_fields");
  EXPECT_EQ(entry.error().field("fields"), "step");
  EXPECT_EQ(entry.error().field("kind"), "manual_step_paused");
}

TEST(RunFacts, parts_of_a_fact_must_be_whole_too) {
  Runnable plan = runnable("a");
  plan.runnable_key = {};
  EXPECT_EQ(code_of(to_entry(RunFact(planned({plan})), kAt)), "missing_fields");
  const NewEntry entry = must(to_entry(RunFact(planned({runnable("a")})), kAt));
  EXPECT_EQ(code_of(run_fact(entry.kind, spoiled(entry, "runnables", R"([{"step":"a"}])"))),
            "invalid_argument");
}

TEST(RunFacts, an_unknown_kind_is_refused_by_name) {
  for (const std::string_view kind : {"run_forgotten", "", "attempt_claimed", "run_indexed"}) {
    const auto read = run_fact(kind, "{}");
    ASSERT_EQ(code_of(read), "unknown_entry_type");
    EXPECT_EQ(read.error().field("kind"), kind);
  }
}

TEST(RunFacts, a_word_that_is_none_of_the_known_ones_is_refused) {
  const NewEntry entry = must(to_entry(RunFact(terminal()), kAt));
  const auto read = run_fact(entry.kind, spoiled(entry, "status", R"("exploded")"));
  ASSERT_EQ(code_of(read), "invalid_argument");
  EXPECT_EQ(read.error().field("fields"), "status");
}

template <typename Fact>
void expect_round_trip(const Fact& fact) {
  const NewEntry entry = must(to_entry(fact, kAt));
  EXPECT_EQ(entry.kind, Fact::kKind);
  must(check_new_entry(entry));
  EXPECT_EQ(must(from_json<Fact>(entry.data.view())), fact);
}

TEST(RunFacts, the_facts_by_which_runs_are_found_read_back_too) {
  expect_round_trip(RunIndexed{run_no(1), "order", "default"});
  expect_round_trip(RunCataloged{run_no(1), "order", "default"});
  expect_round_trip(DefinitionRegistered{"order", "f1", "1", json("{}")});
  expect_round_trip(WorkflowRegistered{"order", "f1", "1"});
  EXPECT_EQ(code_of(to_entry(RunIndexed{run_no(1), {}, "default"}, kAt)), "missing_fields");
  EXPECT_EQ(code_of(to_entry(RunCataloged{{}, "order", "default"}, kAt)), "missing_fields");
  EXPECT_EQ(code_of(to_entry(DefinitionRegistered{"order", "f1", "1", {}}, kAt)), "missing_fields");
  EXPECT_EQ(definition_thread("abc").text(), "definition:abc");
  EXPECT_EQ(workflow_thread("order").text(), "workflow:order");
}

}  // namespace
}  // namespace holdfast::run_facts_test
