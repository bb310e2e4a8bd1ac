#include "runs/dispatch/dispatch_facts.h"

#include <gtest/gtest.h>

#include "runs/facts/retired_kinds.h"
#include "tests/support/dispatch_fact_samples.h"
#include "tests/support/test_entries.h"

namespace holdfast::dispatch_facts_test {
namespace {

constexpr TimeMs kAt{1'700'000'000'000};

// One fact of each kind with every field set.
std::vector<DispatchFact> full_facts() {
  AttemptScheduled intent = scheduled("k1");
  intent.workflow = "order";
  intent.handler = "payments";
  intent.policy.claim.lease_ms = 500;
  intent.event_wait_timeout = json(R"({"event":"paid"})");
  intent.deadline = json("900");
  intent.trace = json(R"({"span":"a"})");
  AttemptClaimed claim = claimed("k1", 200);
  claim.trace = json("[1]");
  AttemptHeartbeat beat = heartbeat("k1", 300);
  beat.trace = json("[2]");
  AttemptCompleted completion = completed("k1");
  completion.execution_opts = json(R"({"schedule_in_ms":5})");
  completion.trace = json("[3]");
  AttemptFailed failure = failed_with_retry("k1", "k2", 400);
  failure.retry_deadline = json("901");
  failure.retry_trace = json("[4]");
  failure.trace = json("[5]");
  return {RunQueued{run_no(1), "default"},
          intent,
          claim,
          beat,
          completion,
          failure,
          wakeup("k1"),
          CircuitOpened{run_no(1), "k1", "default", "order", "charge", 5, TimeMs{9}, json("[6]")},
          CircuitProbed{run_no(1), "k1", "c1", "default", "order", "charge"},
          CircuitClosed{run_no(1), "k1", "default", "order", "charge"},
          CircuitReset{"default", "order", "charge", "ann", "repaired"}};
}

std::vector<std::string> required_fields(std::string_view kind) {
  const std::map<std::string_view, std::vector<std::string>> fields{
      {"run_queued", {"run_id", "queue"}},
      {"attempt_scheduled",
       {"run_id", "runnable_key", "idempotency_key", "attempt_number", "queue", "step", "input",
        "visible_at"}},
      {"attempt_claimed",
       {"run_id", "runnable_key", "claim_id", "claim_token_hash", "owner_id", "queue",
        "lease_until"}},
      {"attempt_heartbeat",
       {"run_id", "runnable_key", "claim_id", "claim_token_hash", "queue", "lease_until"}},
      {"attempt_completed",
       {"run_id", "runnable_key", "claim_id", "claim_token_hash", "queue", "result"}},
      {"attempt_failed",
       {"run_id", "runnable_key", "claim_id", "claim_token_hash", "queue", "error"}},
      {"live_wakeup_emitted", {"run_id", "runnable_key", "queue"}},
      {"circuit_opened", {"run_id", "runnable_key", "queue", "step", "failures", "probe_at"}},
      {"circuit_probed", {"run_id", "runnable_key", "probe_claim_id", "queue", "step"}},
      {"circuit_closed", {"run_id", "runnable_key", "queue", "step"}},
      {"circuit_reset", {"queue", "step"}}};
  return fields.at(kind);
}

// The members of an entry's data, in their order.
std::vector<std::pair<std::string, std::string>> members(const NewEntry& entry) {
  std::vector<std::pair<std::string, std::string>> all;
  JsonSlicer slicer(entry.data.view());
  while (const auto member = slicer.next()) {
    all.emplace_back(member->name, member->value);
  }
  return all;
}

// The data with one member replaced, or left out when `value` is empty.
std::string with_member(const NewEntry& entry, std::string_view name, std::string_view value) {
  std::string text;
  for (const auto& [known, old] : members(entry)) {
    const std::string_view shown = known == name ? value : std::string_view(old);
    if (!shown.empty()) {
      text += text.empty() ? "" : ",";
      text += '"' + known + "\":" + std::string(shown);
    }
  }
  return "{" + text + "}";
}

TEST(DispatchFacts, every_fact_reads_back_as_it_was_written) {
  const auto facts = full_facts();
  ASSERT_EQ(facts.size(), std::variant_size_v<DispatchFact>);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    ASSERT_EQ(facts[i].index(), i) << "one of each kind";
    const NewEntry entry = must(to_entry(facts[i], kAt));
    EXPECT_EQ(entry.kind, kind_of(facts[i]));
    EXPECT_EQ(entry.at, kAt);
    must(check_new_entry(entry));
    EXPECT_EQ(must(dispatch_fact(entry.kind, entry.data.view())), facts[i]) << entry.kind;
  }
}

TEST(DispatchFacts, optional_fields_without_a_value_are_not_written) {
  const NewEntry entry = must(to_entry(completed("k1"), kAt));
  EXPECT_EQ(members(entry).size(), required_fields(entry.kind).size());
  EXPECT_EQ(must(dispatch_fact(entry.kind, entry.data.view())), DispatchFact(completed("k1")));
}

TEST(DispatchFacts, a_required_field_that_is_missing_or_null_is_named) {
  for (const DispatchFact& fact : full_facts()) {
    const NewEntry entry = must(to_entry(fact, kAt));
    for (const std::string& field : required_fields(entry.kind)) {
      for (const std::string_view value : {"", "null"}) {
        const auto read = dispatch_fact(entry.kind, with_member(entry, field, value));
        ASSERT_EQ(code_of(read), "missing_fields") << entry.kind << " " << field;
        EXPECT_EQ(read.error().field("fields"), field) << entry.kind;
        EXPECT_EQ(read.error().field("kind"), entry.kind);
      }
    }
  }
}

TEST(DispatchFacts, an_optional_field_may_be_missing_or_null) {
  for (const DispatchFact& fact : full_facts()) {
    const NewEntry entry = must(to_entry(fact, kAt));
    const auto required = required_fields(entry.kind);
    for (const auto& [field, old] : members(entry)) {
      const bool is_retry = field == "retry_runnable_key" || field == "retry_visible_at";
      if (is_retry || std::find(required.begin(), required.end(), field) != required.end()) {
        continue;
      }
      EXPECT_TRUE(dispatch_fact(entry.kind, with_member(entry, field, "")).ok()) << field;
      EXPECT_TRUE(dispatch_fact(entry.kind, with_member(entry, field, "null")).ok()) << field;
    }
  }
}

TEST(DispatchFacts, a_field_of_another_type_is_an_invalid_argument) {
  const std::vector<std::string> any_json{
      "input",    "result",         "error",       "trace",          "event_wait_timeout",
      "deadline", "execution_opts", "retry_trace", "retry_deadline",
  };
  for (const DispatchFact& fact : full_facts()) {
    const NewEntry entry = must(to_entry(fact, kAt));
    for (const auto& [field, old] : members(entry)) {
      if (std::find(any_json.begin(), any_json.end(), field) != any_json.end()) {
        continue;
      }
      const auto read = dispatch_fact(entry.kind, with_member(entry, field, "[true]"));
      ASSERT_EQ(code_of(read), "invalid_argument") << entry.kind << " " << field;
      EXPECT_EQ(read.error().field("fields"), field);
    }
  }
}

TEST(DispatchFacts, empty_texts_ids_and_hashes_are_missing) {
  const NewEntry entry = must(to_entry(claimed("k1", 200), kAt));
  const std::string nil_id = '"' + to_string(RunId{}) + '"';
  const std::string nil_hash = '"' + std::string(64, '0') + '"';
  const auto code = [&](std::string_view field, std::string_view value) {
    return code_of(dispatch_fact(entry.kind, with_member(entry, field, value)));
  };
  EXPECT_EQ(code("runnable_key", R"("")"), "missing_fields");
  EXPECT_EQ(code("run_id", nil_id), "missing_fields");
  EXPECT_EQ(code("claim_token_hash", nil_hash), "missing_fields");
  EXPECT_EQ(code("claim_token_hash", R"("ab")"), "invalid_argument");
  EXPECT_EQ(code("run_id", R"("run-1")"), "invalid_argument");
}

TEST(DispatchFacts, a_fact_without_a_required_value_does_not_become_an_entry) {
  AttemptClaimed claim = claimed("k1", 200);
  claim.claim_id = {};
  claim.owner_id = {};
  const auto entry = to_entry(claim, kAt);
  ASSERT_EQ(code_of(entry), "missing_fields");
  EXPECT_EQ(entry.error().field("fields"), "claim_id, owner_id");
  EXPECT_EQ(entry.error().field("kind"), "attempt_claimed");
}

TEST(DispatchFacts, an_unknown_kind_is_refused_by_name) {
  for (const std::string_view kind : {"attempt_forgotten", "", "runnable_applied"}) {
    const auto read = dispatch_fact(kind, "{}");
    ASSERT_EQ(code_of(read), "unknown_entry_type");
    EXPECT_EQ(read.error().field("kind"), kind);
  }
}

TEST(DispatchFacts, data_that_is_not_an_object_is_invalid_json) {
  for (const std::string_view data : {"", "[]", "7", R"({"run_id":)", R"({} )"}) {
    EXPECT_EQ(code_of(dispatch_fact("run_queued", data)), "invalid_json") << data;
  }
}

TEST(DispatchFacts, members_that_are_not_known_are_ignored) {
  const NewEntry entry = must(to_entry(wakeup("k1"), kAt));
  std::string data(entry.data.view());
  data.insert(1, R"("later":{"a":[1]},)");
  EXPECT_EQ(must(dispatch_fact(entry.kind, data)), DispatchFact(wakeup("k1")));
}

TEST(DispatchFacts, a_retry_has_a_key_and_a_time_or_neither) {
  const NewEntry entry = must(to_entry(failed_with_retry("k1", "k2", 400), kAt));
  for (const std::string_view field : {"retry_runnable_key", "retry_visible_at"}) {
    const auto read = dispatch_fact(entry.kind, with_member(entry, field, ""));
    EXPECT_EQ(code_of(read), "invalid_argument") << field;
  }
  AttemptFailed only_time = failed("k1");
  only_time.retry_visible_at = ms(400);
  EXPECT_EQ(code_of(to_entry(only_time, kAt)), "invalid_argument");
  EXPECT_TRUE(to_entry(failed("k1"), kAt).ok());
}

TEST(DispatchFacts, a_retry_is_not_the_attempt_itself) {
  EXPECT_EQ(code_of(to_entry(failed_with_retry("k1", "k1", 400), kAt)), "invalid_argument");
}

TEST(DispatchFacts, attempts_are_numbered_from_1) {
  AttemptScheduled intent = scheduled("k1");
  const NewEntry entry = must(to_entry(intent, kAt));
  intent.attempt_number = 0;
  EXPECT_EQ(code_of(to_entry(intent, kAt)), "invalid_argument");
  EXPECT_EQ(code_of(dispatch_fact(entry.kind, with_member(entry, "attempt_number", "0"))),
            "invalid_argument");
  EXPECT_EQ(code_of(dispatch_fact(entry.kind, with_member(entry, "attempt_number", "-1"))),
            "invalid_argument");
  EXPECT_EQ(code_of(dispatch_fact(entry.kind, with_member(entry, "attempt_number", "1.5"))),
            "invalid_argument");
}

TEST(DispatchFacts, fields_and_kinds_of_earlier_versions_are_ignored) {
  const AttemptCompleted completion = completed("k1");
  const NewEntry entry = must(to_entry(completion, kAt));
  for (const std::string_view retired : {"guardrails", "completion_encoding"}) {
    const std::string data = with_member(entry, retired, R"({"effect":"e"})");
    EXPECT_EQ(must(dispatch_fact(entry.kind, data)), DispatchFact(completion)) << retired;
  }
  for (const std::string_view kind : kRetiredKinds) {
    EXPECT_EQ(code_of(dispatch_fact(kind, "{}")), "unknown_entry_type") << kind;
    DispatchProjection queue{kDefaultQueue};
    queue.fold({"dispatch:default", Revision{0}, kind, kAt, "{}", {}});
    EXPECT_EQ(queue.revision(), Revision{1});
    EXPECT_TRUE(queue.anomalies().empty()) << kind;
  }
}

TEST(DispatchFacts, texts_keep_their_characters) {
  AttemptScheduled intent = scheduled("a \"quoted\" key\n\xC3\xA9");
  const NewEntry entry = must(to_entry(intent, kAt));
  EXPECT_EQ(must(dispatch_fact(entry.kind, entry.data.view())), DispatchFact(intent));
}

}  // namespace
}  // namespace holdfast::dispatch_facts_test
