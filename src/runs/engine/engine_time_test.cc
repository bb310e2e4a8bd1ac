// Effects of time alone: waits that end, attempts and runs that time out, schedules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/core_fixture.h"
#include "tests/support/journal_audit.h"

namespace holdfast::engine_time_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TimeTest : public CoreTest {
 protected:
  Audit found() { return audit(open_memory_journal(disk_)->log()); }
  RunStatus status(int run) { return found().runs.at(run_no(run))->status(); }
  std::string error_of(int run) {
    const Audit all = found();
    const auto& terminal = all.runs.at(run_no(run))->terminal();
    return terminal.has_value() ? std::string(terminal->error.view()) : "the run has not ended";
  }
  std::vector<std::string> kinds_after(Position before) {
    return kinds_from(*open_memory_journal(disk_), before.next());
  }
  void advance(TestCore& core, std::int64_t by_ms) {
    clock_.advance_ms(by_ms);
    core.settle();
  }
  // Nothing happens before that time; at that time something happens.
  void expect_quiet_until(TestCore& core, std::int64_t in_ms) {
    const std::uint64_t before = core.commits();
    EXPECT_EQ(core.core.next_timer(clock_.now()), after(clock_.now(), in_ms));
    advance(core, in_ms - 1);
    EXPECT_EQ(core.commits(), before);
    EXPECT_FALSE(core.core.has_work(clock_.now()));
    clock_.advance_ms(1);
    EXPECT_TRUE(core.core.has_work(clock_.now()));
  }
  static void finish(TestCore& core, const TestWorker& worker) {
    core.core.drop(worker.assignment().claim_id);
    const auto done = core.complete(proof_of(worker.assignment()), completion());
    core.settle();
    EXPECT_EQ(done->code(), "ok");
  }
};

using WaitStep = TimeTest;

TEST_F(WaitStep, sleeps_and_wakes_at_exactly_its_time) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"sleep","wait":{"for_ms":5000}},
                                           {"name":"b","after":["sleep"]}])")));
  const auto worker = core.worker();
  core.settle();
  EXPECT_EQ(core.commits(), 1U);
  expect_quiet_until(core, 5000);
  const Position before = must(core.journal->catch_up());
  core.settle();
  EXPECT_EQ(core.commits(), 2U);
  EXPECT_THAT(kinds_after(before), ElementsAre("runnable_applied", "runnables_planned",
                                               "attempt_scheduled", "attempt_claimed"));
  EXPECT_EQ(worker->assignment().step, SharedText("b"));
  finish(core, *worker);
  EXPECT_EQ(status(1), RunStatus::completed);
  EXPECT_THAT(found().anomalies(), IsEmpty());
  EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt);
}

TEST_F(WaitStep, ends_in_any_queue_without_a_worker) {
  TestCore& core = open();
  StartRun command = start_of(1, definition_of(R"([{"name":"sleep","wait":{"for_ms":5000}}])"));
  command.queue = "slow";
  core.start(command);
  core.settle();
  expect_quiet_until(core, 5000);
  core.settle();
  EXPECT_EQ(status(1), RunStatus::completed);
}

TEST_F(WaitStep, wakes_after_a_late_restart) {
  TestCore& first = open();
  first.start(start_of(1, definition_of(R"([{"name":"sleep","wait":{"for_ms":5000}}])")));
  first.settle();
  first.core.request_checkpoint();
  first.decide();
  must(Core::save(*first.journal, first.core.take_checkpoint().value()));
  cores_.clear();
  clock_.advance_ms(60'000);
  TestCore& second = open();
  EXPECT_TRUE(second.core.has_work(clock_.now()));
  second.settle();
  EXPECT_EQ(second.commits(), 1U);
  EXPECT_EQ(status(1), RunStatus::completed);
}

TEST_F(WaitStep, of_a_cancelled_run_never_ends) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"sleep","wait":{"for_ms":5000}}])")));
  core.settle();
  core.cancel(run_no(1));
  core.settle();
  EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt);
  const std::uint64_t commits = core.commits();
  advance(core, 5000);
  EXPECT_EQ(core.commits(), commits);
}

