// What the engine reports: open manual waits, commits and the ends of runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/core_fixture.h"
#include "tests/support/journal_audit.h"

namespace holdfast::engine_report_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string word_of(TerminalStatus status) { return std::string(to_text(status)); }

void finish(TestCore& core, const TestWorker& worker, std::string_view result = "{}") {
  core.core.drop(worker.assignment().claim_id);
  const auto done = core.complete(proof_of(worker.assignment()), completion(result));
  core.settle();
  EXPECT_EQ(done->code(), "ok");
}

class ManualWaits : public CoreTest {
 protected:
  static std::vector<std::string> waits(TestCore& core) {
    std::vector<std::string> all;
    for (const auto& [place, at] : core.core.state().runs().manual_waits()) {
      const int run = static_cast<int>(place.first.uuid.bytes[15]);
      all.push_back(std::to_string(run) + "/" + place.second.str() + " +" +
                    std::to_string(at.value - kStart.value));
    }
    return all;
  }
  static void resolve(TestCore& core, int run, std::string_view step, ManualAction action) {
    ResolveStep command;
    command.action = action;
    command.source.actor = "ann";
    command.step = step;
    const auto done = core.resolve(run_no(run), command);
    core.settle();
    EXPECT_EQ(done->code(), "ok");
  }
  static void save(TestCore& core, TimeMs now) {
    core.core.request_checkpoint();
    core.core.decide(now);
    const auto checkpoint = core.core.take_checkpoint();
    ASSERT_TRUE(checkpoint.has_value());
    must(Core::save(*core.journal, *checkpoint));
  }
  // A start with a checkpoint and one without give the state of the core.
  void expect_the_same_after_a_restart(TestCore& core) {
    const auto expected = waits(core);
    must(core.journal->delete_checkpoint(thread("engine:live")));
    EXPECT_EQ(waits(open()), expected) << "without a checkpoint";
    save(core, clock_.now());
    EXPECT_EQ(waits(open()), expected) << "with a checkpoint";
  }

  std::shared_ptr<const Definition> approved_ = definition_of(
      R"([{"name":"boss","approval":true},{"name":"legal","approval":true},
          {"name":"go","after":["boss","legal"]}])");
};

TEST_F(ManualWaits, appear_with_their_time_and_disappear_when_resolved) {
  TestCore& core = open();
  EXPECT_THAT(waits(core), IsEmpty());
  core.start(start_of(1, approved_));
  core.settle();
  clock_.advance_ms(5);
  core.start(start_of(2, approved_));
  core.settle();
  EXPECT_THAT(waits(core), ElementsAre("1/boss +0", "1/legal +0", "2/boss +5", "2/legal +5"));
  resolve(core, 1, "boss", ManualAction::approved);
  EXPECT_THAT(waits(core), ElementsAre("1/legal +0", "2/boss +5", "2/legal +5"));
  resolve(core, 1, "legal", ManualAction::approved);
  EXPECT_THAT(waits(core), ElementsAre("2/boss +5", "2/legal +5"));
  expect_the_same_after_a_restart(core);
}

TEST_F(ManualWaits, of_a_run_that_ends_disappear) {
  TestCore& core = open();
  core.start(start_of(1, approved_));
  core.start(start_of(2, approved_));
  core.start(start_of(3, approved_));
  core.settle();
  core.cancel(run_no(1));
  core.settle();
  EXPECT_THAT(waits(core), ElementsAre("2/boss +0", "2/legal +0", "3/boss +0", "3/legal +0"));
  // The rejection fails the run, so the approval by legal is not needed any more.
  resolve(core, 2, "boss", ManualAction::rejected);
  EXPECT_THAT(waits(core), ElementsAre("3/boss +0", "3/legal +0"));
  expect_the_same_after_a_restart(core);
}

TEST_F(ManualWaits, of_a_later_step_appear_when_the_run_reaches_it) {
  TestCore& core = open();
  core.start(
      start_of(1, definition_of(R"([{"name":"a"},{"name":"ok","after":["a"],"approval":true}])")));
  const auto worker = core.worker();
  core.settle();
  EXPECT_THAT(waits(core), IsEmpty());
  clock_.advance_ms(7);
  finish(core, *worker);
  EXPECT_THAT(waits(core), ElementsAre("1/ok +7"));
  expect_the_same_after_a_restart(core);
}

