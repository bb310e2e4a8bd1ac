// Facts that are late, early or malformed change nothing and do not stop the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/recovery_fixture.h"

namespace holdfast::engine_late_facts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Facts that follow the end of their run.
class LateFacts : public Recovery {
 protected:
  Scribe& ended_run() {
    Scribe& run = story(1, two_);
    run.register_definition();
    run.start();
    run.work("a");
    run.work("b");
    return run;
  }
  void late_facts(Scribe& run) {
    AttemptScheduled again = intent_of(run.run.latest("b")->plan, run.definition->workflow());
    again.runnable_key = "late";
    run.append(dispatch_thread(kDefaultQueue), to_entry(DispatchFact(again), run.now));
    AttemptClaimed claimed = run.of_claim<AttemptClaimed>("b", "late");
    claimed.runnable_key = "late";
    claimed.owner_id = "late";
    claimed.lease_until = after(run.now, 1000);
    run.append(dispatch_thread(kDefaultQueue), to_entry(DispatchFact(claimed), run.now));
    AttemptCompleted completed = run.of_claim<AttemptCompleted>("b", "late");
    completed.runnable_key = "late";
    completed.result = Payload::trusted("{}");
    run.append(dispatch_thread(kDefaultQueue), to_entry(DispatchFact(completed), run.now));
    RunnableApplied applied;
    applied.run_id = run_no(1);
    applied.runnable_key = "late";
    applied.result = Payload::trusted("{}");
    run.append(run_thread(run_no(1)), to_entry(RunFact(applied), run.now));
  }
  void expect_nothing_happens(TestCore& core) {
    const Position end = head();
    const auto worker = core.worker();
    core.core.check_for_changes();
    core.settle();
    clock_.advance_ms(100'000);
    core.settle();
    EXPECT_EQ(worker->calls, 0);
    EXPECT_EQ(head(), end);
    EXPECT_EQ(core.core.state().runs().count(), 0U);
    EXPECT_EQ(core.core.state().queues().attempt_count(), 0U);
    EXPECT_TRUE(core.core.state().pending_recovery().empty());
    core.core.withdraw_request(worker->waiting);
  }
};

TEST_F(LateFacts, are_anomalies_and_change_nothing) {
  Scribe& run = ended_run();
  TestCore& witness = open();
  witness.settle();
  late_facts(run);
  expect_nothing_happens(witness);
  std::vector<std::string> reasons;
  for (const Anomaly& anomaly : witness.core.state().queues().get(kDefaultQueue).anomalies()) {
    reasons.push_back(anomaly.reason.str());
  }
  EXPECT_THAT(reasons, SizeIs(3));
  EXPECT_EQ(reasons.front(), "terminal_run");
  EXPECT_EQ(status(1), RunStatus::completed);
  expect_nothing_happens(open());
  expect_same_as_newcomers(witness);
}

TEST_F(LateFacts, in_the_batch_that_ends_the_run_change_nothing) {
  Scribe& run = story(1, one_);
  run.register_definition();
  run.start();
  run.schedule("a");
  run.claim("a");
  RunTerminal terminal;
  terminal.run_id = run_no(1);
  terminal.status = TerminalStatus::cancelled;
  AttemptCompleted completed = run.of_claim<AttemptCompleted>("a", "dead");
  completed.result = Payload::trusted("{}");
  must(journal_->commit(
      {ThreadAppend{
           run_thread(run_no(1)), std::nullopt, {must(to_entry(RunFact(terminal), kStart))}},
       ThreadAppend{dispatch_thread(kDefaultQueue),
                    std::nullopt,
                    {must(to_entry(DispatchFact(completed), kStart))}}}));
  expect_nothing_happens(open());
  expect_same_from_every_cut();
}

TEST_F(LateFacts, a_second_start_or_plan_does_not_revive_the_run) {
  Scribe& run = ended_run();
  TestCore& witness = open();
  witness.settle();
  RunStarted started = *run.run.started();
  run.append(run_thread(run_no(1)), to_entry(RunFact(started), run.now));
  started.input = Payload::trusted(R"({"other":true})");
  run.append(run_thread(run_no(1)), to_entry(RunFact(started), run.now));
  RunnablesPlanned planned;
  planned.run_id = run_no(1);
  planned.runnables.push_back(run.run.latest("b")->plan);
  planned.runnables.back().runnable_key = "late";
  run.append(run_thread(run_no(1)), to_entry(RunFact(planned), run.now));
  late_facts(run);
  expect_nothing_happens(witness);
  expect_nothing_happens(open());
  expect_same_as_newcomers(witness);
}

TEST_F(LateFacts, a_child_linked_after_the_end_is_not_started) {
  Scribe& run = story(1, one_);
  run.register_definition();
  story(2, two_).register_definition();
  run.start();
  const ChildRunStarted link = link_from(run, two_);
  run.work("a");
  run.append(run_thread(run_no(1)), to_entry(RunFact(link), run.now));
  TestCore& core = open();
  core.settle();
  EXPECT_FALSE(audit(journal_->log()).runs.contains(link.child_run_id));
  expect_same_as_newcomers(core);
}

TEST_F(LateFacts, of_a_run_whose_definition_is_damaged_do_not_stop_the_engine) {
  Scribe& run = story(1, two_);
  run.append(definition_thread(two_->fingerprint().view()), entry("definition_registered"));
  run.start();
  run.work("a");
  run.work("b");
  late_facts(run);
  expect_nothing_happens(open());
}

TEST_F(Recovery, attempts_that_precede_their_run_give_every_process_the_same_state) {
  Scribe& run = story(1, one_);
  run.register_definition();
  TestCore& witness = open();
  // The queue receives the attempt first.
  const auto other_disk = std::make_shared<MemoryDisk>();
  auto elsewhere = open_memory_journal(other_disk);
  Scribe draft(*elsewhere, 1, one_);
  draft.start();
  run.append(
      dispatch_thread(kDefaultQueue),
      to_entry(DispatchFact(intent_of(draft.run.latest("a")->plan, one_->workflow())), run.now));
  witness.core.check_for_changes();
  witness.settle();
  run.start();
  witness.core.check_for_changes();
  witness.settle();
  EXPECT_THAT(work_off(witness), ElementsAre("a/1"));
  EXPECT_THAT(audit(journal_->log()).anomalies(), IsEmpty());
  expect_same_as_newcomers(witness);
}

TEST_F(Recovery, malformed_facts_do_not_stop_the_engine) {
  Scribe& run = story(1, two_);
  run.register_definition();
  run.start();
  TestCore& witness = open();
  const auto spoil = [&](std::string_view name) {
    for (const char* kind :
         {"attempt_scheduled", "attempt_completed", "run_started", "run_terminal",
          "runnables_planned", "child_run_started", "no_such_kind"}) {
      run.append(thread(name), entry(kind));
      run.append(thread(name), entry(kind, R"({"run_id":7,"runnables":[{}],"x":[[1]]})"));
    }
  };
  spoil("dispatch:default");
  spoil("dispatch:another");
  spoil(run_thread(run_no(1)).text());
  spoil(run_thread(run_no(2)).text());
  spoil("run:no-uuid");
  spoil("definition:f00");
  spoil("run_index:order");
  // Facts about one run in the thread of another.
  RunTerminal terminal;
  terminal.run_id = run_no(1);
  run.append(run_thread(run_no(5)), to_entry(RunFact(terminal), run.now));
  witness.core.check_for_changes();
  witness.settle();
  EXPECT_THAT(work_off(witness), ElementsAre("a/1", "b/1"));
  EXPECT_EQ(status(1), RunStatus::completed);
  expect_same_as_newcomers(witness);
}

}  // namespace
}  // namespace holdfast::engine_late_facts_test
