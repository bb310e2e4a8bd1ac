#include "runs/dispatch/dispatch_decide.h"

#include <gtest/gtest.h>

#include "tests/support/dispatch_fact_samples.h"
#include "tests/support/must.h"

namespace holdfast::dispatch_decide_test {
namespace {

// What was decided, as one word: "fact", "nothing new" or the code of the refusal.
template <typename Fact>
std::string word(const Result<std::optional<Fact>>& decided) {
  if (!decided.ok()) {
    return code_of(decided);
  }
  return decided.value().has_value() ? "fact" : "nothing new";
}

class Decide : public testing::Test {
 protected:
  static Claimant claimant(std::string_view id = "c1", std::string_view secret = "secret") {
    return {SharedText(id), token(secret), "worker", {}};
  }
  static ClaimProof proof(std::string_view key = "k1", std::string_view id = "c1",
                          std::string_view secret = "secret") {
    return {run_no(1), SharedText(key), SharedText(id), token(secret)};
  }
  static Completion completion() { return {completed("k1").result, {}, {}}; }
  static Payload error() { return failed("k1").error; }

  void take(std::int64_t at, const DispatchFact& fact) {
    const std::size_t anomalies = state_.anomalies().size();
    state_.evolve(ms(at), fact);
    EXPECT_EQ(state_.anomalies().size(), anomalies);
  }
  // k1 is visible from 100, claimed by c1 at 100 until 200.
  void schedule() { take(0, scheduled("k1")); }
  void claim() {
    schedule();
    take(100, claimed("k1", 200));
  }

  // The three that need a proof, as words.
  std::vector<std::string> by_proof(const ClaimProof& with, std::int64_t now) {
    return {code_of(decide_heartbeat(state_, with, ms(now))),
            word(decide_complete(state_, with, completion(), ms(now))),
            word(decide_fail(state_, with, error(), std::nullopt, ms(now)))};
  }
  static std::vector<std::string> all(const std::string& code) { return {code, code, code}; }

