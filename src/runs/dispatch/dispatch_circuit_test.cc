// Circuit breakers: when they open, what they let through, and that they survive everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/dispatch/dispatch_decide.h"
#include "tests/support/dispatch_fact_samples.h"

namespace holdfast::dispatch_circuit_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kProbeAfter = 1000;
const StepType kCharge{"pay", "charge"};

class CircuitTest : public ::testing::Test {
 protected:
  CircuitTest() { state_->set_undo(&undo_); }

  void add(std::string_view key, std::string_view step = "charge", std::uint32_t failures = 2) {
    AttemptScheduled fact = scheduled(key, 0);
    fact.workflow = "pay";
    fact.step = step;
    fact.handler = "h";
    fact.policy.circuit = {failures, failures == 0 ? 0 : std::uint32_t{kProbeAfter}};
    state_->evolve(ms(0), fact);
  }
  // The attempt that a worker gets at that time; empty: none.
  std::string claim(std::int64_t now, std::int64_t lease_until) {
    state_->advance(ms(now));
    const Attempt* next = state_->next_claimable({}, ms(now));
    if (next == nullptr) {
      return "";
    }
    const std::string key = next->runnable_key.str();
    state_->evolve(ms(now), claimed(key, lease_until, "c-" + key + std::to_string(now)));
    claims_[key] = "c-" + key + std::to_string(now);
    if (const auto probed = decide_circuit_probed(*state_, key, ms(now))) {
      state_->evolve(ms(now), *probed);
    }
    return key;
  }
  void fail(std::string_view key, std::int64_t now, std::string_view code = "down") {
    AttemptFailed fact = failed(key, claims_[std::string(key)]);
    fact.error = json(R"({"code":")" + std::string(code) + "\"}");
    state_->evolve(ms(now), fact);
    if (const auto opened = decide_circuit_opened(*state_, key, ms(now))) {
      state_->evolve(ms(now), *opened);
    }
  }
  void complete(std::string_view key, std::int64_t now) {
    state_->evolve(ms(now), completed(key, claims_[std::string(key)]));
    if (const auto closed = decide_circuit_closed(*state_, key, ms(now))) {
      state_->evolve(ms(now), *closed);
    }
  }
  // Two attempts fail at 10 and 20, so that the circuit is open until a probe at 1020.
  void open() {
    for (const char* key : {"a", "b", "c", "d"}) {
      add(key);
    }
    EXPECT_EQ(claim(1, 5000), "a");
    EXPECT_EQ(claim(1, 5000), "b");
    fail("a", 10);
    fail("b", 20);
  }
  [[nodiscard]] bool is_open() const {
    const Circuit* circuit = state_->find_circuit(kCharge);
    return circuit != nullptr && circuit->is_open();
  }
  std::int64_t next_change(std::int64_t now) {
    return state_->next_change({}, ms(now)).value_or(ms(-1)).value;
  }
  void restart() {
    auto again = DispatchProjection::decode(state_->encode());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again.value()->encode(), state_->encode());
    state_ = std::move(again).value();
  }

  UndoLog undo_;
  std::unique_ptr<DispatchProjection> state_ = std::make_unique<DispatchProjection>(kDefaultQueue);
  std::map<std::string, std::string> claims_;
};

TEST_F(CircuitTest, opens_after_consecutive_failures) {
  open();
  EXPECT_TRUE(is_open());
  EXPECT_EQ(claim(20, 5000), "");
  EXPECT_EQ(claim(1019, 5000), "");
  EXPECT_EQ(next_change(20), 1020);
  EXPECT_THAT(reasons(*state_), IsEmpty());
}

TEST_F(CircuitTest, a_success_resets_the_count) {
  for (const char* key : {"a", "b", "c", "d"}) {
    add(key);
    claim(1, 5000);
  }
  fail("a", 10);
  complete("b", 20);
  fail("c", 30);
  EXPECT_FALSE(is_open());
  fail("d", 40);
  EXPECT_TRUE(is_open());
}

TEST_F(CircuitTest, an_operator_closes_it) {
  EXPECT_FALSE(decide_circuit_reset(*state_, kCharge, "ann", "").has_value()) << "it is closed";
  open();
  EXPECT_EQ(claim(1019, 5000), "");
  const auto reset = decide_circuit_reset(*state_, kCharge, "ann", "repaired");
  ASSERT_TRUE(reset.has_value());
  EXPECT_EQ(reset->actor, "ann");
  EXPECT_EQ(reset->reason, "repaired");
  const UndoLog::Mark before = undo_.mark();
  const std::string encoded = state_->encode();
  state_->evolve(ms(1019), *reset);
  EXPECT_THAT(state_->circuits(), IsEmpty());
  undo_.roll_back_to(before);
  EXPECT_EQ(state_->encode(), encoded);
  state_->evolve(ms(1019), *reset);
  restart();
  EXPECT_EQ(claim(1019, 5000), "c");
  EXPECT_EQ(claim(1019, 5000), "d");
  fail("c", 1020);
  EXPECT_FALSE(is_open()) << "failures are counted from the reset on";
  fail("d", 1021);
  EXPECT_TRUE(is_open());
  EXPECT_THAT(reasons(*state_), IsEmpty());
}

