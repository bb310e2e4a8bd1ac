// Each rule of the protocol: which fact breaks it, in the order the rules are checked, and that
// a fact that breaks one changes nothing but the list of anomalies.
#include "runs/dispatch/dispatch_rules.h"

#include <gtest/gtest.h>

#include "tests/support/dispatch_fact_samples.h"
#include "tests/support/test_entries.h"

namespace holdfast::dispatch_rules_test {
namespace {

using Reasons = std::vector<std::string>;

class DispatchRules : public testing::Test {
 protected:
  void take(std::int64_t at, const DispatchFact& fact) { state_.evolve(ms(at), fact); }

  void expect_accepted(std::int64_t at, const DispatchFact& fact) {
    const std::size_t anomalies = state_.anomalies().size();
    const std::string before = known(state_);
    take(at, fact);
    EXPECT_EQ(state_.anomalies().size(), anomalies) << reasons(state_).back();
    EXPECT_NE(known(state_), before) << "nothing changed";
  }
  void expect_repeat(std::int64_t at, const DispatchFact& fact) {
    const std::string before = state_.encode();
    take(at, fact);
    EXPECT_EQ(state_.encode(), before);
  }
  template <typename Fact>
  void expect_refused(std::int64_t at, const Fact& fact, std::string_view reason) {
    const std::string before = known(state_);
    const std::size_t anomalies = state_.anomalies().size();
    state_.evolve(ms(at), fact);
    EXPECT_EQ(known(state_), before) << "a refused fact changed something";
    ASSERT_EQ(state_.anomalies().size(), anomalies + 1) << "it was not refused";
    const Anomaly& anomaly = state_.anomalies().back();
    EXPECT_EQ(anomaly.reason.view(), reason);
    EXPECT_EQ(anomaly.at, ms(at));
    EXPECT_EQ(anomaly.run_id, fact.run_id);
    EXPECT_EQ(anomaly.entry_type.view(), Fact::kKind);
  }

  // k1 is scheduled at 0, visible from 100, claimed by c1 at 100 until 200.
  void schedule() { take(0, scheduled("k1")); }
  void claim() {
    schedule();
    take(100, claimed("k1", 200));
  }
  void complete() {
    claim();
    take(150, completed("k1"));
  }
  void fail() {
    claim();
    take(150, failed("k1"));
  }

