// Claims in the core: granted once durable, kept alive, lost, replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace holdfast::engine_claim_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ClaimTest : public CoreTest {};

TEST_F(ClaimTest, a_claim_is_granted_only_when_it_is_durable) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  const auto worker = core.worker();
  core.decide();
  EXPECT_EQ(worker->calls, 0);
  core.write();
  ASSERT_EQ(worker->code(), "ok");
  EXPECT_EQ(worker->assignment().step, SharedText("a"));
  EXPECT_EQ(worker->assignment().lease_until, after(kStart, 30'000));
}

TEST_F(ClaimTest, a_claim_request_that_lost_the_race_keeps_its_turn) {
  TestCore& mine = open();
  TestCore& other = open();
  mine.start(start_of(1, one_));
  mine.settle();
  other.core.check_for_changes();
  other.settle();
  const auto first = mine.worker();
  const auto second = mine.worker();
  mine.decide();
  const auto thief = other.worker();
  other.settle();
  ASSERT_EQ(thief->code(), "ok");
  mine.settle();
  EXPECT_EQ(first->calls + second->calls, 0);
  EXPECT_TRUE(mine.core.has_waiters());

  mine.start(start_of(2, one_));
  mine.settle();
  ASSERT_EQ(first->code(), "ok") << "the oldest request is served first";
  EXPECT_EQ(first->assignment().run_id, run_no(2));
  EXPECT_EQ(second->calls, 0);
}

TEST_F(ClaimTest, a_withdrawn_claim_request_gets_nothing) {
  TestCore& core = open();
  const auto worker = core.worker();
  EXPECT_TRUE(core.core.withdraw_request(worker->waiting));
  EXPECT_FALSE(core.core.withdraw_request(worker->waiting));
  core.start(start_of(1, one_));
  core.settle();
  EXPECT_EQ(worker->calls, 0);
  EXPECT_FALSE(core.core.has_waiters());
}

TEST_F(ClaimTest, a_worker_gets_only_what_it_can_execute) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  const auto other = core.worker({SharedText("something_else")});
  core.settle();
  EXPECT_EQ(other->calls, 0);
  const auto able = core.worker({SharedText("a"), SharedText("b")});
  core.settle();
  EXPECT_EQ(able->code(), "ok");
}

TEST_F(ClaimTest, a_held_claim_gets_a_heartbeat_at_every_third_of_its_lease) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"a","lease_ms":900}])")));
  const auto worker = core.worker();
  core.settle();
  for (int beat = 1; beat <= 10; ++beat) {
    ASSERT_EQ(core.core.next_timer(clock_.now()), after(kStart, 300 * beat));
    clock_.advance_ms(299);
    EXPECT_FALSE(core.core.has_work(clock_.now()));
    clock_.advance_ms(1);
    EXPECT_TRUE(core.core.has_work(clock_.now()));
    core.settle();
    const Attempt* attempt = core.core.state()
                                 .queues()
                                 .get(kDefaultQueue)
                                 .find(worker->assignment().runnable_key.view());
    ASSERT_EQ(attempt->claim->lease_until, after(kStart, 300 * beat + 900));
  }
  EXPECT_EQ(core.commits(), 1U + 10U);
  core.core.drop(worker->assignment().claim_id);
  EXPECT_EQ(core.core.next_timer(clock_.now()), after(kStart, 3000 + 900)) << "the lease expires";
  clock_.advance_ms(900);
  core.settle();
  EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt);
  EXPECT_EQ(core.commits(), 1U + 10U);
}

