// Recovery of journals that other processes left in the middle of their work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/recovery_fixture.h"

namespace holdfast::engine_recovery_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kinds = std::vector<std::string>;

TEST_F(Recovery, planned_attempts_are_scheduled) {
  Scribe& run = story(1, two_);
  run.register_definition();
  run.start();
  const Position left = head();
  TestCore& core = open();
  core.settle();
  EXPECT_THAT(kinds_from(*journal_, left.next()), ElementsAre("attempt_scheduled"));
  EXPECT_EQ(core.core.stats().recovered, 1U);
  EXPECT_THAT(work_off(core), ElementsAre("a/1", "b/1"));
  EXPECT_EQ(status(1), RunStatus::completed);
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  expect_same_as_newcomers(core);
}

TEST_F(Recovery, completed_results_are_applied_and_the_run_continues) {
  Scribe& run = story(1, two_);
  run.register_definition();
  run.start();
  run.schedule("a");
  run.claim("a");
  run.complete("a", R"({"paid":7})");
  const Position left = head();
  TestCore& core = open();
  core.settle();
  EXPECT_THAT(kinds_from(*journal_, left.next()),
              ElementsAre("runnable_applied", "runnables_planned", "attempt_scheduled"));
  const auto worker = core.worker();
  core.settle();
  ASSERT_EQ(worker->code(), "ok");
  EXPECT_EQ(worker->assignment().input.view(), R"({"paid":7})");
  core.complete(proof_of(worker->assignment()), completion());
  core.settle();
  EXPECT_EQ(status(1), RunStatus::completed);
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  expect_same_as_newcomers(core);
}

TEST_F(Recovery, the_last_completed_step_ends_the_run) {
  Scribe& run = story(1, one_);
  run.register_definition();
  run.start();
  run.schedule("a");
  run.claim("a");
  run.complete("a");
  const Position left = head();
  TestCore& core = open();
  core.settle();
  EXPECT_THAT(kinds_from(*journal_, left.next()), ElementsAre("runnable_applied", "run_terminal"));
  EXPECT_EQ(core.core.state().runs().count(), 0U);
  EXPECT_TRUE(core.core.state().pending_recovery().empty());
  expect_same_as_newcomers(core);
}

TEST_F(Recovery, an_applied_result_is_not_applied_again) {
  Scribe& run = story(1, two_);
  run.register_definition();
  run.start();
  run.schedule("a");
  run.claim("a");
  run.complete("a");
  // The result is applied to the run, but its effects are missing.
  RunnableApplied applied;
  applied.run_id = run_no(1);
  applied.runnable_key = run.run.latest("a")->plan.runnable_key;
  applied.result = Payload::trusted("{}");
  run.emit(applied);
  TestCore& core = open();
  core.settle();
  EXPECT_EQ(audit(journal_->log()).kinds.at("runnable_applied"), 1U);
  expect_same_as_newcomers(core);
}

TEST_F(Recovery, a_failure_with_a_retry_gets_its_retry_planned) {
  Scribe& run = story(1, retried_);
  run.register_definition();
  run.start();
  run.schedule("a");
  run.claim("a");
  run.fail("a", Scribe::Again::yes);
  const Position left = head();
  TestCore& core = open();
  core.settle();
  EXPECT_THAT(kinds_from(*journal_, left.next()), ElementsAre("runnables_planned"));
  EXPECT_THAT(work_off(core), IsEmpty()) << "not visible yet";
  clock_.advance_ms(10);
  EXPECT_THAT(work_off(core), ElementsAre("a/2"));
  EXPECT_EQ(status(1), RunStatus::completed);
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  expect_same_as_newcomers(core);
}

TEST_F(Recovery, a_final_failure_ends_the_run) {
  Scribe& run = story(1, retried_);
  run.register_definition();
  run.start();
  run.schedule("a");
  run.claim("a");
  run.fail("a", Scribe::Again::no);
  const Position left = head();
  TestCore& core = open();
  core.settle();
  EXPECT_THAT(kinds_from(*journal_, left.next()), ElementsAre("run_terminal"));
  EXPECT_EQ(status(1), RunStatus::failed);
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  EXPECT_TRUE(core.core.state().pending_recovery().empty());
  expect_same_as_newcomers(core);
}

TEST_F(Recovery, a_linked_child_that_was_not_started_is_started) {
  Scribe& parent = story(1, one_);
  parent.register_definition();
  story(2, two_).register_definition();
  parent.start();
  parent.schedule("a");
  const ChildRunStarted link = link_from(parent, two_);
  parent.emit(link);
  TestCore& core = open();
  core.settle();
  auto found = audit(journal_->log());
  ASSERT_TRUE(found.runs.contains(link.child_run_id));
  const RunProjection& child = *found.runs.at(link.child_run_id);
  EXPECT_EQ(child.started()->workflow, SharedText("pair"));
  EXPECT_EQ(child.started()->input.view(), R"({"parcel":3})");
  EXPECT_THAT(work_off(core), SizeIs(3));
  EXPECT_EQ(audit(journal_->log()).runs.at(link.child_run_id)->status(), RunStatus::completed);
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  expect_same_as_newcomers(core);
  // It is not started a second time.
  const Position end = head();
  open().settle();
  EXPECT_EQ(head(), end);
}

