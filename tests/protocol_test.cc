// The promises of the protocol, one test each, tested with the journal, the folds and the decisions
// alone. docs/protocol-tests.md maps promises to tests; tests/protocol_engine_test.cc has those
// that need an engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/dispatch/dispatch_decide.h"
#include "runs/run/run_decide.h"
#include "tests/support/run_fact_samples.h"
#include "tests/support/test_log.h"

namespace holdfast::protocol_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const ThreadId kQueueThread = dispatch_thread(kDefaultQueue);

// The stored facts, as a process that has just started reads them.
class ProtocolJournal : public testing::Test {
 protected:
  void append(TimeMs at, const DispatchFact& fact) {
    must(journal_->append(kQueueThread, {must(to_entry(fact, at))}));
  }
  std::unique_ptr<DispatchProjection> after_restart() {
    const auto journal = open_memory_journal(disk_);
    auto queue = std::make_unique<DispatchProjection>(kDefaultQueue);
    for (const Entry& entry : must(journal->load(kQueueThread))) {
      queue->fold(entry);
    }
    return queue;
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<Journal> journal_ = open_memory_journal(disk_);
};

TEST_F(ProtocolJournal, a_stale_append_is_a_conflict_and_writes_nothing) {
  append(ms(1), scheduled("a"));
  const auto stale = journal_->append(
      kQueueThread, {must(to_entry(DispatchFact(scheduled("b")), ms(1)))}, Revision{0});
  EXPECT_EQ(code_of(stale), "conflict");
  EXPECT_EQ(must(journal_->revision(kQueueThread)), Revision{1});
}

TEST_F(ProtocolJournal, a_checkpoint_is_stored_with_the_exact_revision_it_covers) {
  append(ms(1), scheduled("a"));
  append(ms(1), scheduled("b"));
  must(journal_->put_checkpoint(kQueueThread, {1, Revision{1}, "after one"}));
  const auto found = must(journal_->find_checkpoint(kQueueThread, 1));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->revision, Revision{1});
  EXPECT_THAT(must(journal_->load(kQueueThread, found->revision)), SizeIs(1));
}

TEST_F(ProtocolJournal, a_missing_or_stale_checkpoint_is_never_the_truth) {
  DispatchProjection half{kDefaultQueue};
  half.evolve(ms(1), scheduled("a"));
  append(ms(1), scheduled("a"));
  append(ms(100), claimed("a", 200));
  const std::string truth = after_restart()->encode();
  // A stale checkpoint is only a position to continue from.
  must(journal_->put_checkpoint(kQueueThread, {1, Revision{1}, half.encode()}));
  const auto stale = must(journal_->find_checkpoint(kQueueThread, 1));
  const auto queue = must(DispatchProjection::decode(stale->data));
  for (const Entry& entry : must(journal_->load(kQueueThread, stale->revision))) {
    queue->fold(entry);
  }
  EXPECT_EQ(queue->encode(), truth);
  // One that claims more entries than the thread has is rejected; without a checkpoint everything
  // is read.
  EXPECT_EQ(code_of(journal_->put_checkpoint(kQueueThread, {1, Revision{9}, "from elsewhere"})),
            "invalid_argument");
  must(journal_->delete_checkpoint(kQueueThread));
  EXPECT_EQ(after_restart()->encode(), truth);
}

TEST_F(ProtocolJournal, threads_are_append_only_and_entries_never_change) {
  append(ms(1), scheduled("a"));
  const std::string first(must(journal_->load(kQueueThread)).front().raw);
  append(ms(100), claimed("a", 200));
  append(ms(110), completed("a"));
  must(journal_->seal());
  const auto entries = must(open_memory_journal(disk_)->load(kQueueThread));
  EXPECT_THAT(entries, SizeIs(3));
  EXPECT_EQ(entries.front().raw, first);
}