TEST_F(ManualWaits, of_other_engines_are_known_and_a_conflict_leaves_no_stale_ones) {
  TestCore& one = open();
  TestCore& other = open();
  one.start(start_of(1, approved_));
  one.hooks->before_append = [&]() -> Result<void> {
    other.start(start_of(2, approved_));
    other.settle();
    return {};
  };
  one.settle();
  EXPECT_EQ(one.core.stats().conflicts, 1U);
  EXPECT_THAT(waits(one), ElementsAre("1/boss +0", "1/legal +0", "2/boss +0", "2/legal +0"));
  other.core.check_for_changes();
  other.settle();
  EXPECT_EQ(waits(other), waits(one));
  // One engine resolves a wait and the other sees it; a conflict loses nothing.
  resolve(other, 1, "boss", ManualAction::approved);
  one.core.check_for_changes();
  one.settle();
  EXPECT_THAT(waits(one), ElementsAre("1/legal +0", "2/boss +0", "2/legal +0"));
  expect_the_same_after_a_restart(one);
}

TEST_F(ManualWaits, that_a_refused_command_resolved_stay_open) {
  TestCore& core = open();
  core.start(start_of(1, approved_));
  core.settle();
  const auto refused = core.execute<Done>([](Turn& turn) -> Result<Done> {
    HOLDFAST_CHECK(cancel_run(turn, run_no(1)));
    EXPECT_TRUE(turn.state().runs().manual_waits().empty());
    return Error{ErrorCode::invalid_argument, "no"};
  });
  core.settle();
  EXPECT_EQ(refused->code(), "invalid_argument");
  EXPECT_THAT(waits(core), ElementsAre("1/boss +0", "1/legal +0"));
}

class Reports : public CoreTest {
 protected:
  static FactCounts sum(const TestCore& core) {
    FactCounts all;
    for (const CommitReport& report : core.reports) {
      all.started += report.counts.started;
      all.ended += report.counts.ended;
      all.scheduled += report.counts.scheduled;
      all.claimed += report.counts.claimed;
      all.heartbeats += report.counts.heartbeats;
      all.completed += report.counts.completed;
      all.failed += report.counts.failed;
      all.retried += report.counts.retried;
    }
    return all;
  }
  // The sums match the facts in the journal.
  void expect_sums(const TestCore& core) {
    const Audit found = audit(open_memory_journal(disk_)->log());
    const auto in_journal = [&](const std::string& kind) {
      const auto known = found.kinds.find(kind);
      return known == found.kinds.end() ? 0U : static_cast<std::uint64_t>(known->second);
    };
    const FactCounts all = sum(core);
    EXPECT_EQ(all.started, in_journal("run_started"));
    EXPECT_EQ(all.ended, in_journal("run_terminal"));
    EXPECT_EQ(all.scheduled, in_journal("attempt_scheduled"));
    EXPECT_EQ(all.claimed, in_journal("attempt_claimed"));
    EXPECT_EQ(all.heartbeats, in_journal("attempt_heartbeat"));
    EXPECT_EQ(all.completed, in_journal("attempt_completed"));
    EXPECT_EQ(all.failed, in_journal("attempt_failed"));
    std::size_t entries = 0;
    for (const CommitReport& report : core.reports) {
      entries += report.entries;
    }
    EXPECT_EQ(entries, kinds_from(*open_memory_journal(disk_), Position{1}).size());
    EXPECT_EQ(core.reports.size(), batches());
  }

  std::shared_ptr<const Definition> stubborn_ =
      definition_of(R"([{"name":"a","retry":{"max_attempts":2,"delay_ms":10}}])", "stubborn");
};