TEST_F(Recovery, a_linked_child_without_input_is_not_started) {
  Scribe& parent = story(1, one_);
  parent.register_definition();
  story(2, two_).register_definition();
  parent.start();
  parent.schedule("a");
  ChildRunStarted link = link_from(parent, two_);
  link.input = Payload();
  parent.emit(link);
  const Position left = head();
  TestCore& core = open();
  core.settle();
  EXPECT_EQ(head(), left);
  EXPECT_FALSE(core.core.stopped().has_value());
  EXPECT_THAT(work_off(core), ElementsAre("a/1"));
  expect_same_as_newcomers(core);
}

TEST_F(Recovery, a_child_is_started_when_its_definition_becomes_known) {
  Scribe& parent = story(1, one_);
  parent.register_definition();
  parent.start();
  parent.schedule("a");
  const ChildRunStarted link = link_from(parent, two_);
  parent.emit(link);
  TestCore& core = open();
  core.settle();
  EXPECT_FALSE(audit(journal_->log()).runs.contains(link.child_run_id));
  core.definitions.add(two_);
  core.core.definitions_changed();
  core.settle();
  EXPECT_TRUE(audit(journal_->log()).runs.contains(link.child_run_id));
  expect_same_as_newcomers(core);
}

TEST_F(Recovery, the_claim_of_a_dead_owner_is_replaced_when_its_lease_has_expired) {
  Scribe& run = story(1, one_);
  run.register_definition();
  run.start();
  run.schedule("a");
  run.claim("a", 900);
  TestCore& core = open();
  const auto worker = core.worker();
  core.settle();
  EXPECT_EQ(core.core.next_timer(clock_.now()), after(kStart, 900));
  clock_.advance_ms(899);
  core.settle();
  EXPECT_EQ(worker->calls, 0);
  clock_.advance_ms(1);
  core.settle();
  ASSERT_EQ(worker->code(), "ok");
  EXPECT_EQ(worker->assignment().attempt_number, 1U);
  core.complete(proof_of(worker->assignment()), completion());
  core.settle();
  EXPECT_EQ(status(1), RunStatus::completed);
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  expect_same_as_newcomers(core);
}

TEST_F(Recovery, recovery_runs_in_order_plans_then_results_then_children) {
  // Written in the opposite order.
  Scribe& parent = story(3, one_);
  parent.register_definition();
  story(9, two_).register_definition();
  parent.start();
  parent.schedule("a");
  parent.emit(link_from(parent, two_));
  Scribe& completed = story(2, two_);
  completed.start();
  completed.schedule("a");
  completed.claim("a");
  completed.complete("a");
  story(1, one_).start();
  const Position left = head();
  TestCore& core = open();
  core.settle();
  const Kinds kinds = kinds_from(*journal_, left.next());
  const auto place = [&](std::string_view kind) {
    return std::find(kinds.begin(), kinds.end(), kind) - kinds.begin();
  };
  EXPECT_EQ(place("attempt_scheduled"), 0);
  EXPECT_EQ(place("runnable_applied"), 1);
  EXPECT_GT(place("run_started"), place("runnable_applied"));
  EXPECT_LT(place("run_started"), static_cast<std::ptrdiff_t>(kinds.size()));
  EXPECT_EQ(core.core.stats().recovered, 3U);
  EXPECT_THAT(work_off(core), SizeIs(5));
  EXPECT_EQ(core.core.state().runs().count(), 0U);
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  expect_same_as_newcomers(core);
}

// The engine is open while another writer leaves work unfinished.
class ContinuousRecovery : public Recovery {
 protected:
  void SetUp() override {
    core_ = &open();
    worker_ = core_->worker();
    core_->settle();
  }
  void notice() {
    core_->core.check_for_changes();
    core_->settle();
  }
  TestCore* core_ = nullptr;
  std::shared_ptr<TestWorker> worker_;
};

TEST_F(ContinuousRecovery, attempts_planned_by_another_writer_are_scheduled_and_assigned) {
  Scribe& run = story(1, one_);
  run.register_definition();
  run.start();
  notice();
  ASSERT_EQ(worker_->code(), "ok");
  EXPECT_EQ(worker_->assignment().run_id, run_no(1));
  expect_same_as_newcomers(*core_);
}

TEST_F(ContinuousRecovery, results_completed_by_another_writer_are_applied) {
  Scribe& run = story(1, two_);
  run.register_definition();
  run.start();
  run.schedule("a");
  run.claim("a");
  notice();
  EXPECT_EQ(worker_->calls, 0);
  run.complete("a");
  notice();
  ASSERT_EQ(worker_->code(), "ok");
  EXPECT_EQ(worker_->assignment().step, SharedText("b"));
  expect_same_as_newcomers(*core_);
}