  DispatchProjection state_{kDefaultQueue};
};

TEST_F(Decide, an_intent_is_scheduled_once) {
  const auto first = decide_schedule(state_, scheduled("k1"), ms(0));
  ASSERT_EQ(word(first), "fact");
  EXPECT_EQ(*first.value(), scheduled("k1"));
  take(0, *first.value());
  EXPECT_EQ(word(decide_schedule(state_, scheduled("k1"), ms(5))), "nothing new");
}

TEST_F(Decide, an_intent_is_refused_with_the_rule_it_breaks) {
  schedule();
  EXPECT_EQ(word(decide_schedule(state_, scheduled("k1", 7), ms(0))),
            "conflicting_runnable_intent");
  AttemptScheduled elsewhere = scheduled("k1");
  elsewhere.queue = "mail";
  EXPECT_EQ(word(decide_schedule(state_, elsewhere, ms(0))), "wrong_queue");
  state_.end_run(run_no(1));
  EXPECT_EQ(word(decide_schedule(state_, scheduled("k2"), ms(0))), "terminal_run");
}

TEST_F(Decide, a_refusal_says_what_it_is_about) {
  schedule();
  const auto refused = decide_schedule(state_, scheduled("k1", 7), ms(0));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field("runnable_key"), "k1");
  EXPECT_EQ(refused.error().field("run_id"), to_string(run_no(1)));
  EXPECT_EQ(refused.error().field("reason"), "conflicting_runnable_intent");
  EXPECT_FALSE(refused.error().message().empty());
}

TEST_F(Decide, the_next_claim_takes_what_is_visible) {
  schedule();
  EXPECT_FALSE(decide_claim_next(state_, claimant(), ms(99)).has_value());
  const auto fact = decide_claim_next(state_, claimant(), ms(100));
  ASSERT_TRUE(fact.has_value());
  EXPECT_EQ(*fact, claimed("k1", 100 + static_cast<std::int64_t>(kDefaultLeaseMs)));
}

TEST_F(Decide, the_next_claim_is_of_a_handler_the_worker_has) {
  schedule();
  Claimant other = claimant();
  other.handlers = {"refund"};
  EXPECT_FALSE(decide_claim_next(state_, other, ms(100)).has_value());
  other.handlers = {"refund", "charge"};
  EXPECT_TRUE(decide_claim_next(state_, other, ms(100)).has_value());
}

TEST_F(Decide, the_next_claim_replaces_an_expired_one) {
  claim();
  state_.advance(ms(199));
  EXPECT_FALSE(decide_claim_next(state_, claimant("c2"), ms(199)).has_value());
  state_.advance(ms(200));
  const auto fact = decide_claim_next(state_, claimant("c2"), ms(200));
  ASSERT_TRUE(fact.has_value());
  EXPECT_EQ(fact->claim_id.view(), "c2");
}

TEST_F(Decide, a_claim_lasts_for_the_lease_of_the_intent) {
  AttemptScheduled intent = scheduled("k1");
  intent.policy.claim.lease_ms = 77;
  take(0, intent);
  EXPECT_EQ(must(decide_claim(state_, "k1", claimant(), ms(100))).lease_until, ms(177));
}

TEST_F(Decide, a_lease_too_long_for_the_clock_is_cut_to_the_longest) {
  for (const std::uint64_t lease_ms :
       {std::uint64_t{INT64_MAX} - 50, std::uint64_t{INT64_MAX} + 1, UINT64_MAX}) {
    DispatchProjection state(kDefaultQueue);
    AttemptScheduled intent = scheduled("k1");
    intent.policy.claim.lease_ms = lease_ms;
    state.evolve(ms(0), intent);
    const auto fact = decide_claim_next(state, claimant(), ms(100));
    ASSERT_TRUE(fact.has_value()) << lease_ms;
    EXPECT_EQ(fact->lease_until, ms(100 + static_cast<std::int64_t>(kMaxLeaseMs)));
  }
}

TEST_F(Decide, a_named_claim_is_refused_with_the_rule_it_breaks) {
  const auto code = [&](std::string_view key, std::int64_t now) {
    return code_of(decide_claim(state_, key, claimant("c2"), ms(now)));
  };
  schedule();
  EXPECT_EQ(code("k2", 100), "unknown_runnable_intent");
  EXPECT_EQ(code("k1", 99), "attempt_not_visible");
  EXPECT_EQ(code("k1", 100), "ok");
  take(100, claimed("k1", 200));
  EXPECT_EQ(code("k1", 199), "active_claim");
  EXPECT_EQ(code("k1", 200), "ok");
  take(150, completed("k1"));
  EXPECT_EQ(code("k1", 200), "terminal_attempt");
  state_.end_run(run_no(1));
  EXPECT_EQ(code("k1", 200), "terminal_run");
}

TEST_F(Decide, the_holder_of_the_claim_may_continue) {
  claim();
  AttemptHeartbeat beat = heartbeat("k1", 150 + static_cast<std::int64_t>(kDefaultLeaseMs));
  EXPECT_EQ(must(decide_heartbeat(state_, proof(), ms(150))), beat);
  EXPECT_EQ(*must(decide_complete(state_, proof(), completion(), ms(150))), completed("k1"));
  EXPECT_EQ(*must(decide_fail(state_, proof(), error(), std::nullopt, ms(150))), failed("k1"));
  EXPECT_EQ(*must(decide_fail(state_, proof(), error(), Retry{"k2", ms(400)}, ms(150))),
            failed_with_retry("k1", "k2", 400));
}

TEST_F(Decide, a_wrong_token_or_claim_is_stale_claim) {
  claim();
  EXPECT_EQ(by_proof(proof("k1", "c1", "guess"), 150), all("stale_claim"));
  EXPECT_EQ(by_proof(proof("k1", "c2"), 150), all("stale_claim"));
  ClaimProof no_token = proof();
  no_token.token_hash = {};
  EXPECT_EQ(by_proof(no_token, 150), all("stale_claim"));
}

TEST_F(Decide, an_unclaimed_attempt_is_stale_claim) {
  schedule();
  EXPECT_EQ(by_proof(proof(), 150), all("stale_claim"));
}

TEST_F(Decide, after_the_lease_is_expired_claim) {
  claim();
  EXPECT_EQ(by_proof(proof(), 200), all("expired_claim"));
}

TEST_F(Decide, after_a_replacement_the_old_claim_is_stale) {
  claim();
  take(200, claimed("k1", 300, "c2", "other"));
  EXPECT_EQ(by_proof(proof(), 210), all("stale_claim"));
  EXPECT_EQ(by_proof(proof("k1", "c2", "other"), 210),
            (std::vector<std::string>{"ok", "fact", "fact"}));
}

TEST_F(Decide, an_unknown_attempt_is_unknown_runnable_intent) {
  claim();
  EXPECT_EQ(by_proof(proof("k2"), 150), all("unknown_runnable_intent"));
}

TEST_F(Decide, the_attempt_of_another_run_is_wrong_run) {
  claim();
  ClaimProof other = proof();
  other.run_id = run_no(2);
  EXPECT_EQ(by_proof(other, 150), all("wrong_run"));
}

TEST_F(Decide, an_ended_run_is_terminal_run) {
  claim();
  state_.end_run(run_no(1));
  EXPECT_EQ(by_proof(proof(), 150), all("terminal_run"));
}

TEST_F(Decide, the_same_completion_again_is_nothing_new) {
  claim();
  take(150, completed("k1"));
  EXPECT_EQ(word(decide_complete(state_, proof(), completion(), ms(160))), "nothing new");
  EXPECT_EQ(word(decide_complete(state_, proof(), completion(), ms(900))), "nothing new");
}

TEST_F(Decide, another_completion_is_conflicting_completion) {
  claim();
  take(150, completed("k1"));
  Completion other = completion();
  other.result = json("{}");
  EXPECT_EQ(word(decide_complete(state_, proof(), other, ms(160))), "conflicting_completion");
  EXPECT_EQ(word(decide_complete(state_, proof("k1", "c1", "guess"), completion(), ms(160))),
            "stale_claim");
}

TEST_F(Decide, a_completion_carries_all_that_was_said) {
  claim();
  Completion rich = completion();
  rich.execution_opts = json("[1]");
  const auto fact = must(decide_complete(state_, proof(), rich, ms(150)));
  EXPECT_EQ(fact->execution_opts, json("[1]"));
}

TEST_F(Decide, the_same_failure_again_is_nothing_new) {
  claim();
  take(150, failed_with_retry("k1", "k2", 400));
  const Retry retry{"k2", ms(400)};
  EXPECT_EQ(word(decide_fail(state_, proof(), error(), retry, ms(160))), "nothing new");
  EXPECT_EQ(word(decide_fail(state_, proof(), error(), retry, ms(900))), "nothing new");
  EXPECT_EQ(word(decide_fail(state_, proof(), json("{}"), retry, ms(160))), "stale_claim");
  EXPECT_EQ(word(decide_fail(state_, proof("k1", "c1", "guess"), error(), retry, ms(160))),
            "stale_claim");
  EXPECT_EQ(word(decide_complete(state_, proof(), completion(), ms(160))), "stale_claim");
}

TEST_F(Decide, a_retry_with_the_key_of_another_attempt_is_refused) {
  claim();
  take(110, scheduled("k2"));
  EXPECT_EQ(word(decide_fail(state_, proof(), error(), Retry{"k2", ms(400)}, ms(150))),
            "conflicting_runnable_intent");
}

TEST_F(Decide, a_wakeup_is_for_a_known_attempt_of_a_living_run) {
  schedule();
  EXPECT_EQ(must(decide_wakeup(state_, "k1", ms(100))), wakeup("k1"));
  EXPECT_EQ(code_of(decide_wakeup(state_, "k2", ms(100))), "unknown_runnable_intent");
  state_.end_run(run_no(1));
  EXPECT_EQ(code_of(decide_wakeup(state_, "k1", ms(100))), "terminal_run");
}

}  // namespace
}  // namespace holdfast::dispatch_decide_test