TEST_F(ProtocolJournal, concurrent_appenders_must_expect_a_revision_or_be_serialized) {
  append(ms(1), scheduled("a"));
  const auto other = open_memory_journal(disk_);
  const auto claim = [](std::string_view by) {
    return std::vector{must(to_entry(DispatchFact(claimed("a", 200, by)), ms(100)))};
  };
  // Both writers have seen one entry: one of them wins.
  EXPECT_EQ(code_of(journal_->append(kQueueThread, claim("c1"), Revision{1})), "ok");
  EXPECT_EQ(code_of(other->append(kQueueThread, claim("c2"), Revision{1})), "conflict");
  // Without an expected revision the second is written after the first, and the fold refuses it.
  EXPECT_EQ(code_of(other->append(kQueueThread, claim("c2"))), "ok");
  const auto queue = after_restart();
  EXPECT_EQ(queue->find("a")->claim->claim_id, SharedText("c1"));
  EXPECT_THAT(reasons(*queue), ElementsAre("active_claim"));
}

TEST_F(ProtocolJournal, a_retry_and_the_time_it_becomes_visible_survive_a_restart) {
  append(ms(1), scheduled("a"));
  append(ms(100), claimed("a", 200));
  append(ms(110), failed_with_retry("a", "a2", 500));
  const auto queue = after_restart();
  ASSERT_NE(queue->find("a2"), nullptr);
  EXPECT_EQ(queue->find("a2")->status, AttemptStatus::retry_scheduled);
  EXPECT_THAT(visible(*queue, ms(499)), IsEmpty());
  EXPECT_THAT(keys(visible(*queue, ms(500))), ElementsAre("a2"));
}

TEST_F(ProtocolJournal, a_lost_wakeup_is_recovered_from_its_intent) {
  append(ms(1), scheduled("a"));
  EXPECT_THAT(keys(visible(*after_restart(), ms(100))), ElementsAre("a"));
}

TEST_F(ProtocolJournal, a_damaged_entry_is_an_error_and_is_never_replayed) {
  append(ms(1), scheduled("a"));
  journal_.reset();
  std::string& body = disk_->rows.begin()->second.body;
  body.replace(body.find("charge"), 6, "refund");
  EXPECT_EQ(code_of(Journal::open(open_memory_log(disk_))), "corrupt_log");
}

class ProtocolQueue : public testing::Test {
 protected:
  template <typename Fact>
  void expect_accepted(std::int64_t at, const Fact& fact) {
    queue_.evolve(ms(at), fact);
    EXPECT_THAT(reasons(queue_), IsEmpty()) << Fact::kKind;
  }
  template <typename Fact>
  void expect_repeat(std::int64_t at, const Fact& fact) {
    const std::string before = queue_.encode();
    queue_.evolve(ms(at), fact);
    EXPECT_EQ(queue_.encode(), before) << Fact::kKind;
  }
  // It changes nothing and is listed.
  template <typename Fact>
  void expect_anomaly(std::int64_t at, const Fact& fact, const std::string& reason) {
    const std::string before = known(queue_);
    const std::size_t anomalies = queue_.anomalies().size();
    queue_.evolve(ms(at), fact);
    EXPECT_EQ(known(queue_), before) << Fact::kKind;
    ASSERT_EQ(queue_.anomalies().size(), anomalies + 1) << Fact::kKind;
    EXPECT_EQ(reasons(queue_).back(), reason) << Fact::kKind;
    EXPECT_EQ(queue_.anomalies().back().entry_type, SharedText(Fact::kKind));
  }
  [[nodiscard]] TimeMs lease() const { return queue_.find("a")->claim->lease_until; }

  DispatchProjection queue_{kDefaultQueue};
};

// Attempt "a" is claimed by c1 until 200.
class ProtocolClaim : public ProtocolQueue {
 protected:
  void SetUp() override {
    expect_accepted(1, scheduled("a"));
    expect_accepted(100, claimed("a", 200));
  }
};

TEST_F(ProtocolQueue, a_duplicate_intent_whose_fields_match_is_idempotent) {
  expect_accepted(1, scheduled("a"));
  expect_repeat(2, scheduled("a"));
  EXPECT_FALSE(must(decide_schedule(queue_, scheduled("a"), ms(3))).has_value());
}