TEST_F(ClaimTest, progress_is_stored_at_once_and_then_at_most_once_a_second) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"a","lease_ms":30000}])")));
  const auto worker = core.worker();
  core.settle();
  const SharedText claim = worker->assignment().claim_id;
  const auto stored = [&] {
    const auto& key = worker->assignment().runnable_key;
    return core.core.state().queues().get(kDefaultQueue).find(key.view())->claim->progress.view();
  };
  clock_.advance_ms(2000);
  for (const char* progress : {"1", "2", "3"}) {
    core.core.set_progress(claim, Payload::trusted(progress));
    core.settle();
  }
  EXPECT_EQ(stored(), "1");
  EXPECT_EQ(core.core.next_timer(clock_.now()), after(kStart, 3000));
  clock_.advance_ms(1000);
  core.settle();
  EXPECT_EQ(stored(), "3");
  EXPECT_EQ(core.core.next_timer(clock_.now()), after(kStart, 3000 + 10'000));
  core.core.drop(claim);
  core.core.set_progress(claim, Payload::trusted("4"));
  core.settle();
  EXPECT_EQ(stored(), "3") << "progress of a lost claim is not stored";
}

TEST_F(ClaimTest, a_heartbeat_that_lost_the_race_is_sent_again) {
  TestCore& mine = open();
  TestCore& other = open();
  mine.start(start_of(1, definition_of(R"([{"name":"a","lease_ms":900}])")));
  const auto worker = mine.worker();
  mine.settle();
  clock_.advance_ms(300);
  mine.decide();
  other.start(start_of(2, one_));
  other.settle();
  mine.settle();
  EXPECT_EQ(mine.core.state()
                .queues()
                .get(kDefaultQueue)
                .find(worker->assignment().runnable_key.view())
                ->claim->lease_until,
            after(kStart, 1200));
  EXPECT_THAT(worker->lost, IsEmpty());
  EXPECT_EQ(mine.core.next_timer(clock_.now()), after(kStart, 600));
}

TEST_F(ClaimTest, a_claim_that_was_replaced_is_reported_lost_once) {
  TestCore& mine = open();
  TestCore& other = open();
  mine.start(start_of(1, definition_of(R"([{"name":"a","lease_ms":900}])")));
  const auto worker = mine.worker();
  mine.settle();
  // This process paused for longer than its lease.
  clock_.advance_ms(2000);
  other.core.check_for_changes();
  const auto heir = other.worker();
  other.settle();
  ASSERT_EQ(heir->code(), "ok");
  EXPECT_EQ(heir->assignment().idempotency_key, worker->assignment().idempotency_key);

  mine.settle();
  EXPECT_THAT(worker->lost, ElementsAre("expired_claim"));
  mine.core.check_for_changes();
  mine.settle();
  const auto late = mine.complete(proof_of(worker->assignment()), completion());
  mine.settle();
  EXPECT_EQ(late->code(), "stale_claim");
  EXPECT_THAT(worker->lost, SizeIs(1));
  EXPECT_EQ(mine.core.next_timer(clock_.now()), heir->assignment().lease_until);
  const auto good = other.complete(proof_of(heir->assignment()), completion());
  other.settle();
  EXPECT_EQ(good->code(), "ok");
}

TEST_F(ClaimTest, the_claim_of_a_cancelled_run_is_reported_lost) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  const auto worker = core.worker();
  core.settle();
  const auto cancelled = core.cancel(run_no(1));
  core.settle();
  EXPECT_EQ(cancelled->code(), "ok");
  clock_.advance_ms(10'000);
  core.settle();
  EXPECT_THAT(worker->lost, ElementsAre("terminal_run"));
  const auto late = core.complete(proof_of(worker->assignment()), completion());
  core.settle();
  EXPECT_EQ(late->code(), "terminal_run");
  EXPECT_EQ(core.core.state().runs().count(), 0U);
  EXPECT_EQ(core.core.state().encode(), folded_anew());
}

TEST_F(ClaimTest, the_next_timer_is_the_exact_time_an_attempt_becomes_visible) {
  TestCore& core = open();
  core.start(
      start_of(1, definition_of(R"([{"name":"a","retry":{"max_attempts":2,"delay_ms":1234}}])")));
  const auto first = core.worker();
  core.settle();
  core.core.drop(first->assignment().claim_id);
  core.fail(proof_of(first->assignment()), failure());
  core.settle();
  EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt) << "no claim request waits for it";

  const auto second = core.worker();
  core.settle();
  ASSERT_EQ(core.core.next_timer(clock_.now()), after(kStart, 1234));
  clock_.advance_ms(1233);
  core.settle();
  EXPECT_EQ(second->calls, 0);
  clock_.advance_ms(1);
  core.settle();
  ASSERT_EQ(second->code(), "ok");
  EXPECT_EQ(second->assignment().attempt_number, 2U);
}

TEST_F(ClaimTest, the_next_timer_is_the_exact_time_an_abandoned_lease_expires) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"a","lease_ms":900}])")));
  const auto dead = core.worker();
  core.settle();
  core.core.drop(dead->assignment().claim_id);
  const auto heir = core.worker();
  core.settle();
  ASSERT_EQ(core.core.next_timer(clock_.now()), after(kStart, 900));
  clock_.advance_ms(899);
  core.settle();
  EXPECT_EQ(heir->calls, 0);
  clock_.advance_ms(1);
  core.settle();
  ASSERT_EQ(heir->code(), "ok");
  EXPECT_EQ(heir->assignment().runnable_key, dead->assignment().runnable_key);
}