  DispatchProjection state_{kDefaultQueue};
};

// One fact about the attempt of each kind.
template <typename Check>
void for_each_attempt_fact(Check check) {
  check(scheduled("k1"));
  check(claimed("k1", 900));
  check(heartbeat("k1", 900));
  check(completed("k1"));
  check(failed("k1"));
  check(wakeup("k1"));
}

TEST_F(DispatchRules, a_fact_of_another_queue_is_malformed) {
  claim();
  const auto check = [&](auto fact) {
    fact.queue = "other";
    expect_refused(150, fact, "malformed_entry");
  };
  check(RunQueued{run_no(1), "default"});
  for_each_attempt_fact(check);
}

TEST_F(DispatchRules, scheduling_for_an_ended_run_is_terminal_run) {
  state_.end_run(run_no(1));
  expect_refused(0, scheduled("k1"), "terminal_run");
}

TEST_F(DispatchRules, scheduling_the_known_attempt_of_an_ended_run_is_terminal_run) {
  schedule();
  state_.end_run(run_no(1));
  expect_refused(0, scheduled("k1"), "terminal_run");
}

TEST_F(DispatchRules, the_same_intent_again_is_a_repeat) {
  schedule();
  expect_repeat(50, scheduled("k1"));
  take(100, claimed("k1", 200));
  expect_repeat(150, scheduled("k1"));
  take(150, completed("k1"));
  expect_repeat(250, scheduled("k1"));
}

TEST_F(DispatchRules, each_field_that_makes_an_intent_what_it_is_conflicts_when_it_differs) {
  schedule();
  const auto check = [&](auto change) {
    AttemptScheduled other = scheduled("k1");
    change(other);
    expect_refused(50, other, "conflicting_runnable_intent");
  };
  check([](AttemptScheduled& fact) { fact.run_id = run_no(2); });
  check([](AttemptScheduled& fact) { fact.idempotency_key = "other"; });
  check([](AttemptScheduled& fact) { fact.attempt_number = 2; });
  check([](AttemptScheduled& fact) { fact.step = "refund"; });
  check([](AttemptScheduled& fact) { fact.input = json(R"({"amount":8})"); });
  check([](AttemptScheduled& fact) { fact.visible_at = ms(101); });
  check([](AttemptScheduled& fact) { fact.event_wait_timeout = json("{}"); });
  check([](AttemptScheduled& fact) { fact.deadline = json("9"); });
}

TEST_F(DispatchRules, what_does_not_make_an_intent_may_differ_in_a_repeat) {
  schedule();
  AttemptScheduled same = scheduled("k1");
  same.trace = json(R"({"span":"b"})");
  same.workflow = "order";
  expect_repeat(50, same);
}

TEST_F(DispatchRules, a_claim_of_an_unknown_attempt_is_unknown_runnable_intent) {
  schedule();
  expect_refused(100, claimed("k2", 200), "unknown_runnable_intent");
}

TEST_F(DispatchRules, a_fact_that_names_another_run_knows_no_such_attempt) {
  claim();
  for_each_attempt_fact([&](auto fact) {
    if constexpr (!std::is_same_v<decltype(fact), AttemptScheduled>) {
      fact.run_id = run_no(2);
      expect_refused(150, fact, "unknown_runnable_intent");
    }
  });
}

TEST_F(DispatchRules, a_claim_in_an_ended_run_is_terminal_run) {
  schedule();
  state_.end_run(run_no(1));
  expect_refused(100, claimed("k1", 200), "terminal_run");
  expect_refused(100, claimed("k2", 200), "unknown_runnable_intent");
}

TEST_F(DispatchRules, a_claim_of_a_completed_attempt_is_terminal_attempt) {
  complete();
  expect_refused(300, claimed("k1", 400, "c2"), "terminal_attempt");
}

TEST_F(DispatchRules, a_claim_of_a_failed_attempt_is_terminal_attempt) {
  fail();
  expect_refused(300, claimed("k1", 400, "c2"), "terminal_attempt");
}

TEST_F(DispatchRules, a_claim_while_another_holds_is_active_claim) {
  claim();
  expect_refused(150, claimed("k1", 400, "c2"), "active_claim");
  expect_refused(199, claimed("k1", 400, "c2"), "active_claim");
  expect_refused(150, claimed("k1", 400), "active_claim");
}

TEST_F(DispatchRules, a_held_attempt_is_active_claim_even_before_it_is_visible) {
  claim();
  expect_refused(50, claimed("k1", 400, "c2"), "active_claim");
}

TEST_F(DispatchRules, a_replacement_claim_is_valid_only_after_the_lease_has_expired) {
  claim();
  expect_refused(199, claimed("k1", 400, "c2"), "active_claim");
  expect_accepted(200, claimed("k1", 400, "c2"));
  EXPECT_EQ(state_.find("k1")->claim->claim_id.view(), "c2");
  expect_refused(250, completed("k1"), "stale_claim");
}

TEST_F(DispatchRules, a_claim_before_visible_at_is_attempt_not_visible) {
  schedule();
  expect_refused(99, claimed("k1", 200), "attempt_not_visible");
  expect_accepted(100, claimed("k1", 200));
}

TEST_F(DispatchRules, a_claim_that_ends_before_it_starts_is_malformed) {
  schedule();
  expect_refused(100, claimed("k1", 100), "malformed_entry");
  expect_refused(100, claimed("k1", 99), "malformed_entry");
  EXPECT_EQ(state_.anomalies().back().detail.view(), "the lease ends before the claim starts");
  expect_refused(99, claimed("k1", 99), "attempt_not_visible");
}

// Heartbeat, completion and failure stand under the same rules.
template <typename Check>
void for_each_claim_fact(std::string_view key, std::string_view claim_id, std::string_view secret,
                         Check check) {
  check(heartbeat(key, 900, claim_id, secret));
  check(completed(key, claim_id, secret));
  check(failed(key, claim_id, secret));
}

TEST_F(DispatchRules, what_a_claim_allows_needs_a_known_attempt) {
  claim();
  for_each_claim_fact("k2", "c1", "secret",
                      [&](auto fact) { expect_refused(150, fact, "unknown_runnable_intent"); });
}

TEST_F(DispatchRules, a_claim_allows_nothing_when_the_run_has_ended) {
  claim();
  state_.end_run(run_no(1));
  for_each_claim_fact("k1", "c1", "wrong",
                      [&](auto fact) { expect_refused(250, fact, "terminal_run"); });
}

TEST_F(DispatchRules, without_a_claim_everything_that_needs_one_is_stale_claim) {
  schedule();
  for_each_claim_fact("k1", "c1", "secret",
                      [&](auto fact) { expect_refused(150, fact, "stale_claim"); });
}

TEST_F(DispatchRules, another_claim_id_is_stale_claim) {
  claim();
  for_each_claim_fact("k1", "c2", "secret",
                      [&](auto fact) { expect_refused(150, fact, "stale_claim"); });
}

TEST_F(DispatchRules, the_right_claim_id_with_another_token_is_stale_claim) {
  claim();
  for_each_claim_fact("k1", "c1", "guess",
                      [&](auto fact) { expect_refused(150, fact, "stale_claim"); });
}

TEST_F(DispatchRules, a_stale_claim_is_stale_also_after_the_lease) {
  claim();
  for_each_claim_fact("k1", "c2", "secret",
                      [&](auto fact) { expect_refused(250, fact, "stale_claim"); });
}

TEST_F(DispatchRules, from_the_end_of_the_lease_on_a_claim_is_expired_claim) {
  claim();
  for_each_claim_fact("k1", "c1", "secret", [&](auto fact) {
    expect_refused(200, fact, "expired_claim");
    expect_refused(900, fact, "expired_claim");
  });
  expect_accepted(199, completed("k1"));
}

TEST_F(DispatchRules, a_heartbeat_in_time_extends_the_lease) {
  claim();
  expect_accepted(199, heartbeat("k1", 300));
  expect_refused(250, claimed("k1", 400, "c2"), "active_claim");
  expect_accepted(299, completed("k1"));
}

TEST_F(DispatchRules, a_heartbeat_of_an_ended_attempt_is_stale_claim) {
  complete();
  expect_refused(160, heartbeat("k1", 300), "stale_claim");
}

TEST_F(DispatchRules, the_same_completion_again_is_a_repeat_even_after_the_lease) {
  complete();
  expect_repeat(160, completed("k1"));
  expect_repeat(500, completed("k1"));
}

TEST_F(DispatchRules, the_same_claim_with_another_result_is_conflicting_completion) {
  complete();
  AttemptCompleted other = completed("k1");
  other.result = json(R"({"paid":false})");
  expect_refused(160, other, "conflicting_completion");
  expect_refused(500, other, "conflicting_completion");
}

TEST_F(DispatchRules, a_completion_after_one_by_another_claim_is_stale_claim) {
  complete();
  expect_refused(160, completed("k1", "c2"), "stale_claim");
  expect_refused(160, completed("k1", "c1", "guess"), "stale_claim");
}

TEST_F(DispatchRules, a_completed_attempt_does_not_fail_and_a_failed_one_does_not_complete) {
  complete();
  expect_refused(160, failed("k1"), "stale_claim");
  AttemptScheduled second = scheduled("k2");
  take(0, second);
  take(100, claimed("k2", 200));
  take(150, failed("k2"));
  expect_refused(160, completed("k2"), "stale_claim");
  expect_refused(160, failed("k2"), "stale_claim");
}

TEST_F(DispatchRules, a_retry_that_contradicts_a_known_attempt_is_conflicting_runnable_intent) {
  claim();
  take(110, scheduled("k2"));
  expect_refused(150, failed_with_retry("k1", "k2", 300), "conflicting_runnable_intent");
  EXPECT_EQ(state_.find("k1")->status, AttemptStatus::claimed);
}

TEST_F(DispatchRules, a_retry_that_is_scheduled_already_just_fails_the_attempt) {
  claim();
  AttemptScheduled retry = scheduled("k2", 300);
  retry.idempotency_key = scheduled("k1").idempotency_key;
  retry.attempt_number = 2;
  take(110, retry);
  expect_accepted(150, failed_with_retry("k1", "k2", 300));
  EXPECT_EQ(state_.attempt_count(), 2U);
}

TEST_F(DispatchRules, a_retry_under_another_idempotency_key_is_conflicting_runnable_intent) {
  claim();
  take(150, failed_with_retry("k1", "k2", 300));
  AttemptScheduled retry = scheduled("k2", 300);
  retry.idempotency_key = scheduled("k1").idempotency_key;
  retry.attempt_number = 2;
  expect_repeat(160, retry);
  retry.idempotency_key = "k2";
  expect_refused(160, retry, "conflicting_runnable_intent");
}

TEST_F(DispatchRules, a_wakeup_needs_a_known_attempt_of_a_run_that_has_not_ended) {
  schedule();
  expect_refused(100, wakeup("k2"), "unknown_runnable_intent");
  expect_accepted(100, wakeup("k1"));
  state_.end_run(run_no(1));
  expect_refused(110, wakeup("k1"), "terminal_run");
}

TEST_F(DispatchRules, a_result_of_an_unknown_attempt_is_unknown_runnable_intent) {
  complete();
  expect_refused(160, applied("k2"), "unknown_runnable_intent");
  ResultApplied other_run = applied("k1");
  other_run.run_id = run_no(2);
  expect_refused(160, other_run, "unknown_runnable_intent");
}

TEST_F(DispatchRules, a_result_applied_to_an_ended_run_is_terminal_run) {
  complete();
  state_.end_run(run_no(1));
  expect_refused(160, applied("k1"), "terminal_run");
  EXPECT_FALSE(state_.find("k1")->applied);
}

TEST_F(DispatchRules, a_result_is_applied_only_after_its_completion_is_durable) {
  schedule();
  expect_refused(50, applied("k1"), "result_not_completed");
  take(100, claimed("k1", 200));
  expect_refused(120, applied("k1"), "result_not_completed");
  take(150, completed("k1"));
  state_.evolve(ms(160), applied("k1"));
  EXPECT_TRUE(state_.find("k1")->applied);
}

TEST_F(DispatchRules, a_failure_is_applied_only_when_the_run_takes_a_transition) {
  fail();
  expect_refused(160, applied("k1"), "result_not_completed");
  ResultApplied routed = applied("k1");
  routed.routed = true;
  state_.evolve(ms(160), routed);
  EXPECT_TRUE(state_.find("k1")->applied);
}

TEST_F(DispatchRules, the_timer_of_an_event_wait_is_applied_without_a_completion) {
  AttemptScheduled timer = scheduled("k1");
  timer.event_wait_timeout = json(R"({"event":"paid"})");
  take(0, timer);
  state_.evolve(ms(10), applied("k1"));
  EXPECT_TRUE(state_.find("k1")->applied);
}

TEST_F(DispatchRules, a_result_applied_again_is_a_repeat_even_after_the_run_has_ended) {
  complete();
  state_.evolve(ms(160), applied("k1"));
  const std::string before = state_.encode();
  state_.evolve(ms(170), applied("k1"));
  EXPECT_EQ(state_.encode(), before);
  state_.end_run(run_no(1));
  state_.evolve(ms(180), applied("k1"));
  EXPECT_EQ(reasons(state_), Reasons{});
}

TEST_F(DispatchRules, a_run_queued_again_is_a_repeat) {
  expect_accepted(0, RunQueued{run_no(1), "default"});
  expect_repeat(10, RunQueued{run_no(1), "default"});
}

TEST_F(DispatchRules, an_anomaly_says_what_the_fact_said) {
  claim();
  take(150, completed("k1", "c2"));
  take(150, scheduled("k1", 7));
  ASSERT_EQ(state_.anomalies().size(), 2U);
  const Anomaly& stale = state_.anomalies().front();
  EXPECT_EQ(stale.runnable_key.view(), "k1");
  EXPECT_EQ(stale.claim_id.view(), "c2");
  EXPECT_EQ(stale.claim_token_hash.view(), to_hex(token("secret")));
  const Anomaly& conflict = state_.anomalies().back();
  EXPECT_EQ(conflict.idempotency_key.view(), "k1/once");
  EXPECT_EQ(conflict.step.view(), "charge");
}

class DispatchFold : public DispatchRules {
 protected:
  void fold(std::string_view kind, std::string_view data) {
    EntryView entry;
    entry.kind = kind;
    entry.at = ms(100);
    entry.data = data;
    state_.fold(entry);
  }
};

TEST_F(DispatchFold, a_stored_fact_is_taken_as_the_fact_it_is) {
  const NewEntry entry = must(to_entry(scheduled("k1"), ms(100)));
  fold(entry.kind, entry.data.view());
  DispatchProjection other{kDefaultQueue};
  other.evolve(ms(100), scheduled("k1"));
  EXPECT_EQ(state_.encode(), other.encode());
}

TEST_F(DispatchFold, an_entry_that_is_not_a_fact_is_malformed_and_changes_nothing) {
  claim();
  const std::string before = known(state_);
  const NewEntry entry = must(to_entry(completed("k1"), ms(100)));
  const std::string data(entry.data.view());
  std::string no_result = data;
  no_result.replace(data.find(R"({"paid":true})"), 13, "null");
  std::string ill_typed = data;
  ill_typed.replace(data.find("\"k1\""), 4, "1");
  fold("attempt_completed", no_result);
  fold("attempt_completed", ill_typed);
  fold("attempt_completed", "{}");
  fold("attempt_completed", data.substr(0, data.size() / 2));
  fold("attempt_forgotten", data);
  EXPECT_EQ(known(state_), before);
  EXPECT_EQ(reasons(state_), Reasons(5, "malformed_entry"));
  for (const Anomaly& anomaly : state_.anomalies()) {
    EXPECT_EQ(anomaly.at, ms(100));
    EXPECT_FALSE(anomaly.detail.empty());
  }
  EXPECT_EQ(state_.anomalies().back().entry_type.view(), "attempt_forgotten");
}

}  // namespace
}  // namespace holdfast::dispatch_rules_test