TEST_F(ProtocolQueue, conflicting_intents_for_one_runnable_key_are_anomalies) {
  expect_accepted(1, scheduled("a"));
  AttemptScheduled other = scheduled("a");
  other.input = json(R"({"amount":8})");
  expect_anomaly(2, other, "conflicting_runnable_intent");
  EXPECT_EQ(code_of(decide_schedule(queue_, other, ms(3))), "conflicting_runnable_intent");
}

TEST_F(ProtocolQueue, a_wakeup_counts_only_with_its_intent) {
  expect_anomaly(1, wakeup("a"), "unknown_runnable_intent");
  EXPECT_EQ(code_of(decide_wakeup(queue_, "a", ms(1))), "unknown_runnable_intent");
  queue_.evolve(ms(2), scheduled("a"));
  EXPECT_EQ(code_of(decide_wakeup(queue_, "a", ms(3))), "ok");
}

TEST_F(ProtocolQueue, a_claim_is_not_valid_before_visible_at) {
  expect_accepted(1, scheduled("a", 100));
  EXPECT_EQ(code_of(decide_claim(queue_, "a", {}, ms(99))), "attempt_not_visible");
  expect_anomaly(99, claimed("a", 200), "attempt_not_visible");
  queue_.evolve(ms(100), claimed("a", 200));
  EXPECT_EQ(queue_.find("a")->status, AttemptStatus::claimed);
}

TEST_F(ProtocolClaim, a_heartbeat_extends_the_lease_only_with_the_current_fence) {
  expect_anomaly(110, heartbeat("a", 300, "c2"), "stale_claim");
  expect_anomaly(110, heartbeat("a", 300, "c1", "guessed"), "stale_claim");
  EXPECT_EQ(lease(), ms(200));
  queue_.evolve(ms(110), heartbeat("a", 300));
  EXPECT_EQ(lease(), ms(300));
}

TEST_F(ProtocolClaim, heartbeats_of_stale_claims_are_ignored_and_become_anomalies) {
  expect_accepted(200, claimed("a", 300, "c2"));
  expect_anomaly(210, heartbeat("a", 900, "c1"), "stale_claim");
  EXPECT_EQ(lease(), ms(300));
}

TEST_F(ProtocolClaim, an_expired_claim_stays_visible_to_every_worker) {
  EXPECT_THAT(expired(queue_, ms(199)), IsEmpty());
  EXPECT_THAT(keys(expired(queue_, ms(200))), ElementsAre("a"));
  const auto again = must(DispatchProjection::decode(queue_.encode()));
  EXPECT_THAT(keys(expired(*again, ms(200))), ElementsAre("a"));
}

TEST_F(ProtocolClaim, a_replacement_claim_is_valid_only_after_the_prior_lease_has_expired) {
  EXPECT_EQ(code_of(decide_claim(queue_, "a", {}, ms(199))), "active_claim");
  expect_accepted(200, claimed("a", 300, "c2"));
  EXPECT_EQ(queue_.find("a")->claim->claim_id, SharedText("c2"));
}

TEST_F(ProtocolClaim, taking_over_an_active_claim_is_an_anomaly) {
  expect_anomaly(199, claimed("a", 300, "c2"), "active_claim");
}

TEST_F(ProtocolClaim, heartbeat_completion_and_failure_are_valid_only_before_the_lease_ends) {
  expect_anomaly(200, heartbeat("a", 300), "expired_claim");
  expect_anomaly(200, completed("a"), "expired_claim");
  expect_anomaly(200, failed("a"), "expired_claim");
  queue_.evolve(ms(199), completed("a"));
  EXPECT_EQ(queue_.find("a")->status, AttemptStatus::completed);
}

TEST_F(ProtocolClaim, completion_and_failure_must_carry_the_current_fence) {
  expect_anomaly(110, completed("a", "c2"), "stale_claim");
  expect_anomaly(110, completed("a", "c1", "guessed"), "stale_claim");
  expect_anomaly(110, failed("a", "c2"), "stale_claim");
  expect_anomaly(110, failed("a", "c1", "guessed"), "stale_claim");
  // Without a fence they are not even written.
  AttemptCompleted bare = completed("a");
  bare.claim_token_hash = {};
  EXPECT_EQ(code_of(to_entry(DispatchFact(bare), ms(110))), "missing_fields");
}