TEST_F(ClaimTest, a_timer_that_serves_no_claim_request_does_not_spin) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"a","lease_ms":900}])")));
  const auto dead = core.worker();
  core.settle();
  core.core.drop(dead->assignment().claim_id);
  // It cannot execute the step whose lease expires.
  core.worker({SharedText("other")});
  core.settle();
  clock_.advance_ms(1000);
  core.settle();
  EXPECT_FALSE(core.core.has_work(clock_.now()));
}

TEST_F(ClaimTest, a_chain_of_steps_costs_one_commit_each_and_one_for_the_start) {
  TestCore& core = open();
  const auto started = core.start(start_of(
      1, definition_of(R"([{"name":"a"},{"name":"b","after":["a"]},{"name":"c","after":["b"]}])")));
  auto worker = core.worker();
  core.settle();
  EXPECT_EQ(core.commits(), 1U);
  for (const char* step : {"a", "b", "c"}) {
    ASSERT_EQ(worker->code(), "ok");
    ASSERT_EQ(worker->assignment().step, SharedText(step));
    core.core.drop(worker->assignment().claim_id);
    const auto done = core.complete(proof_of(worker->assignment()), completion());
    worker = core.worker();
    core.settle();
    EXPECT_EQ(done->code(), "ok");
  }
  EXPECT_EQ(core.commits(), 3U + 1U);
  EXPECT_EQ(core.core.state().runs().count(), 0U);
  EXPECT_EQ(core.core.state().queues().attempt_count(), 0U);
  EXPECT_EQ(core.core.state().encode(), folded_anew());
}

TEST_F(ClaimTest, a_report_lists_new_attempts_that_were_not_claimed) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  core.start(start_of(2, one_));
  core.worker();
  core.settle();
  ASSERT_THAT(core.reports, SizeIs(1));
  ASSERT_THAT(core.reports[0].wakeups, SizeIs(1));
  EXPECT_EQ(core.reports[0].wakeups[0].run_id, run_no(2));
}

// Two runs wait at the step; the failure of the first opens the circuit breaker.
class CircuitTest : public ClaimTest {
 protected:
  TestCore& open_circuit() {
    TestCore& core = open();
    const auto guarded =
        definition_of(R"([{"name":"a","circuit_breaker":{"failures":1,"probe_after_ms":5000}}])");
    for (int run = 1; run <= 3; ++run) {
      core.start(start_of(run, guarded));
      core.settle();
    }
    const auto worker = core.worker();
    core.settle();
    core.fail(proof_of(worker->assignment()), failure());
    core.settle();
    return core;
  }
};

TEST_F(CircuitTest, a_waiting_worker_is_woken_when_a_probe_is_due) {
  TestCore& core = open_circuit();
  const auto probe = core.worker();
  const auto other = core.worker();
  core.settle();
  EXPECT_EQ(probe->calls, 0);
  EXPECT_EQ(core.core.next_timer(clock_.now()), after(kStart, 5000));
  clock_.advance_ms(4999);
  EXPECT_FALSE(core.core.has_work(clock_.now()));
  clock_.advance_ms(1);
  EXPECT_TRUE(core.core.has_work(clock_.now()));
  core.settle();
  ASSERT_EQ(probe->code(), "ok");
  EXPECT_EQ(other->calls, 0);
  core.complete(proof_of(probe->assignment()), completion());
  core.settle();
  EXPECT_EQ(other->code(), "ok") << "the success closes the circuit breaker";
}

TEST_F(CircuitTest, every_process_knows_it) {
  TestCore& core = open_circuit();
  TestCore& late = open();
  const auto worker = late.worker();
  late.settle();
  EXPECT_EQ(worker->calls, 0);
  EXPECT_EQ(late.core.next_timer(clock_.now()), after(kStart, 5000));
  clock_.advance_ms(5000);
  late.settle();
  ASSERT_EQ(worker->code(), "ok");
  core.core.check_for_changes();
  const auto second = core.worker();
  core.settle();
  EXPECT_EQ(second->calls, 0) << "another process has the probe";
}

}  // namespace
}  // namespace holdfast::engine_claim_test