TEST_F(Reports, counts_add_up_to_the_facts) {
  TestCore& core = open();
  core.start(start_of(1, stubborn_));
  core.start(start_of(2, two_));
  core.start(start_of(3, one_));
  core.settle();
  core.cancel(run_no(3));
  core.settle();
  const auto first = core.worker();
  core.settle();
  core.core.drop(first->assignment().claim_id);
  core.fail(proof_of(first->assignment()), failure());
  core.settle();
  EXPECT_EQ(sum(core).failed, 1U);
  EXPECT_EQ(sum(core).retried, 1U);
  clock_.advance_ms(10);
  for (int i = 0; i < 3; ++i) {
    const auto worker = core.worker();
    core.settle();
    ASSERT_EQ(worker->calls, 1);
    clock_.advance_ms(25'000);  // the core sends a heartbeat
    core.settle();
    if (worker->assignment().run_id == run_no(1)) {
      core.core.drop(worker->assignment().claim_id);
      core.fail(proof_of(worker->assignment()), failure());
      core.settle();
    } else {
      finish(core, *worker);
    }
  }
  const FactCounts all = sum(core);
  EXPECT_EQ(all.started, 3U);
  EXPECT_EQ(all.ended, 3U);
  EXPECT_EQ(all.claimed, 4U);
  EXPECT_EQ(all.completed, 2U);
  EXPECT_EQ(all.failed, 2U);
  EXPECT_EQ(all.retried, 1U) << "the second failure is the last";
  EXPECT_GE(all.heartbeats, 3U);
  expect_sums(core);
}

TEST_F(Reports, refused_commands_are_not_counted) {
  TestCore& core = open();
  const auto refused = core.execute<Done>([this](Turn& turn) -> Result<Done> {
    HOLDFAST_CHECK(start_run(turn, start_of(1, one_), IdOrigin::given));
    return Error{ErrorCode::invalid_argument, "no"};
  });
  core.start(start_of(2, one_));
  core.settle();
  EXPECT_EQ(refused->code(), "invalid_argument");
  EXPECT_EQ(sum(core).started, 1U);
  EXPECT_EQ(sum(core).scheduled, 1U);
  expect_sums(core);
}

TEST_F(Reports, commands_lost_to_a_conflict_are_counted_once) {
  TestCore& core = open();
  TestCore& other = open();
  core.start(start_of(1, one_));
  core.hooks->before_append = [&]() -> Result<void> {
    other.start(start_of(2, one_));
    other.settle();
    return {};
  };
  core.settle();
  EXPECT_EQ(core.core.stats().conflicts, 1U);
  EXPECT_EQ(sum(core).started, 1U) << "the other core counts its own runs";
  EXPECT_EQ(sum(other).started, 1U);
  ASSERT_EQ(core.reports.size(), 1U);
  EXPECT_EQ(core.reports[0].commands, 1U);
}

TEST_F(Reports, give_the_number_of_commands_in_a_batch) {
  TestCore& core = open();
  for (int i = 1; i <= 5; ++i) {
    core.start(start_of(i, one_));
  }
  core.settle();
  ASSERT_EQ(core.reports.size(), 1U);
  EXPECT_EQ(core.reports[0].commands, 5U);
  EXPECT_EQ(core.reports[0].counts.started, 5U);
  EXPECT_EQ(core.reports[0].position, Position{1});
  EXPECT_GT(core.reports[0].bytes, 0U);
}

class RunEnds : public CoreTest {
 protected:
  struct Waiter {
    int calls = 0;
    std::optional<RunEnd> end;
  };
  static std::shared_ptr<Waiter> wait_for(TestCore& core, int run) {
    auto waiter = std::make_shared<Waiter>();
    core.core.run_waits().add(
        std::make_shared<RunWait>(RunWait{run_no(run), [waiter](const std::optional<RunEnd>& end) {
                                            ++waiter->calls;
                                            waiter->end = end;
                                          }}));
    return waiter;
  }
};

TEST_F(RunEnds, of_completed_runs_are_reported_with_the_result_once_durable) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  const auto worker = core.worker();
  core.settle();
  const auto waiter = wait_for(core, 1);
  const auto also = wait_for(core, 1);
  const auto other = wait_for(core, 2);
  core.core.drop(worker->assignment().claim_id);
  core.complete(proof_of(worker->assignment()), completion(R"({"n":1})"));
  core.decide();
  EXPECT_EQ(waiter->calls, 0) << "it is not durable yet";
  core.settle();
  EXPECT_EQ(waiter->calls, 1);
  EXPECT_EQ(also->calls, 1);
  EXPECT_EQ(other->calls, 0);
  ASSERT_TRUE(waiter->end.has_value());
  EXPECT_EQ(waiter->end->run_id, run_no(1));
  EXPECT_EQ(waiter->end->workflow.view(), "order");
  EXPECT_EQ(word_of(waiter->end->status), "completed");
  EXPECT_THAT(std::string(waiter->end->result.view()), ::testing::HasSubstr(R"("n":1)"));
  EXPECT_TRUE(waiter->end->error.empty());
}