TEST_F(CircuitTest, the_probe_of_a_breaker_that_an_operator_closed_is_an_attempt_like_others) {
  open();
  EXPECT_EQ(claim(1020, 5000), "c");
  state_->evolve(ms(1030), *decide_circuit_reset(*state_, kCharge, "ann", ""));
  EXPECT_EQ(claim(1030, 5000), "d");
  fail("c", 1040);
  EXPECT_FALSE(is_open());
  complete("d", 1050);
  EXPECT_THAT(state_->circuits(), IsEmpty());
  EXPECT_THAT(reasons(*state_), IsEmpty());
}

TEST_F(CircuitTest, one_attempt_probes) {
  open();
  EXPECT_EQ(claim(1020, 5000), "c");
  EXPECT_EQ(claim(1020, 5000), "");
  EXPECT_EQ(claim(4999, 6000), "");
  complete("c", 4999);
  EXPECT_FALSE(is_open());
  EXPECT_EQ(claim(4999, 9000), "d");
  EXPECT_THAT(state_->circuits(), IsEmpty());
}

TEST_F(CircuitTest, a_probe_that_fails_opens_it_again) {
  open();
  EXPECT_EQ(claim(1020, 5000), "c");
  fail("c", 1100);
  EXPECT_EQ(claim(2099, 5000), "");
  EXPECT_EQ(claim(2100, 5000), "d");
  EXPECT_EQ(state_->find_circuit(kCharge)->opened_at, ms(20));
  EXPECT_EQ(state_->find_circuit(kCharge)->failures, 3U);
}

TEST_F(CircuitTest, a_probe_whose_lease_ends_makes_way_for_another) {
  open();
  EXPECT_EQ(claim(1020, 1500), "c");
  EXPECT_EQ(claim(1499, 5000), "");
  EXPECT_EQ(next_change(1499), 1500);
  EXPECT_EQ(claim(1500, 5000), "c");
  EXPECT_EQ(claim(1500, 5000), "");
  fail("c", 1600);
  EXPECT_EQ(claim(2600, 5000), "d");
  EXPECT_THAT(reasons(*state_), IsEmpty());
}

TEST_F(CircuitTest, a_probe_whose_run_ends_makes_way_for_another) {
  open();
  AttemptScheduled other = scheduled("x", 0);
  other.run_id = run_no(2);
  other.workflow = "pay";
  other.handler = "h";
  other.policy.circuit = {2, std::uint32_t{kProbeAfter}};
  state_->evolve(ms(0), other);
  EXPECT_EQ(claim(1020, 5000), "c");
  state_->end_run(run_no(1));
  EXPECT_EQ(state_->next_claimable({}, ms(1030))->runnable_key, "x");
  state_->forget_run(run_no(1));
  EXPECT_EQ(state_->next_claimable({}, ms(1030))->runnable_key, "x");
}

TEST_F(CircuitTest, failures_that_no_worker_had_do_not_count) {
  open();
  complete(claim(1020, 5000), 1030);
  add("e");
  EXPECT_EQ(claim(1040, 5000), "d");
  EXPECT_EQ(claim(1040, 5000), "e");
  fail("d", 1050, "schedule_to_start_timeout");
  fail("e", 1060);
  EXPECT_FALSE(is_open());
}

TEST_F(CircuitTest, a_late_failure_does_not_move_the_probe) {
  for (const char* key : {"a", "b", "c"}) {
    add(key);
    claim(1, 5000);
  }
  add("d");
  fail("a", 10);
  fail("b", 20);
  fail("c", 900);
  EXPECT_EQ(claim(1020, 5000), "d");
}

TEST_F(CircuitTest, any_success_of_the_type_closes_it) {
  for (const char* key : {"a", "b", "c"}) {
    add(key);
    claim(1, 5000);
  }
  add("d");
  fail("a", 10);
  fail("b", 20);
  complete("c", 30);
  EXPECT_FALSE(is_open());
  EXPECT_EQ(claim(30, 5000), "d");
}

TEST_F(CircuitTest, visits_and_items_are_of_the_same_type_and_other_steps_are_not) {
  add("a", "charge[1]");
  add("b", "charge@2");
  add("c", "charge");
  add("d", "refund");
  add("e", "charge", 0);
  EXPECT_EQ(claim(1, 5000), "a");
  EXPECT_EQ(claim(1, 5000), "b");
  fail("a", 10);
  fail("b", 20);
  EXPECT_EQ(claim(30, 5000), "d");
  EXPECT_EQ(claim(30, 5000), "e");  // its definition has no circuit breaker
  EXPECT_EQ(claim(30, 5000), "");
}