TEST_F(ProtocolClaim, a_duplicate_completion_of_the_same_claim_and_result_is_idempotent) {
  expect_accepted(110, completed("a"));
  expect_repeat(111, completed("a"));
  expect_repeat(999, completed("a"));
}

TEST_F(ProtocolClaim, conflicting_or_stale_completions_are_ignored_and_become_anomalies) {
  expect_accepted(110, completed("a"));
  AttemptCompleted other = completed("a");
  other.result = json(R"({"paid":false})");
  expect_anomaly(111, other, "conflicting_completion");
  expect_anomaly(111, completed("a", "c2"), "stale_claim");
}

TEST_F(ProtocolClaim, a_result_is_applied_only_after_its_completion) {
  expect_anomaly(110, applied("a"), "result_not_completed");
  queue_.evolve(ms(111), completed("a"));
  queue_.evolve(ms(112), applied("a"));
  EXPECT_TRUE(queue_.find("a")->applied);
}

TEST_F(ProtocolClaim, a_withdrawn_attempt_is_not_claimed_and_its_report_is_stale) {
  expect_accepted(100, scheduled("b"));
  expect_accepted(110, ResultApplied{run_no(1), "a", false, true});
  expect_accepted(110, ResultApplied{run_no(1), "b", false, true});
  expect_anomaly(111, completed("a"), "stale_claim");
  expect_anomaly(111, heartbeat("a", 300), "stale_claim");
  expect_anomaly(111, claimed("b", 300, "c2"), "terminal_attempt");
  EXPECT_THAT(visible(queue_, ms(500)), IsEmpty());
  EXPECT_THAT(expired(queue_, ms(500)), IsEmpty());
  queue_.advance(ms(500));
  EXPECT_EQ(queue_.next_claimable({}, ms(500)), nullptr);
}

TEST_F(ProtocolClaim, attempts_of_an_ended_run_are_in_no_view) {
  expect_accepted(100, scheduled("b"));
  expect_accepted(100, scheduled("later", 900));
  queue_.end_run(run_no(1));
  const auto again = must(DispatchProjection::decode(queue_.encode()));
  EXPECT_THAT(visible(*again, ms(500)), IsEmpty());
  EXPECT_THAT(expired(*again, ms(500)), IsEmpty());
  EXPECT_THAT(scheduled_later(*again, ms(500)), IsEmpty());
  again->advance(ms(500));
  EXPECT_EQ(again->next_claimable({}, ms(500)), nullptr);
}

TEST_F(ProtocolClaim, facts_of_a_queue_after_the_end_of_the_run_are_anomalies) {
  queue_.end_run(run_no(1));
  expect_anomaly(110, wakeup("a"), "terminal_run");
  expect_anomaly(110, claimed("a", 300, "c2"), "terminal_run");
  expect_anomaly(110, heartbeat("a", 300), "terminal_run");
  expect_anomaly(110, completed("a"), "terminal_run");
  expect_anomaly(110, failed("a"), "terminal_run");
  expect_anomaly(110, applied("a"), "terminal_run");
  expect_anomaly(110, scheduled("b"), "terminal_run");
}

class ProtocolRun : public testing::Test {
 protected:
  void SetUp() override {
    evolve_all(run_, {run_signal(), run_started(), planned({runnable("a"), runnable("b")})});
  }
  void expect_accepted(const RunFact& fact) {
    run_.evolve(ms(200), fact);
    EXPECT_THAT(reasons(run_), IsEmpty()) << kind_of(fact);
  }
  void expect_repeat(const RunFact& fact) {
    const std::string before = known(run_);
    run_.evolve(ms(200), fact);
    EXPECT_EQ(known(run_), before) << kind_of(fact);
    EXPECT_THAT(reasons(run_), IsEmpty()) << kind_of(fact);
  }
  void expect_anomaly(const RunFact& fact, const std::string& reason) {
    const std::string before = known(run_);
    const std::size_t anomalies = run_.anomalies().size();
    run_.evolve(ms(200), fact);
    EXPECT_EQ(known(run_), before) << kind_of(fact);
    ASSERT_EQ(run_.anomalies().size(), anomalies + 1) << kind_of(fact);
    EXPECT_EQ(reasons(run_).back(), reason) << kind_of(fact);
  }

