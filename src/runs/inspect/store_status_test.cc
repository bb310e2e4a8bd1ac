// The counts of a whole store equal a count of every run, now and at every earlier position, with
// and without a checkpoint.
#include "runs/inspect/store_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/inspect/inspector.h"
#include "tests/support/recovery_fixture.h"

namespace holdfast::store_status_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Counts = std::map<std::string, std::uint64_t>;

class Status : public Recovery {
 protected:
  void SetUp() override { core_ = &open(); }

  StoreStatus status(const At& at = {}) {
    const auto journal = open_memory_journal(disk_);
    return must(Inspector(*journal, clock_).status(at));
  }
  static At position(std::uint64_t number) { return {At::Kind::position, number, {}}; }

  void start(int number, const std::shared_ptr<const Definition>& definition) {
    const auto started = core_->start(start_of(number, definition));
    core_->settle();
    ASSERT_EQ(started->code(), "ok");
  }
  Assignment take() {
    const auto worker = core_->worker();
    core_->settle();
    EXPECT_TRUE(worker->given.has_value());
    core_->core.drop(worker->assignment().claim_id);
    return worker->assignment();
  }
  void work(std::string_view opts = "") {
    Completion done = completion();
    done.execution_opts = Payload::trusted(opts);
    const auto answer = core_->complete(proof_of(take()), done);
    core_->settle();
    ASSERT_EQ(answer->code(), "ok");
  }
  void fail() {
    const auto answer = core_->fail(proof_of(take()), failure());
    core_->settle();
    ASSERT_EQ(answer->code(), "ok");
  }
  void cancel(int number) {
    const auto answer = core_->cancel(run_no(number));
    core_->settle();
    ASSERT_EQ(answer->code(), "ok");
  }
  // Runs that end in every way, and runs that have not ended.
  void live_a_while() {
    const auto paused = definition_of(R"([{"name":"look","pause":{}}])", "leave");
    const auto nap = definition_of(R"([{"name":"rest","wait":"1h"}])", "nap");
    const auto undone =
        definition_of(R"([{"name":"a","compensate":"undo"},{"name":"b","after":["a"]}])", "trip");
    for (int number = 1; number <= 4; ++number) {
      start(number, one_);
      clock_.advance_ms(10);
    }
    work();
    fail();
    work(R"({"continue_as_new":{"key":"next","input":{}}})");
    cancel(4);
    start(5, paused);
    start(6, nap);
    start(7, nap);
    cancel(7);
    work();  // the successor of run 3
    start(8, undone);
    work();
    fail();
    start(9, two_);
    if (save_checkpoint_now_) {
      save_checkpoint();
    }
    work();  // the compensation ends run 8
    work();
    work();  // run 9
    start(10, undone);
    work();
    fail();
    cancel(5);
    start(11, retried_);
  }
  void save_checkpoint() {
    core_->core.request_checkpoint();
    core_->core.decide(clock_.now());
    const auto checkpoint = core_->core.take_checkpoint();
    ASSERT_TRUE(checkpoint.has_value());
    must(Core::save(*core_->journal, *checkpoint));
  }
  // The counts computed from every single run.
  Counts counted(Position last) {
    Counts counts;
    for (const Entry& entry : must(journal_->load(catalog_thread()))) {
      if (entry.position <= last) {
        const RunId id = must(from_json<RunCataloged>(entry.data)).run_id;
        const auto stored = must(read_stored_run(*journal_, id, last));
        ++counts[std::string(to_text(stored.run->status()))];
      }
    }
    return counts;
  }
  static Counts all_of(const StoreStatus& status) {
    Counts counts = status.live;
    for (const auto& [name, number] : {std::pair("completed", status.ended.completed),
                                       {"failed", status.ended.failed},
                                       {"cancelled", status.ended.cancelled},
                                       {"continued", status.ended.continued}}) {
      if (number > 0) {
        counts[name] += number;
      }
    }
    return counts;
  }
  void expect_counts_everywhere() {
    for (std::uint64_t at = 0; at <= head().value; ++at) {
      EXPECT_EQ(all_of(status(position(at))), counted(Position{at})) << "at " << at;
    }
    EXPECT_EQ(all_of(status()), counted(head()));
  }

  TestCore* core_ = nullptr;
  bool save_checkpoint_now_ = false;
};