TEST_F(CircuitTest, survives_a_restart_in_every_state) {
  open();
  restart();
  EXPECT_EQ(claim(1019, 5000), "");
  EXPECT_EQ(claim(1020, 5000), "c");
  restart();
  EXPECT_EQ(claim(1030, 5000), "");
  fail("c", 1040);
  restart();
  EXPECT_EQ(claim(2039, 5000), "");
  EXPECT_EQ(claim(2040, 5000), "d");
}

TEST_F(CircuitTest, every_change_can_be_undone) {
  std::vector<std::pair<UndoLog::Mark, std::string>> seen;
  const auto look = [&] { seen.emplace_back(undo_.mark(), state_->encode()); };
  look();
  open();
  look();
  EXPECT_EQ(claim(1020, 5000), "c");
  look();
  fail("c", 1100);
  look();
  EXPECT_EQ(claim(2100, 5000), "d");
  look();
  complete("d", 2200);
  while (!seen.empty()) {
    undo_.roll_back_to(seen.back().first);
    EXPECT_EQ(state_->encode(), seen.back().second);
    seen.pop_back();
  }
}

TEST_F(CircuitTest, what_waits_behind_it_is_counted_apart) {
  open();
  auto waiting = state_->waiting(ms(20))["h"];
  EXPECT_EQ(waiting.visible, 0U);
  EXPECT_EQ(waiting.held_back, 2U);
  EXPECT_EQ(waiting.next_at, ms(1020));
  waiting = state_->waiting(ms(1020))["h"];
  EXPECT_EQ(waiting.visible, 1U);
  EXPECT_EQ(waiting.held_back, 1U);
  EXPECT_EQ(waiting.first->runnable_key, "c");
}

// Every fact about a circuit in every state of it.
TEST_F(CircuitTest, facts_that_do_not_fit_the_state_are_anomalies) {
  add("a");
  add("b");
  add("c");
  const auto refused = [&](const auto& fact, std::int64_t at) {
    const Verdict verdict = judge(*state_, ms(at), fact);
    return verdict.kind == Verdict::Kind::refuse   ? std::string(to_text(verdict.reason))
           : verdict.kind == Verdict::Kind::repeat ? "repeat"
                                                   : "accept";
  };
  CircuitOpened opened{run_no(1), "a", kDefaultQueue, "pay", "charge", 2, ms(9000), {}};
  CircuitProbed probed{run_no(1), "c", "c-c1020", kDefaultQueue, "pay", "charge"};
  CircuitClosed closed{run_no(1), "c", kDefaultQueue, "pay", "charge"};
  const auto verdicts = [&](std::int64_t at) {
    return refused(opened, at) + " " + refused(probed, at) + " " + refused(closed, at);
  };
  const std::string none = "wrong_circuit_state wrong_circuit_state wrong_circuit_state";
  EXPECT_EQ(verdicts(1), none);
  claim(1, 5000);
  claim(1, 5000);
  fail("a", 10);
  EXPECT_EQ(verdicts(10), none);  // one failure is not enough
  opened.runnable_key = "b";
  state_->evolve(ms(20), failed("b", "c-b1"));
  EXPECT_EQ(verdicts(20), "accept wrong_circuit_state wrong_circuit_state");
  opened.probe_at = ms(20);
  EXPECT_EQ(refused(opened, 20), "malformed_entry");
  opened.probe_at = ms(1020);
  state_->evolve(ms(20), opened);
  EXPECT_EQ(verdicts(20), "repeat wrong_circuit_state wrong_circuit_state");
  state_->evolve(ms(1019), claimed("c", 5000, "c-c1020"));
  EXPECT_EQ(refused(probed, 1019), "wrong_circuit_state");  // before its time
  EXPECT_EQ(refused(probed, 1020), "accept");
  state_->evolve(ms(1020), probed);
  EXPECT_EQ(refused(probed, 1020), "repeat");
  EXPECT_EQ(refused(closed, 1020), "wrong_circuit_state");
  claims_["c"] = "c-c1020";
  state_->evolve(ms(1030), completed("c", "c-c1020"));
  EXPECT_EQ(refused(closed, 1030), "accept");
  state_->evolve(ms(1030), closed);
  EXPECT_EQ(verdicts(1030), "wrong_circuit_state wrong_circuit_state repeat");
  closed.step = "refund";
  EXPECT_EQ(refused(closed, 1030), "malformed_entry");
  closed.runnable_key = "nowhere";
  EXPECT_EQ(refused(closed, 1030), "unknown_runnable_intent");
  state_->end_run(run_no(1));
  EXPECT_EQ(verdicts(1040), "terminal_run terminal_run unknown_runnable_intent");
}

}  // namespace
}  // namespace holdfast::dispatch_circuit_test