TEST_F(ContinuousRecovery, failures_written_by_another_writer_are_handled) {
  Scribe& run = story(1, retried_);
  run.register_definition();
  run.start();
  run.schedule("a");
  run.claim("a");
  notice();
  run.fail("a", Scribe::Again::yes);
  notice();
  EXPECT_EQ(core_->core.next_timer(clock_.now()), after(kStart, 10));
  clock_.advance_ms(10);
  core_->settle();
  ASSERT_EQ(worker_->code(), "ok");
  EXPECT_EQ(worker_->assignment().attempt_number, 2U);
  expect_same_as_newcomers(*core_);
}

TEST_F(ContinuousRecovery, a_child_linked_by_another_writer_is_started) {
  Scribe& parent = story(1, one_);
  parent.register_definition();
  story(2, two_).register_definition();
  parent.start();
  parent.schedule("a");
  parent.claim("a");
  notice();
  const ChildRunStarted link = link_from(parent, two_);
  parent.emit(link);
  notice();
  ASSERT_EQ(worker_->code(), "ok");
  EXPECT_EQ(worker_->assignment().run_id, link.child_run_id);
  expect_same_as_newcomers(*core_);
}

TEST_F(ContinuousRecovery, a_slow_writer_breaks_nothing) {
  Scribe& run = story(1, two_);
  run.register_definition();
  run.start();
  run.schedule("a");
  run.claim("a");
  core_->core.withdraw_request(worker_->waiting);
  notice();
  run.complete("a");
  notice();  // the engine applies it
  clock_.advance_ms(5);
  run.apply("a");  // so does the writer
  notice();
  run.schedule("b");
  notice();
  EXPECT_THAT(work_off(*core_), ElementsAre("b/1"));
  EXPECT_EQ(status(1), RunStatus::completed);
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  expect_same_as_newcomers(*core_);
}

TEST_F(Recovery, without_its_definition_a_run_waits_and_with_it_the_run_continues) {
  Scribe& done = story(1, two_);
  done.start();
  done.schedule("a");
  done.claim("a");
  done.complete("a");
  Scribe& planned = story(2, two_);
  planned.start();
  Scribe& open_one = story(3, two_);
  open_one.start();
  open_one.schedule("a");
  open_one.claim("a", 900);
  TestCore& core = open();
  core.settle();
  EXPECT_FALSE(core.core.stopped().has_value());
  EXPECT_EQ(status(1), RunStatus::running);
  // A worker that knows the handler but not the workflow can finish the step and nothing else.
  clock_.advance_ms(1000);
  EXPECT_THAT(work_off(core), ElementsAre("a/1", "a/1"));
  EXPECT_EQ(audit(journal_->log()).kinds["runnable_applied"], 0U);
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  expect_same_from_every_cut();

  core.definitions.add(two_);
  core.core.definitions_changed();
  core.settle();
  EXPECT_THAT(work_off(core), ElementsAre("b/1", "b/1", "b/1"));
  for (const int run : {1, 2, 3}) {
    EXPECT_EQ(status(run), RunStatus::completed);
  }
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  expect_same_as_newcomers(core);
}

TEST_F(Recovery, a_failure_without_the_definition_keeps_the_retries_of_the_run) {
  Scribe& run = story(1, retried_);
  run.start();
  run.schedule("a");
  TestCore& core = open();
  const auto worker = core.worker();
  core.settle();
  ASSERT_EQ(worker->code(), "ok");
  core.core.drop(worker->assignment().claim_id);
  core.fail(proof_of(worker->assignment()), failure());
  core.settle();
  EXPECT_NE(status(1), RunStatus::failed);
  core.definitions.add(retried_);
  core.core.definitions_changed();
  core.settle();
  clock_.advance_ms(60'000);
  EXPECT_THAT(work_off(core), SizeIs(1));
  EXPECT_EQ(status(1), RunStatus::completed);
}

// Histories cut at any point: every process that opens the journal finishes the run.
TEST_F(Recovery, a_history_cut_at_any_point_is_finished) {
  Scribe& run = story(1, two_);
  run.register_definition();
  run.start();
  run.work("a");
  run.work("b");
  const Position end = head();
  for (std::uint64_t cut = 1; cut <= end.value; ++cut) {
    SCOPED_TRACE(cut);
    const auto disk = prefix_of(*disk_, Position{cut});
    ManualClock clock{kStart};
    TestCore core(disk, clock);
    core.settle();
    clock.advance_ms(60'000);  // the writer is dead
    core.definitions.add(two_);
    work_off(core);
    auto journal = open_memory_journal(disk);
    auto found = audit(journal->log());
    EXPECT_THAT(found.anomalies(), IsEmpty());
    EXPECT_EQ(core.core.state().queues().attempt_count(), 0U);
    if (found.runs.contains(run_no(1)) && found.kinds["runnables_planned"] > 0) {
      EXPECT_EQ(found.runs.at(run_no(1))->status(), RunStatus::completed);
    }
  }
}

}  // namespace
}  // namespace holdfast::engine_recovery_test