  RunProjection run_{run_no(1)};
};

TEST_F(ProtocolRun, applying_a_runnable_again_is_idempotent) {
  expect_accepted(applied_run("a#1", R"({"x":1})"));
  expect_repeat(applied_run("a#1", R"({"x":1})"));
  expect_repeat(applied_run("a#1", R"({"x":2})"));
  EXPECT_EQ(run_.context().view(), R"({"order":7,"x":1})");
}

TEST_F(ProtocolRun, only_planned_runnables_are_applied) {
  expect_anomaly(applied_run("never#1"), "unknown_runnable_intent");
}

TEST_F(ProtocolRun, only_the_current_manual_state_is_shown) {
  EXPECT_FALSE(run_.manual_state().has_value());
  expect_accepted(paused("a"));
  EXPECT_EQ(run_.manual_state()->step, SharedText("a"));
  expect_accepted(resolved("a"));
  EXPECT_FALSE(run_.manual_state().has_value());
  expect_accepted(paused("b", ManualKind::approval));
  EXPECT_EQ(run_.manual_state()->step, SharedText("b"));
  EXPECT_EQ(run_.manual_state()->kind, BoundaryKind::approval);
}

TEST_F(ProtocolRun, a_duplicate_pause_that_matches_is_idempotent) {
  expect_accepted(paused("a"));
  expect_repeat(paused("a"));
}

TEST_F(ProtocolRun, a_second_boundary_of_one_step_is_an_anomaly) {
  expect_accepted(paused("a"));
  expect_anomaly(paused("a", ManualKind::approval), "active_manual_step");
}

TEST_F(ProtocolRun, several_steps_wait_at_once_and_are_resolved_one_by_one) {
  expect_accepted(paused("a"));
  EXPECT_EQ(run_.status(), RunStatus::running) << "the other step is open";
  expect_accepted(paused("b", ManualKind::approval));
  EXPECT_EQ(run_.status(), RunStatus::paused);
  EXPECT_THAT(run_.boundaries(), SizeIs(2));
  expect_accepted(resolved("a"));
  EXPECT_THAT(run_.boundaries(), SizeIs(1));
  expect_anomaly(resolved("a"), "stale_manual_resolution");
}

TEST_F(ProtocolRun, a_withdrawn_runnable_is_closed_without_a_result) {
  RunnablesWithdrawn fact{run_no(1), {"a#1"}, "not wanted"};
  expect_accepted(fact);
  EXPECT_TRUE(run_.find("a#1")->withdrawn);
  EXPECT_EQ(run_.open_count(), 1U);
  expect_repeat(fact);
  expect_repeat(applied_run("a#1", R"({"late":true})"));
  fact.runnable_keys = {"never#1"};
  expect_anomaly(fact, "unknown_runnable_intent");
}

TEST_F(ProtocolRun, an_early_event_is_kept_until_a_wait_receives_it) {
  const ExternalEventReceived received = event_received();
  auto early = of_run<ExternalEventBuffered>();
  early.event = received.event;
  early.correlation = received.correlation;
  early.payload = received.payload;
  early.idempotency_key = received.idempotency_key;
  expect_accepted(early);
  EXPECT_THAT(run_.buffered_events(), SizeIs(1));
  expect_accepted(wait_opened());
  expect_accepted(received);
  EXPECT_THAT(run_.buffered_events(), IsEmpty());
  expect_anomaly(early, "idempotency_conflict");
}

TEST_F(ProtocolRun, a_run_compensates_once_with_one_outcome) {
  CompensationStarted back{run_no(1), TerminalStatus::failed, json(R"({"code":"x"})"), {}};
  expect_accepted(back);
  EXPECT_EQ(run_.status(), RunStatus::compensating);
  expect_repeat(back);
  back.outcome = TerminalStatus::cancelled;
  expect_anomaly(back, "conflicting_compensation");
  run_.evolve(ms(200), terminal(TerminalStatus::failed));
  EXPECT_EQ(run_.status(), RunStatus::failed);
}

