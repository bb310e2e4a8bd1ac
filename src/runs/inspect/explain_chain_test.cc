// Runs that wait for other runs: the explanation follows the chain to what the last run waits for.
// Read from a journal that a core writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/inspect/inspector.h"
#include "tests/support/core_fixture.h"
#include "tests/support/explain_support.h"

namespace holdfast::explain_chain_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kNow = "2023-11-14T22:13:20.000Z";  // kStart

class Chain : public CoreTest {
 protected:
  void SetUp() override { core_ = &open(); }

  void add(std::string_view workflow, std::string_view steps) {
    core_->add(definition_of(steps, workflow));
    core_->settle();
  }
  // Starts run 1, whose one step is a run of the workflow parcel.
  void start() {
    const auto started =
        core_->start(start_of(1, definition_of(R"([{"name":"ship","child":"parcel"}])", "order")));
    core_->settle();
    ASSERT_EQ(started->code(), "ok");
  }
  Assignment take(std::string_view handler) {
    const auto worker = core_->worker({SharedText(handler)});
    core_->settle();
    EXPECT_TRUE(worker->given.has_value());
    core_->core.drop(worker->assignment().claim_id);
    return worker->assignment();
  }
  void complete(const Assignment& given, std::string_view opts = "") {
    Completion done = completion();
    done.execution_opts = Payload::trusted(opts);
    const auto reported = core_->complete(proof_of(given), done);
    core_->settle();
    ASSERT_EQ(reported->code(), "ok");
  }
  RunId child_of(const RunId& run) {
    const auto stored = must(read_stored_run(*core_->journal, run, head()));
    EXPECT_EQ(stored.run->children().size(), 1U);
    return stored.run->children().begin()->first;
  }
  Position head() { return must(core_->journal->catch_up()); }
  Explanation why(const RunId& run = run_no(1)) {
    const auto journal = open_memory_journal(disk_);
    return must(Inspector(*journal, clock_).explain(run));
  }

  // Another journal that holds only the first entries of some threads.
  struct Part {
    std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
    std::unique_ptr<Journal> journal = open_memory_journal(disk);
  };
  void copy(Part& part, const ThreadId& thread, std::size_t entries = SIZE_MAX) {
    for (Entry& entry : must(core_->journal->load(thread, Revision{0}, entries))) {
      must(part.journal->append(thread, {NewEntry{std::string(entry.kind), entry.at,
                                                  must(JsonText::parse(entry.data))}}));
    }
  }
  Lines lines_of_part(Part& part) {
    return lines_of(must(Inspector(*part.journal, clock_).explain(run_no(1))));
  }

  TestCore* core_ = nullptr;
};

TEST_F(Chain, follows_three_runs_to_the_approval) {
  add("box", R"([{"name":"manager","approval":{"reason":"big"}}])");
  add("parcel", R"([{"name":"pack","child":"box"}])");
  start();
  const RunId parcel_id = child_of(run_no(1));
  const std::string parcel = to_string(parcel_id);
  const std::string box = to_string(child_of(parcel_id));
  clock_.advance_ms(5000);
  const Explanation explanation = why();
  EXPECT_THAT(
      lines_of(explanation),
      ElementsAre("waiting_for_child at ship, child since 1700000000000",
                  "waits for child run " + parcel +
                      " of workflow parcel, which waits for child "
                      "run " +
                      box + " of workflow box, which waits for approval manager, open since " +
                      kNow + " (big)",
                  "> resolve_manual_step: approve it $ holdfast approve " + box +
                      " --step manager --actor YOU",
                  "> resolve_manual_step: reject it $ holdfast reject " + box +
                      " --step manager --actor YOU",
                  "> inspect_child_run: inspect the child run $ holdfast explain " + box,
                  "> inspect_child_run: inspect the child run $ holdfast explain " + parcel));
  const Cause& ship = explanation.causes.at(0);
  EXPECT_EQ(ship.run_id, parcel);
  EXPECT_EQ(ship.causes.at(0).run_id, box);
  EXPECT_EQ(ship.causes.at(0).step, "pack");
  EXPECT_EQ(lines_of(ship.causes.at(0).causes.at(0)).at(0),
            "manual_intervention_required at manager, approval since 1700000000000");
}

TEST_F(Chain, a_sleeping_child_gives_its_wake_time) {
  add("parcel", R"([{"name":"rest","wait":"1h"}])");
  start();
  const std::string child = to_string(child_of(run_no(1)));
  EXPECT_THAT(
      lines_of(why()),
      ElementsAre("waiting_for_child at ship, child since 1700000000000 until "
                  "1700003600000",
                  "waits for child run " + child +
                      " of workflow parcel, which sleeps at step rest until "
                      "2023-11-14T23:13:20.000Z",
                  "> wait_until_attempt_visible: an engine process continues at "
                  "2023-11-14T23:13:20.000Z @ 1700003600000",
                  "> inspect_child_run: inspect the child run $ holdfast explain " + child));
}