TEST_F(WaitStep, wakes_a_thousand_runs_in_few_commits) {
  constexpr int kRuns = 1000;
  TestCore& core = open();
  const auto nap = definition_of(R"([{"name":"sleep","wait":{"for_ms":5000}}])");
  for (int run = 1; run <= kRuns; ++run) {
    core.start(start_of(run, nap));
  }
  core.settle();
  const std::uint64_t commits = core.commits();
  expect_quiet_until(core, 5000);
  core.settle();
  EXPECT_LE(core.commits(), commits + 2);
  EXPECT_EQ(core.core.state().runs().count(), 0U);
  const Audit all = found();
  EXPECT_EQ(all.runs.size(), std::size_t{kRuns});
  EXPECT_THAT(all.anomalies(), IsEmpty());
}

TEST_F(WaitStep, ends_once_when_two_engines_see_its_time) {
  TestCore& fast = open();
  fast.start(start_of(1, definition_of(R"([{"name":"sleep","wait":{"for_ms":5000}}])")));
  fast.settle();
  TestCore& slow = open();
  clock_.advance_ms(5000);
  slow.decide();
  const Core::Write what = slow.core.begin_write();
  fast.settle();
  slow.end(slow.commit(what));
  EXPECT_EQ(slow.core.stats().conflicts, 1U);
  slow.settle();
  EXPECT_EQ(slow.commits(), 0U);
  EXPECT_EQ(found().kinds.at("run_terminal"), 1U);
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(WaitStep, whose_definition_is_unknown_does_not_keep_the_engine_busy) {
  const auto journal = open_memory_journal(disk_);
  const auto nap = definition_of(R"([{"name":"sleep","wait":{"for_ms":5000}}])");
  Scribe run(*journal, 1, nap);
  run.start();
  run.schedule("sleep");
  TestCore& core = open();
  core.settle();
  expect_quiet_until(core, 5000);
  core.settle();
  EXPECT_FALSE(core.core.stopped().has_value());
  EXPECT_EQ(core.commits(), 1U) << "a claim, so that the wait is retried later";
  expect_quiet_until(core, static_cast<std::int64_t>(kDefaultLeaseMs));
  core.settle();
  EXPECT_EQ(core.commits(), 2U);
  EXPECT_EQ(status(1), RunStatus::running);
  core.definitions.add(nap);
  core.core.definitions_changed();
  advance(core, static_cast<std::int64_t>(kDefaultLeaseMs));
  EXPECT_EQ(status(1), RunStatus::completed);
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

using EventWaits = TimeTest;

TEST_F(EventWaits, time_out_at_exactly_their_time) {
  TestCore& core = open();
  core.start(start_of(
      1, definition_of(R"([{"name":"pay","await_event":{"event":"paid","timeout_ms":5000}}])")));
  core.settle();
  EXPECT_EQ(status(1), RunStatus::paused);
  expect_quiet_until(core, 5000);
  core.settle();
  EXPECT_EQ(status(1), RunStatus::failed);
  EXPECT_THAT(error_of(1), HasSubstr("event_timeout"));
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(EventWaits, that_have_ended_have_no_timer) {
  TestCore& core = open();
  core.start(start_of(
      1, definition_of(R"([{"name":"pay","await_event":{"event":"paid","timeout_ms":5000}}])")));
  core.settle();
  SendEvent event;
  event.event = "paid";
  event.source.idempotency_key = "k";
  const auto sent = core.send(run_no(1), event);
  core.settle();
  EXPECT_EQ(sent->code(), "ok");
  EXPECT_EQ(status(1), RunStatus::completed);
  EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt);
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

class AttemptTimeout : public TimeTest {
 protected:
  static constexpr std::string_view kOnce =
      R"([{"name":"a","lease_ms":60000,"timeout":{"start_to_close_ms":5000}}])";
  static constexpr std::string_view kTwice =
      R"([{"name":"a","lease_ms":60000,"timeout":{"start_to_close_ms":5000},)"
      R"("retry":{"max_attempts":2,"delay_ms":100}}])";
  static constexpr std::string_view kSoon =
      R"([{"name":"a","timeout":{"schedule_to_start_ms":5000},"retry":{"max_attempts":3}}])";
};

TEST_F(AttemptTimeout, fails_an_attempt_that_takes_too_long) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(kOnce)));
  const auto worker = core.worker();
  core.settle();
  expect_quiet_until(core, 5000);
  core.settle();
  EXPECT_THAT(error_of(1), HasSubstr("start_to_close_timeout"));
  EXPECT_THAT(worker->lost, SizeIs(1));
  EXPECT_THAT(found().anomalies(), IsEmpty());
  EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt);
}