TEST_F(ProtocolRun, adopted_steps_are_part_of_the_start_of_a_run) {
  StepsAdopted adopted{run_no(1), run_no(2), "b", {}, {"a"}, json(R"({"x":1})")};
  expect_accepted(adopted);
  EXPECT_EQ(run_.context().view(), R"({"order":7,"x":1})");
  expect_repeat(adopted);
  adopted.from_step = "a";
  expect_anomaly(adopted, "conflicting_run_start");
}

TEST_F(ProtocolRun, a_stale_resolution_is_an_anomaly) {
  expect_anomaly(resolved("a"), "stale_manual_resolution");
  run_.evolve(ms(200), paused("a"));
  expect_anomaly(resolved("b"), "stale_manual_resolution");
}

// What a run records of a result that no transition fits.
RunnableApplied undecided(std::string_view step) {
  RunnableApplied fact = applied_run(std::string(step) + "#1");
  fact.transition = json(R"({"from":"a","on":"ok","to":"__none__"})");
  return fact;
}

TEST_F(ProtocolRun, a_result_is_parked_only_if_no_transition_fits_it) {
  expect_accepted(applied_run("b#1"));
  expect_accepted(undecided("a"));
  expect_accepted(parked("a"));
  EXPECT_EQ(run_.status(), RunStatus::parked);
  expect_anomaly(parked("b"), "unknown_runnable_intent");
}

TEST_F(ProtocolRun, only_the_retry_of_such_a_result_takes_a_transition) {
  ManualStepResolved retried = resolved("a", "");
  retried.action = ManualAction::retried;
  retried.transition = json(R"({"from":"a","on":"ok","to":"b"})");
  expect_accepted(parked("a"));
  expect_anomaly(retried, "stale_manual_resolution");
}

TEST_F(ProtocolRun, the_retry_of_a_result_records_the_transition_that_fits) {
  ManualStepResolved retried = resolved("a", "");
  retried.action = ManualAction::discarded;
  retried.transition = json(R"({"from":"a","on":"ok","to":"b"})");
  expect_accepted(undecided("a"));
  expect_accepted(parked("a"));
  expect_anomaly(retried, "stale_manual_resolution");
  retried.action = ManualAction::retried;
  run_.evolve(ms(200), retried);
  EXPECT_EQ(transition_of(run_.latest("a")->transition).to, SharedText("b"));
  EXPECT_EQ(run_.parked("a"), nullptr);
}

TEST_F(ProtocolRun, manual_facts_and_results_after_the_end_are_anomalies) {
  expect_accepted(paused("a"));
  expect_accepted(terminal());
  expect_anomaly(paused("b"), "terminal_run");
  expect_anomaly(resolved("a"), "terminal_run");
  expect_anomaly(applied_run("a#1"), "terminal_run");
}

TEST_F(ProtocolRun, the_end_of_a_run_clears_its_manual_state) {
  expect_accepted(paused("a"));
  expect_accepted(terminal(TerminalStatus::cancelled));
  EXPECT_FALSE(run_.manual_state().has_value());
  EXPECT_EQ(run_.status(), RunStatus::cancelled);
}

TEST_F(ProtocolRun, linking_the_same_child_again_is_idempotent) {
  expect_accepted(child_started());
  expect_repeat(child_started());
}

TEST_F(ProtocolRun, conflicting_malformed_and_late_child_links_are_anomalies) {
  expect_accepted(child_started());
  ChildRunStarted other = child_started();
  other.child_key = "other";
  expect_anomaly(other, "conflicting_child_run");
  ChildRunStarted of_another_run = child_started(6);
  of_another_run.run_id = run_no(2);
  expect_anomaly(of_another_run, "malformed_entry");
  ChildRunStarted without_origin = child_started(6);
  without_origin.origin.step = SharedText();
  expect_anomaly(without_origin, "malformed_entry");
  run_.evolve(ms(200), terminal());
  expect_anomaly(child_started(6), "terminal_run");
  EXPECT_THAT(run_.children(), SizeIs(1));
}

}  // namespace
}  // namespace holdfast::protocol_test