TEST_F(Chain, a_child_shows_whether_its_worker_is_executing_or_lost) {
  add("parcel", R"([{"name":"pack","lease":"30s"}])");
  start();
  EXPECT_THAT(why().summary, HasSubstr("which waits for a worker of queue default to claim attempt "
                                       "1 at step pack (handler pack) since " +
                                       kNow));
  take("pack");
  EXPECT_EQ(lines_of(why()).at(0),
            "waiting_for_child at ship, child since 1700000000000 until 1700000030000");
  EXPECT_THAT(why().summary, HasSubstr("which is executing attempt 1 at step pack on core1"));
  clock_.advance_ms(30'000);
  EXPECT_EQ(lines_of(why()).at(0), "waiting_for_child at ship, child since 1700000000000");
  EXPECT_THAT(why().summary,
              HasSubstr("which waits for a worker to take over attempt 1 at step pack "
                        "from core1, whose lease expired at "));
  EXPECT_THAT(lines_of(why()).at(2), StartsWith("> recover_expired_claim: "));
}

TEST_F(Chain, a_child_that_waits_for_an_event_names_it_and_the_command_to_send_it) {
  add("parcel", R"([{"name":"paid","await_event":{"event":"payment"}}])");
  start();
  const std::string child = to_string(child_of(run_no(1)));
  EXPECT_EQ(why().summary, "waits for child run " + child +
                               " of workflow parcel, which waits for event payment at step paid "
                               "since " +
                               kNow);
  EXPECT_EQ(lines_of(why()).at(2),
            "> deliver_external_event: send event payment $ holdfast "
            "signal " +
                child + " payment");
}

TEST_F(Chain, a_continued_child_is_explained_by_its_successor) {
  add("parcel", R"([{"name":"pack"}])");
  start();
  const RunId first = child_of(run_no(1));
  complete(take("pack"), R"({"continue_as_new":{"key":"two","input":{}}})");
  complete(take("pack"), R"({"continue_as_new":{"key":"three","input":{}}})");
  const RunId second = successor_run_id(first, "two");
  const std::string third = to_string(successor_run_id(second, "three"));
  EXPECT_EQ(why().causes.at(0).run_id, third);
  EXPECT_THAT(why().summary, StartsWith("waits for child run " + third +
                                        " of workflow parcel, which waits for a worker"));
  EXPECT_EQ(lines_of(why()).back(),
            "> inspect_child_run: inspect the child run $ holdfast explain " + third);
  EXPECT_THAT(why(first).summary, StartsWith("continued as run " + to_string(second)));
}

TEST_F(Chain, a_child_that_was_not_started_waits_for_an_engine) {
  const auto order = definition_of(R"([{"name":"ship","child":"parcel"}])", "order");
  add("parcel", R"([{"name":"pack"}])");
  start();
  const std::string child = to_string(child_of(run_no(1)));
  Part part;
  copy(part, definition_thread(order->fingerprint().view()));
  copy(part, run_thread(run_no(1)));
  EXPECT_THAT(
      lines_of_part(part),
      ElementsAre("planned_dispatch_pending_schedule at ship, child since 1700000000000",
                  "waits for child run " + child + " of workflow parcel, which is not started yet",
                  "> schedule_pending_dispatch: an engine process starts it: any program "
                  "that has the store open, or this $ holdfast work"));
}

TEST_F(Chain, a_child_that_ended_without_notifying_waits_for_an_engine) {
  const auto order = definition_of(R"([{"name":"ship","child":"parcel"}])", "order");
  add("parcel", R"([{"name":"pack"}])");
  start();
  const RunId child = child_of(run_no(1));
  const Revision before = must(core_->journal->revision(run_thread(run_no(1))));
  complete(take("pack"));
  Part part;
  copy(part, definition_thread(order->fingerprint().view()));
  copy(part, run_thread(run_no(1)), before.value);
  copy(part, run_thread(child));
  EXPECT_THAT(
      lines_of_part(part),
      ElementsAre("completed_result_pending_apply at ship, child since 1700000000000",
                  "waits for child run " + to_string(child) +
                      " of workflow parcel, which has ended (completed) without notifying "
                      "step ship",
                  "> cancel_run: cancel the run $ holdfast cancel " + to_string(run_no(1))));
}

TEST_F(Chain, after_a_retry_the_new_child_is_explained) {
  add("parcel", R"([{"name":"pack"}])");
  const auto started = core_->start(
      start_of(1, definition_of(R"([{"name":"ship","child":"parcel","retry":{"max_attempts":2,)"
                                R"("delay":"10s"}}])",
                                "order")));
  core_->settle();
  ASSERT_EQ(started->code(), "ok");
  const std::string first = to_string(child_of(run_no(1)));
  const auto failed = core_->fail(proof_of(take("pack")), failure());
  core_->settle();
  ASSERT_EQ(failed->code(), "ok");
  EXPECT_EQ(why().summary, "sleeps at step ship until 2023-11-14T22:13:30.000Z");
  clock_.advance_ms(10'000);
  core_->settle();
  EXPECT_EQ(why().reason, Reason::waiting_for_child);
  EXPECT_NE(why().causes.at(0).run_id, first);
}

TEST_F(Chain, an_item_that_is_a_child_run_is_explained_by_it) {
  add("parcel", R"([{"name":"manager","approval":{}}])");
  const auto started = core_->start(start_of(
      1, definition_of(R"([{"name":"ship","child":"parcel","for_each":[1,2]}])", "order")));
  core_->settle();
  ASSERT_EQ(started->code(), "ok");
  const Explanation explanation = why();
  EXPECT_EQ(explanation.reason, Reason::waiting_for_child);
  EXPECT_EQ(explanation.step, "ship");
  EXPECT_THAT(explanation.summary, StartsWith("has 0 of 2 items of step ship done and waits for "
                                              "child run "));
  ASSERT_EQ(explanation.causes.at(0).causes.size(), 2U);
  EXPECT_EQ(explanation.causes.at(0).causes.at(1).step, "ship[1]");
}

}  // namespace
}  // namespace holdfast::explain_chain_test