TEST_F(AttemptTimeout, retries_and_refuses_the_late_report) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(kTwice)));
  const auto late = core.worker();
  core.settle();
  advance(core, 5000);
  EXPECT_THAT(late->lost, ElementsAre("stale_claim"));
  const auto report = core.complete(proof_of(late->assignment()), completion(R"({"late":true})"));
  core.settle();
  EXPECT_EQ(report->code(), "stale_claim");
  const auto second = core.worker();
  core.settle();
  EXPECT_EQ(second->calls, 0);
  expect_quiet_until(core, 100);
  core.settle();
  EXPECT_EQ(second->assignment().attempt_number, 2U);
  advance(core, 4999);
  finish(core, *second);
  EXPECT_EQ(status(1), RunStatus::completed);
  EXPECT_EQ(found().kinds.at("attempt_failed"), 1U);
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(AttemptTimeout, also_ends_the_attempt_of_a_lost_worker) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"a","lease_ms":1000,)"
                                       R"("timeout":{"start_to_close_ms":5000}}])")));
  const auto gone = core.worker();
  core.settle();
  core.core.drop(gone->assignment().claim_id);
  advance(core, 4999);
  EXPECT_EQ(status(1), RunStatus::running);
  advance(core, 1);
  EXPECT_THAT(error_of(1), HasSubstr("start_to_close_timeout"));
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(AttemptTimeout, counts_from_the_claim_and_not_from_the_heartbeat) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(R"([{"name":"a","lease_ms":3000,)"
                                       R"("timeout":{"start_to_close_ms":5000}}])")));
  advance(core, 2000);
  const auto worker = core.worker();
  core.settle();
  for (int second = 1; second < 5; ++second) {
    advance(core, 1000);
    EXPECT_EQ(status(1), RunStatus::running) << second;
  }
  advance(core, 1000);
  EXPECT_EQ(status(1), RunStatus::failed);
  EXPECT_GT(found().kinds.at("attempt_heartbeat"), 2U);
}