TEST_F(Status, runs_are_counted_by_status_at_every_position) {
  live_a_while();
  const StoreStatus now = status();
  EXPECT_THAT(now.live, ElementsAre(Pair("compensating", 1), Pair("running", 2)));
  EXPECT_EQ(now.ended.completed, 3U);
  EXPECT_EQ(now.ended.failed, 2U);
  EXPECT_EQ(now.ended.cancelled, 3U);
  EXPECT_EQ(now.ended.continued, 1U);
  EXPECT_EQ(now.ended.total(), 9U);
  expect_counts_everywhere();
}

TEST_F(Status, a_checkpoint_changes_no_count) {
  save_checkpoint_now_ = true;
  live_a_while();
  ASSERT_TRUE(
      must(journal_->find_checkpoint(live_checkpoint_name(), kLiveCheckpointVersion)).has_value());
  expect_counts_everywhere();
  std::vector<std::string> with;
  for (std::uint64_t at = 0; at <= head().value; ++at) {
    with.emplace_back(to_json(status(position(at))).view());
  }
  must(journal_->delete_checkpoint(live_checkpoint_name()));
  for (std::uint64_t at = 0; at <= head().value; ++at) {
    EXPECT_EQ(std::string(to_json(status(position(at))).view()), with[at]) << "at " << at;
  }
  // The core that ran all the time has the same counts.
  const StoreStatus known = must(store_status(core_->core.state(), {head(), clock_.now()}));
  EXPECT_EQ(std::string(to_json(known).view()), std::string(to_json(status()).view()));
}

TEST_F(Status, an_end_that_was_rolled_back_is_counted_once) {
  start(1, one_);
  const auto done = core_->complete(proof_of(take()), completion());
  core_->decide();
  TestCore& other = open();
  const auto started = other.start(start_of(2, one_));
  other.settle();
  ASSERT_EQ(started->code(), "ok");
  core_->settle();  // detects the conflict and decides again
  ASSERT_EQ(done->code(), "ok");
  ASSERT_EQ(core_->core.stats().conflicts, 1U);
  EXPECT_EQ(core_->core.state().runs().ended_counts().completed, 1U);
  EXPECT_EQ(status().ended.completed, 1U);
}

TEST_F(Status, boundaries_are_counted) {
  start(1, definition_of(R"([{"name":"x","pause":{}},{"name":"y","approval":{}}])", "leave"));
  start(2, definition_of(R"([{"name":"paid","await_event":"payment"}])", "sale"));
  EXPECT_EQ(status().manual_interventions, 3U);
  EXPECT_THAT(status().live, ElementsAre(Pair("paused", 2)));
}

TEST_F(Status, open_circuit_breakers_are_listed) {
  const auto guarded =
      definition_of(R"([{"name":"a","circuit_breaker":{"failures":1,"probe_after_ms":5000}}])");
  start(1, guarded);
  start(2, guarded);
  const TimeMs opened_at = clock_.now();
  fail();
  clock_.advance_ms(100);
  const auto open = [&] { return status().queues.front().open_circuits; };
  ASSERT_EQ(open().size(), 1U);
  EXPECT_EQ(open()[0].step, "a");
  EXPECT_EQ(open()[0].failures, 1U);
  EXPECT_EQ(open()[0].opened_at, opened_at);
  EXPECT_EQ(open()[0].probe_at, TimeMs{opened_at.value + 5000});
  EXPECT_FALSE(open()[0].probing);
  clock_.advance_ms(5000);
  const Assignment probe = take();
  EXPECT_TRUE(open()[0].probing);
  const auto done = core_->complete(proof_of(probe), completion());
  core_->settle();
  ASSERT_EQ(done->code(), "ok");
  EXPECT_THAT(status().queues, ::testing::IsEmpty());
}