TEST_F(RunEnds, of_failed_and_cancelled_runs_are_reported_with_status_and_error) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  core.start(start_of(2, one_));
  core.settle();
  const auto worker = core.worker();
  core.settle();
  ASSERT_EQ(worker->assignment().run_id, run_no(1));
  const auto failed = wait_for(core, 1);
  const auto cancelled = wait_for(core, 2);
  core.core.drop(worker->assignment().claim_id);
  core.fail(proof_of(worker->assignment()), failure());
  core.cancel(run_no(2));
  core.settle();
  ASSERT_TRUE(failed->end.has_value());
  EXPECT_EQ(word_of(failed->end->status), "failed");
  EXPECT_THAT(std::string(failed->end->error.view()), ::testing::HasSubstr("declined"));
  ASSERT_TRUE(cancelled->end.has_value());
  EXPECT_EQ(word_of(cancelled->end->status), "cancelled");
}

TEST_F(RunEnds, written_by_another_engine_are_reported_without_details) {
  TestCore& core = open();
  TestCore& other = open();
  core.start(start_of(1, one_));
  core.settle();
  const auto waiter = wait_for(core, 1);
  other.core.check_for_changes();
  other.settle();
  other.cancel(run_no(1));
  other.settle();
  EXPECT_EQ(waiter->calls, 0);
  core.core.check_for_changes();
  core.settle();
  EXPECT_EQ(waiter->calls, 1);
  EXPECT_FALSE(waiter->end.has_value()) << "the waiter must query the outcome";
}

TEST_F(RunEnds, are_not_reported_to_removed_waiters) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  core.settle();
  const auto waiter = std::make_shared<Waiter>();
  const auto wait = std::make_shared<RunWait>(
      RunWait{run_no(1), [waiter](const std::optional<RunEnd>&) { ++waiter->calls; }});
  core.core.run_waits().add(wait);
  const auto stays = wait_for(core, 1);
  core.core.run_waits().remove(wait);
  core.cancel(run_no(1));
  core.settle();
  EXPECT_EQ(waiter->calls, 0);
  EXPECT_EQ(stays->calls, 1);
}

TEST_F(RunEnds, are_reported_as_unknown_when_the_engine_stops) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  core.settle();
  const auto waiter = wait_for(core, 1);
  core.core.stop(Error{ErrorCode::engine_stopped, "it is late"});
  core.carry_out();
  EXPECT_EQ(waiter->calls, 1);
  EXPECT_FALSE(waiter->end.has_value());
}

TEST_F(RunEnds, lost_to_a_conflict_are_reported_once) {
  TestCore& core = open();
  TestCore& other = open();
  core.start(start_of(1, one_));
  core.settle();
  const auto waiter = wait_for(core, 1);
  core.cancel(run_no(1));
  core.hooks->before_append = [&]() -> Result<void> {
    other.start(start_of(2, one_));
    other.settle();
    return {};
  };
  core.settle();
  EXPECT_EQ(core.core.stats().conflicts, 1U);
  EXPECT_EQ(waiter->calls, 1);
  EXPECT_TRUE(waiter->end.has_value());
}

}  // namespace
}  // namespace holdfast::engine_report_test