TEST_F(AttemptTimeout, fails_a_run_whose_attempt_is_never_claimed) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(kSoon)));
  core.settle();
  expect_quiet_until(core, 5000);
  core.settle();
  EXPECT_THAT(error_of(1), HasSubstr("schedule_to_start_timeout"));
  EXPECT_FALSE(found().runs.at(run_no(1))->find(runnable_key(run_no(1), "a", 2).view()))
      << "no worker claimed it, so a retry would not help";
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(AttemptTimeout, does_not_limit_execution_when_only_the_start_is_limited) {
  TestCore& core = open();
  core.start(start_of(1, definition_of(kSoon)));
  advance(core, 4999);
  const auto worker = core.worker();
  core.settle();
  for (int i = 0; i < 4; ++i) {
    advance(core, 9'000);
  }
  finish(core, *worker);
  EXPECT_EQ(status(1), RunStatus::completed);
}

TEST_F(AttemptTimeout, of_a_run_with_an_unknown_definition_does_not_stop_the_engine) {
  const auto journal = open_memory_journal(disk_);
  Scribe unclaimed(*journal, 1, definition_of(kSoon, "soon"));
  unclaimed.start();
  unclaimed.schedule("a");
  Scribe claimed(*journal, 2, definition_of(kOnce, "once"));
  claimed.start();
  claimed.schedule("a");
  claimed.claim("a", 60'000);
  TestCore& core = open();
  core.start(start_of(3, definition_of(kSoon, "known")));
  core.settle();
  advance(core, 5000);
  EXPECT_FALSE(core.core.stopped().has_value());
  EXPECT_EQ(status(1), RunStatus::running);
  EXPECT_EQ(status(2), RunStatus::running);
  EXPECT_EQ(status(3), RunStatus::failed) << "the other runs do not delay it";
  const std::uint64_t commits = core.commits();
  advance(core, 5000);
  EXPECT_LE(core.commits(), commits + 1);
  EXPECT_FALSE(core.core.has_work(clock_.now()));
  // Once the definition is known, the timeout applies.
  core.definitions.add(unclaimed.definition);
  core.core.definitions_changed();
  core.settle();
  EXPECT_THAT(error_of(1), HasSubstr("schedule_to_start_timeout"));
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

class RunTimeout : public TimeTest {
 protected:
  static std::shared_ptr<const Definition> within(std::uint64_t timeout_ms,
                                                  const std::string& steps) {
    return must(Definition::parse(R"({"workflow":"hasty","timeout_ms":)" +
                                  std::to_string(timeout_ms) + R"(,"steps":)" + steps + "}"));
  }
};

TEST_F(RunTimeout, ends_a_run_that_takes_too_long) {
  TestCore& core = open();
  core.start(start_of(1, within(9000, R"([{"name":"a","lease_ms":60000}])")));
  const auto worker = core.worker();
  core.settle();
  expect_quiet_until(core, 9000);
  core.settle();
  EXPECT_THAT(error_of(1), HasSubstr(R"("code":"run_timeout")"));
  EXPECT_THAT(worker->lost, ElementsAre("terminal_run"));
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(RunTimeout, is_removed_with_the_end_of_the_run) {
  TestCore& core = open();
  core.start(start_of(1, within(9000, R"([{"name":"a"}])")));
  const auto worker = core.worker();
  core.settle();
  finish(core, *worker);
  EXPECT_EQ(status(1), RunStatus::completed);
  EXPECT_EQ(core.core.next_timer(clock_.now()), std::nullopt);
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(RunTimeout, compensates_completed_steps) {
  TestCore& core = open();
  core.start(start_of(1, within(9000, R"([{"name":"a","compensate":"undo"},)"
                                      R"({"name":"b","after":["a"]}])")));
  const auto worker = core.worker();
  core.settle();
  finish(core, *worker);
  advance(core, 9000);
  EXPECT_EQ(status(1), RunStatus::compensating);
  const auto undo = core.worker();
  core.settle();
  EXPECT_EQ(undo->assignment().step, SharedText("compensate:a"));
  finish(core, *undo);
  EXPECT_EQ(status(1), RunStatus::failed);
  EXPECT_THAT(error_of(1), HasSubstr("run_timeout"));
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

// Every five minutes. The clock starts at 22:13:20, so the first time is 100 seconds away.
class CronTrigger : public TimeTest {
 protected:
  static constexpr std::int64_t kFirst = 100'000;
  static constexpr std::int64_t kEvery = 300'000;

  static std::shared_ptr<const Definition> every_five_minutes(
      const std::string& catch_up = "skip") {
    return must(Definition::parse(
        R"({"workflow":"report","steps":[{"name":"a"}],"triggers":[{"name":"often","cron":)"
        R"({"expression":"*/5 * * * *","timezone":"UTC","catch_up":")" +
        catch_up + R"("}}]})"));
  }
  TestCore& open_with(const std::shared_ptr<const Definition>& definition) {
    TestCore& core = open();
    const auto added = core.add(definition);
    core.settle();
    EXPECT_EQ(added->code(), "ok");
    return core;
  }
  // The scheduled times of the runs, as their steps see them.
  std::vector<std::string> windows() {
    std::vector<std::string> starts;
    const Audit all = found();
    for (const auto& [id, run] : all.runs) {
      const Json context = must(Json::parse(run->context().view()));
      const auto schedule = context.find("schedule");
      starts.emplace_back(schedule->find("intended_window")->find("start_at")->string().value());
    }
    std::sort(starts.begin(), starts.end());
    return starts;
  }
};

TEST_F(CronTrigger, starts_a_run_at_each_of_its_times) {
  TestCore& core = open_with(every_five_minutes());
  expect_quiet_until(core, kFirst);
  core.settle();
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:15:00.000Z"));
  expect_quiet_until(core, kEvery);
  core.settle();
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:15:00.000Z", "2023-11-14T22:20:00.000Z"));
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(CronTrigger, gives_its_runs_the_scheduled_time) {
  TestCore& core = open_with(every_five_minutes());
  const auto worker = core.worker();
  advance(core, kFirst);
  const std::string input(worker->assignment().input.view());
  EXPECT_THAT(input, HasSubstr(R"("schedule":{"workflow":"report","trigger_name":"often")"));
  EXPECT_THAT(input, HasSubstr(R"("intended_window":{"start_at":"2023-11-14T22:15:00.000Z",)"
                               R"("end_at":"2023-11-14T22:20:00.000Z"})"));
  const Audit all = found();
  const RunProjection& run = *all.runs.begin()->second;
  EXPECT_EQ(run.receipts().front().signal.signal_type, SignalType::start_cron);
  EXPECT_EQ(run.started()->trigger, SharedText("often"));
  EXPECT_FALSE(run.receipts().front().signal.signal_id.empty());
}

TEST_F(CronTrigger, starts_once_when_two_engines_see_its_time) {
  TestCore& fast = open_with(every_five_minutes());
  TestCore& slow = open_with(every_five_minutes());
  EXPECT_EQ(slow.commits(), 0U) << "the definition is registered already";
  clock_.advance_ms(kFirst);
  slow.decide();
  const Core::Write what = slow.core.begin_write();
  fast.settle();
  slow.end(slow.commit(what));
  slow.settle();
  EXPECT_EQ(slow.core.stats().conflicts, 1U);
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:15:00.000Z"));
  // The next time the roles are swapped.
  clock_.advance_ms(kEvery);
  slow.settle();
  fast.settle();
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:15:00.000Z", "2023-11-14T22:20:00.000Z"));
  EXPECT_EQ(found().kinds.at("run_started"), 2U);
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(CronTrigger, is_known_to_engines_that_did_not_register_it) {
  TestCore& other = open();
  open_with(every_five_minutes());
  other.core.check_for_changes();
  other.settle();
  EXPECT_EQ(other.core.next_timer(clock_.now()), after(kStart, kFirst));
  advance(other, kFirst);
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:15:00.000Z"));
}

TEST_F(CronTrigger, whose_start_is_lost_to_a_conflict_starts_again) {
  TestCore& core = open_with(every_five_minutes());
  TestCore& other = open();
  clock_.advance_ms(kFirst);
  core.hooks->before_append = [&]() -> Result<void> {
    // A writer without schedules appends first.
    Scribe(*other.journal, 7, one_).register_definition();
    return {};
  };
  core.settle();
  EXPECT_EQ(core.core.stats().conflicts, 1U);
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:15:00.000Z"));
  EXPECT_EQ(core.core.next_timer(clock_.now()), after(kStart, kFirst + kEvery));
}

TEST_F(CronTrigger, that_skips_ignores_times_without_a_running_engine) {
  open_with(every_five_minutes("skip"));
  cores_.clear();
  clock_.advance_ms(kFirst + 3 * kEvery + 60'000);
  TestCore& core = open();
  core.settle();
  EXPECT_THAT(windows(), IsEmpty());
  expect_quiet_until(core, kEvery - 60'000);
  core.settle();
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:35:00.000Z"));
}

TEST_F(CronTrigger, that_catches_up_starts_only_the_latest_missed_time) {
  open_with(every_five_minutes("latest"));
  cores_.clear();
  clock_.advance_ms(kFirst + 3 * kEvery + 60'000);
  TestCore& core = open();
  core.settle();
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:30:00.000Z"));
  const std::size_t before = batches();
  TestCore& again = open();
  again.settle();
  EXPECT_EQ(batches(), before) << "the run exists already";
  expect_quiet_until(again, kEvery - 60'000);
  again.settle();
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:30:00.000Z", "2023-11-14T22:35:00.000Z"));
}

TEST_F(CronTrigger, does_not_catch_up_with_times_before_its_registration) {
  TestCore& core = open_with(every_five_minutes("latest"));
  EXPECT_THAT(windows(), IsEmpty());
  EXPECT_EQ(core.core.next_timer(clock_.now()), after(kStart, kFirst));
}

TEST_F(CronTrigger, of_an_older_version_ends_when_a_newer_one_is_registered) {
  TestCore& core = open_with(every_five_minutes());
  core.add(must(Definition::parse(
      R"({"workflow":"report","version":"2","steps":[{"name":"a"}],"triggers":[{"name":"hourly",)"
      R"("cron":{"expression":"0 * * * *","timezone":"UTC"}}]})")));
  core.settle();
  EXPECT_EQ(core.core.next_timer(clock_.now()), after(kStart, 2'800'000)) << "23:00";
  advance(core, 2'800'000);
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T23:00:00.000Z"));
}

TEST_F(CronTrigger, of_a_newer_version_keeps_the_run_of_the_older_and_does_not_spin) {
  TestCore& core = open_with(every_five_minutes("latest"));
  advance(core, kFirst);
  core.add(must(Definition::parse(
      R"({"workflow":"report","version":"2","steps":[{"name":"a"}],"triggers":[{"name":"often",)"
      R"("cron":{"expression":"*/5 * * * *","timezone":"UTC","catch_up":"latest"}}]})")));
  core.settle();
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:15:00.000Z")) << "it cannot be started twice";
  EXPECT_FALSE(core.core.stopped().has_value());
  expect_quiet_until(core, kEvery);
  core.settle();
  EXPECT_THAT(windows(), ElementsAre("2023-11-14T22:15:00.000Z", "2023-11-14T22:20:00.000Z"));
}

}  // namespace
}  // namespace holdfast::engine_time_test