TEST_F(Status, each_attempt_of_a_queue_is_counted_once) {
  const auto retried =
      definition_of(R"([{"name":"a","retry":{"max_attempts":2,"delay":"5m"}}])", "stubborn");
  start(1, retried);
  fail();  // retried in 5 min
  start(2, one_);
  take();  // its claim will expire
  clock_.advance_ms(1000);
  start(3, definition_of(R"([{"name":"b"}])", "other"));
  clock_.advance_ms(100);
  start(4, definition_of(R"([{"name":"rest","wait":"1h"}])", "nap"));
  const auto slow = definition_of(R"([{"name":"c","queue":"slow"}])", "slow");
  start(5, slow);
  const Assignment held = take();  // run 3
  ASSERT_EQ(held.run_id, run_no(3));
  start(6, one_);
  clock_.advance_ms(1000);
  start(7, one_);
  const StoreStatus early = status();
  ASSERT_EQ(early.queues.size(), 2U);
  const QueueStatus& before = early.queues.at(0);
  EXPECT_EQ(before.name, "default");
  EXPECT_EQ(before.claimed, 2U);
  EXPECT_EQ(before.expired, 0U);
  EXPECT_EQ(before.scheduled, 1U);
  EXPECT_EQ(before.sleeping, 1U);
  EXPECT_EQ(before.visible, 2U);
  EXPECT_EQ(before.oldest_claim_at, kStart);
  EXPECT_EQ(before.oldest_visible_at, after(kStart, 1100));
  EXPECT_EQ(before.next_visible_at, after(kStart, 300'000));
  EXPECT_THAT(before.waiting_by_handler, ElementsAre(Pair("a", 2)));
  EXPECT_THAT(before.claimed_by_owner, ElementsAre(Pair("core1", 2)));
  ASSERT_EQ(before.claims.size(), 2U);
  EXPECT_EQ(before.claims[0].run_id, to_string(run_no(2))) << "the oldest claim is first";
  EXPECT_EQ(before.claims[0].step, "a");
  EXPECT_EQ(before.claims[0].owner, "core1");
  EXPECT_EQ(early.queues.at(1).name, "slow");
  EXPECT_EQ(early.queues.at(1).visible, 1U);
  const std::int64_t lease = before.claims[0].lease_until.value - kStart.value;
  ASSERT_GT(lease, 2100);
  clock_.advance_ms(lease - 2100);
  const QueueStatus later = status().queues.at(0);
  EXPECT_EQ(later.claimed, 1U);
  EXPECT_EQ(later.expired, 1U);
  EXPECT_EQ(later.oldest_claim_at, after(kStart, 1100));
  EXPECT_EQ(later.claims.size(), 2U) << "claims held for too long are listed too";
}

TEST_F(Status, pending_recovery_is_counted) {
  Scribe& planned = story(1, one_);
  planned.register_definition();
  planned.start();
  EXPECT_EQ(status().pending_dispatches, 1U);
  planned.record(must(decide_cancel(planned.run, {}, OnCancel::stop, nothing_around(), kStart)));
  EXPECT_EQ(status().pending_dispatches, 0U) << "the run has ended, so it is not needed";
  Scribe& done = story(2, one_);
  done.start();
  done.schedule("a");
  done.claim("a");
  done.complete("a");
  Scribe& failed = story(3, one_);
  failed.start();
  failed.schedule("a");
  failed.claim("a");
  failed.fail("a", Scribe::Again::no);
  EXPECT_EQ(status().pending_results, 2U);
  EXPECT_EQ(status().pending_dispatches, 0U);
  EXPECT_EQ(status().anomalies, 0U);
  AttemptHeartbeat stranger = failed.of_claim<AttemptHeartbeat>("a", "stranger");
  stranger.lease_until = after(kStart, 1000);
  failed.emit(stranger);
  EXPECT_EQ(status().anomalies, 1U);
  EXPECT_EQ(status().queues.at(0).anomalies, 1U);
}

TEST_F(Status, the_json_status_has_totals_and_every_terminal_status) {
  EXPECT_EQ(std::string(to_json(status()).view()),
            R"({"schema_version":1,"runs":{"total":0,"live":0,"by_status":{"cancelled":0,)"
            R"("completed":0,"continued":0,"failed":0}},"queues":[],"manual_interventions":0,)"
            R"("pending_dispatches":0,"pending_results":0,"anomalies":0,"workflows":[],)"
            R"("as_of":{"position":0,"time":1700000000000}})");
  core_->add(one_);
  core_->settle();
  start(1, one_);
  start(2, one_);
  take();
  cancel(2);
  const std::string text(to_json(status()).view());
  EXPECT_THAT(text, HasSubstr(R"("runs":{"total":2,"live":1,"by_status":{"cancelled":1,)"
                              R"("completed":0,"continued":0,"failed":0,"running":1}})"));
  EXPECT_THAT(text, HasSubstr(R"("claims":[{"run_id":")" + to_string(run_no(1)) +
                              R"(","step":"a","owner":"core1","claimed_at":1700000000000,)"));
  EXPECT_THAT(text, HasSubstr(R"("workflows":["order"])"));
  EXPECT_THAT(text, testing::Not(HasSubstr("claim-1")));
}

}  // namespace
}  // namespace holdfast::store_status_test
