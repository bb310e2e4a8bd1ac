// The core of the engine's loop, driven step by step: what is decided, written and replied, and
// when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace holdfast::engine_core_test {
namespace {

using ::testing::ElementsAre;

TEST_F(CoreTest, a_reply_waits_for_the_disk) {
  TestCore& core = open();
  const auto started = core.start(start_of(1, one_));
  core.decide();
  EXPECT_EQ(started->decided, 1);
  EXPECT_EQ(started->settled, 0);
  const Core::Write what = core.core.begin_write();
  const auto outcome = core.commit(what);
  EXPECT_EQ(started->settled, 0) << "the write has not been reported to the core";
  core.end(outcome);
  EXPECT_EQ(started->settled, 1);
  EXPECT_EQ(started->code(), "ok");
}

TEST_F(CoreTest, a_query_waits_until_the_state_it_read_is_durable) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  const auto same_group =
      core.execute<bool>([](Turn& turn) { return turn.state().runs().is_live(run_no(1)); });
  core.decide();
  const Core::Write what = core.core.begin_write();
  const auto next_group =
      core.execute<bool>([](Turn& turn) { return turn.state().runs().is_live(run_no(1)); });
  core.decide();
  EXPECT_EQ(next_group->decided, 1);
  EXPECT_EQ(same_group->settled + next_group->settled, 0);
  core.end(core.commit(what));
  EXPECT_TRUE(must(*same_group->result));
  EXPECT_TRUE(must(*next_group->result));
}

TEST_F(CoreTest, a_query_on_a_lost_group_is_repeated) {
  TestCore& mine = open();
  TestCore& other = open();
  mine.start(start_of(1, one_));
  const auto seen =
      mine.execute<std::size_t>([](Turn& turn) { return turn.state().runs().count(); });
  mine.decide();
  other.start(start_of(2, one_));
  other.settle();
  mine.write();
  EXPECT_EQ(seen->settled, 0);
  mine.settle();
  EXPECT_EQ(must(*seen->result), 2U);
  EXPECT_EQ(seen->settled, 1);
}

TEST_F(CoreTest, a_query_on_durable_state_does_not_wait_for_the_disk) {
  TestCore& core = open();
  const auto seen =
      core.execute<std::size_t>([](Turn& turn) { return turn.state().runs().count(); });
  core.decide();
  EXPECT_EQ(must(*seen->result), 0U);
  EXPECT_FALSE(core.core.can_write());
}

TEST_F(CoreTest, after_a_lost_race_the_core_rolls_back_catches_up_and_decides_again) {
  TestCore& mine = open();
  TestCore& other = open();
  const auto first = mine.start(start_of(1, one_));
  const auto same = mine.start(start_of(7, one_));
  mine.decide();
  // The next group has been decided by the time the first is lost.
  const Core::Write what = mine.core.begin_write();
  const auto second = mine.start(start_of(2, one_));
  mine.decide();
  const auto theirs = other.start(start_of(7, one_));
  other.settle();
  EXPECT_FALSE(must(*theirs->result).existed);

  const auto outcome = mine.commit(what);
  ASSERT_EQ(code_of(outcome), "conflict");
  mine.end(outcome);
  EXPECT_EQ(first->settled + same->settled + second->settled, 0);
  mine.settle();
  for (const auto& answer : {first, same, second}) {
    EXPECT_EQ(answer->settled, 1);
    EXPECT_EQ(answer->decided, 2);
    EXPECT_EQ(answer->code(), "ok");
  }
  EXPECT_TRUE(must(*same->result).existed) << "the other process was first";
  EXPECT_EQ(mine.core.stats().conflicts, 1U);
  other.core.check_for_changes();
  other.settle();
  EXPECT_EQ(mine.core.state().encode(), other.core.state().encode());
  EXPECT_EQ(mine.core.state().encode(), folded_anew());
}

TEST_F(CoreTest, the_loser_of_a_race_to_start_a_run_continues_with_the_definition_of_the_winner) {
  TestCore& mine = open();
  TestCore& other = open();
  const auto lost = mine.start(start_of(1, definition_of(R"([{"name":"x"}])", "mine")));
  mine.decide();
  const Core::Write what = mine.core.begin_write();
  other.start(start_of(1, definition_of(R"([{"name":"x"},{"name":"y","after":["x"]}])", "theirs")));
  other.settle();
  mine.end(mine.commit(what));
  const auto worker = mine.worker();
  mine.settle();
  EXPECT_EQ(lost->code(), "run_exists");
  ASSERT_EQ(worker->code(), "ok");
  mine.complete(proof_of(worker->assignment()), completion());
  const auto next = mine.worker();
  mine.settle();
  ASSERT_EQ(next->code(), "ok") << "the run ended after the step that both definitions have";
  EXPECT_EQ(next->assignment().step, SharedText("y"));
}

TEST_F(CoreTest, a_reply_without_a_write_reflects_the_writes_of_other_processes) {
  TestCore& mine = open();
  TestCore& other = open();
  other.start(start_of(1, one_));
  other.settle();
  // This process has not been notified of the change.
  const auto found = mine.cancel(run_no(1));
  const auto seen =
      mine.execute<bool>([](Turn& turn) { return turn.state().runs().exists(run_no(1)); });
  mine.settle();
  EXPECT_EQ(found->code(), "ok");
  EXPECT_TRUE(must(*seen->result));
  const auto again =
      other.execute<bool>([](Turn& turn) { return turn.state().runs().is_live(run_no(1)); });
  other.settle();
  EXPECT_FALSE(must(*again->result));
}

TEST_F(CoreTest, a_reply_decided_during_a_write_reflects_later_writes_of_other_processes) {
  TestCore& mine = open();
  TestCore& other = open();
  mine.start(start_of(1, one_));
  mine.decide();
  const auto outcome = mine.commit(mine.core.begin_write());
  other.start(start_of(2, one_));
  other.settle();
  const auto seen =
      mine.execute<bool>([](Turn& turn) { return turn.state().runs().is_live(run_no(2)); });
  mine.decide();
  mine.end(outcome);
  mine.settle();
  EXPECT_TRUE(must(*seen->result));
}

TEST_F(CoreTest, two_cores_that_take_turns_settle_every_command_once) {
  TestCore& left = open();
  TestCore& right = open();
  std::vector<std::shared_ptr<Answer<Started>>> answers;
  SeededRandom random(1);
  for (int i = 1; i <= 200; ++i) {
    TestCore& core = random.below(2) == 0 ? left : right;
    answers.push_back(core.start(start_of(1 + static_cast<int>(random.below(150)), one_)));
    for (std::uint64_t todo = random.below(3); todo > 0; --todo) {
      TestCore& driven = random.below(2) == 0 ? left : right;
      driven.decide();
      driven.write();
    }
  }
  left.settle();
  right.settle();
  left.core.check_for_changes();
  left.settle();
  for (const auto& answer : answers) {
    EXPECT_EQ(answer->settled, 1);
    EXPECT_EQ(answer->code(), "ok");
  }
  EXPECT_GT(left.core.stats().conflicts + right.core.stats().conflicts, 10U);
  EXPECT_EQ(left.core.state().encode(), right.core.state().encode());
  EXPECT_EQ(left.core.state().encode(), folded_anew());
}

TEST_F(CoreTest, a_failed_write_stops_the_core_and_fails_every_pending_command) {
  TestCore& core = open();
  core.start(start_of(9, one_));
  const auto holder = core.worker();
  core.settle();
  ASSERT_EQ(holder->code(), "ok");
  const auto waiting = core.worker();
  core.settle();

  const auto writing = core.start(start_of(1, one_));
  core.decide();
  const Core::Write what = core.core.begin_write();
  const auto deciding = core.start(start_of(2, one_));
  core.decide();
  const auto in_line = core.start(start_of(3, one_));
  core.hooks->before_append = [] { return Error{ErrorCode::io_error, "the disk was removed"}; };
  core.end(core.commit(what));

  EXPECT_EQ(writing->code(), "io_error");
  EXPECT_EQ(deciding->code(), "engine_stopped");
  EXPECT_EQ(in_line->code(), "engine_stopped");
  EXPECT_EQ(waiting->code(), "engine_stopped");
  EXPECT_THAT(holder->lost, ElementsAre("engine_stopped"));
  const auto later = core.start(start_of(4, one_));
  const auto late_worker = core.worker();
  core.carry_out();
  EXPECT_EQ(later->code(), "engine_stopped");
  EXPECT_EQ(late_worker->code(), "engine_stopped");
  for (const auto& answer : {writing, deciding, in_line, later}) {
    EXPECT_EQ(answer->settled, 1);
  }
  EXPECT_EQ(waiting->calls, 1);
  EXPECT_TRUE(core.core.stopped().has_value());
  EXPECT_FALSE(core.core.has_work(clock_.now()));
  EXPECT_FALSE(core.core.can_write());
}

TEST_F(CoreTest, a_busy_store_is_retried_a_limited_number_of_times) {
  TestCore& core = open();
  const auto busy = [] { return Error{ErrorCode::busy, "locked"}; };
  const auto patient = core.start(start_of(1, one_));
  core.decide();
  core.hooks->before_append = busy;
  core.write();
  EXPECT_EQ(patient->settled, 0);
  core.settle();
  EXPECT_EQ(patient->code(), "ok");
  EXPECT_EQ(core.core.stats().conflicts, 0U);

  const auto hopeless = core.start(start_of(2, one_));
  for (int tries = 0; tries < 100 && hopeless->settled == 0; ++tries) {
    core.hooks->before_append = busy;
    core.decide();
    core.write();
  }
  EXPECT_EQ(hopeless->code(), "busy");
  EXPECT_TRUE(core.core.stopped().has_value());
}

TEST_F(CoreTest, a_refusal_after_emitted_facts_leaves_none_of_them) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  core.settle();
  const std::string before = core.core.state().encode();
  const std::size_t written = batches();
  const auto refused = core.execute<Done>([&](Turn& turn) -> Result<Done> {
    HOLDFAST_TRY(const auto started, start_run(turn, start_of(2, two_), IdOrigin::given));
    EXPECT_FALSE(started.existed);
    return Error{ErrorCode::invalid_argument, "on second thoughts"};
  });
  core.settle();
  EXPECT_EQ(refused->code(), "invalid_argument");
  EXPECT_EQ(refused->settled, 1);
  EXPECT_EQ(batches(), written);
  EXPECT_EQ(core.core.state().encode(), before);
  EXPECT_FALSE(must(core.core.state().runs().exists(run_no(2))));
  // A later start can use the same id.
  const auto meant = core.start(start_of(2, one_));
  core.settle();
  EXPECT_EQ(meant->code(), "ok");
  EXPECT_EQ(core.core.state().encode(), folded_anew());
}

TEST_F(CoreTest, a_refusal_between_two_commands_of_one_group_rolls_back_only_its_own_facts) {
  TestCore& core = open();
  const auto first = core.start(start_of(1, one_));
  const auto refused = core.execute<Done>([&](Turn& turn) -> Result<Done> {
    HOLDFAST_TRY(const auto started, start_run(turn, start_of(2, one_), IdOrigin::given));
    static_cast<void>(started);
    return Error{ErrorCode::invalid_argument, "on second thoughts"};
  });
  const auto last = core.start(start_of(3, one_));
  core.settle();
  EXPECT_EQ(first->code(), "ok");
  EXPECT_EQ(refused->code(), "invalid_argument");
  EXPECT_EQ(last->code(), "ok");
  EXPECT_EQ(batches(), 1U);
  EXPECT_EQ(core.core.state().runs().count(), 2U);
  EXPECT_EQ(core.core.state().encode(), folded_anew());
}

TEST_F(CoreTest, a_group_ends_at_its_size_limit) {
  TestCore& core = open({.max_group_bytes = 1});
  std::vector<std::shared_ptr<Answer<Started>>> answers;
  for (int i = 1; i <= 5; ++i) {
    answers.push_back(core.start(start_of(i, one_)));
  }
  core.decide();
  EXPECT_FALSE(core.core.has_work(clock_.now())) << "the group is full";
  EXPECT_EQ(answers[1]->decided, 0);
  core.settle();
  EXPECT_EQ(core.commits(), 5U);
  for (const auto& answer : answers) {
    EXPECT_EQ(answer->code(), "ok");
  }
}

TEST_F(CoreTest, a_checkpoint_is_written_after_enough_facts_and_used_by_the_next_start) {
  TestCore& first = open({.checkpoint_every = 20});
  for (int i = 1; i <= 10; ++i) {
    first.start(start_of(i, one_));
    first.settle();
  }
  const auto checkpoint = first.core.take_checkpoint();
  ASSERT_TRUE(checkpoint.has_value());
  must(Core::save(*first.journal, *checkpoint));
  first.start(start_of(11, one_));
  first.settle();

  TestCore& second = open();
  EXPECT_EQ(second.core.state().encode(), first.core.state().encode());
  EXPECT_EQ(second.core.state().encode(), folded_anew());
  EXPECT_EQ(second.core.state().runs().count(), 11U);
}

TEST_F(CoreTest, a_checkpoint_waits_until_no_write_is_in_progress) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  core.settle();
  core.start(start_of(2, one_));
  core.decide();
  core.core.request_checkpoint();
  core.start(start_of(3, one_));
  EXPECT_FALSE(core.core.has_work(clock_.now()));
  core.decide();
  EXPECT_FALSE(core.core.take_checkpoint().has_value());
  core.settle();
  const auto checkpoint = core.core.take_checkpoint();
  ASSERT_TRUE(checkpoint.has_value());
  must(Core::save(*core.journal, *checkpoint));
  EXPECT_EQ(open().core.state().encode(), core.core.state().encode());
  EXPECT_EQ(core.core.state().runs().count(), 3U);
}

TEST_F(CoreTest, a_change_to_a_run_while_its_end_is_being_written_is_kept) {
  TestCore& core = open();
  core.start(start_of(1, one_));
  core.settle();
  const auto archive = [&] {
    const auto done =
        core.change(run_no(1), [](RunProjection& run, const Surroundings&, TimeMs now) {
          return decide_archive(run, "old", now);
        });
    core.decide();
    return done;
  };
  core.cancel(run_no(1));
  core.decide();
  const Core::Write end = core.core.begin_write();
  const auto once = archive();
  core.end(core.commit(end));
  const auto twice = archive();
  core.settle();
  EXPECT_EQ(once->code() + " " + twice->code(), "ok ok");
  const auto entries = must(core.journal->load(run_thread(run_no(1))));
  EXPECT_EQ(std::count_if(entries.begin(), entries.end(),
                          [](const Entry& entry) { return entry.kind == RunArchived::kKind; }),
            1);
}

TEST_F(CoreTest, a_damaged_or_foreign_checkpoint_is_discarded) {
  TestCore& core = open();
  for (int i = 1; i <= 3; ++i) {
    core.start(start_of(i, one_));
    core.settle();
  }
  core.core.request_checkpoint();
  core.decide();
  Checkpoint checkpoint = *core.core.take_checkpoint();
  const std::string good = checkpoint.data;
  const std::string chain = good.substr(good.find("\"chain\":\"") + 9, 10);
  std::string other_chain = good;
  other_chain.replace(good.find(chain), 10, chain == "0123456789" ? "9876543210" : "0123456789");
  std::string future = good;
  future.replace(good.find("\"position\":3"), 12, "\"position\":9");
  for (const std::string& bytes : {std::string(), std::string("{"), std::string("{}"),
                                   good.substr(0, good.size() / 2), other_chain, future}) {
    checkpoint.data = bytes;
    must(Core::save(*core.journal, checkpoint));
    EXPECT_EQ(open().core.state().encode(), good);
  }
}

// The journal is behind the log: another writer appended a batch in between.
TEST_F(CoreTest, a_batch_appended_while_the_core_catches_up_is_applied_completely) {
  TestCore& core = open();
  TestCore& other = open();
  core.start(start_of(1, two_));
  core.settle();
  core.core.state().trim();
  TestCore& late = open();  // the run is not loaded
  other.core.check_for_changes();
  const auto worker = other.worker();
  other.settle();
  ASSERT_EQ(worker->code(), "ok");

  late.core.check_for_changes();
  // After the journal has read to the end, and before the core has.
  late.hooks->after_read = [&] {
    late.hooks->after_read = [&] {
      other.complete(proof_of(worker->assignment()), completion());
      other.settle();
    };
  };
  late.decide();
  const auto seen = late.execute<std::uint64_t>([](Turn& turn) -> Result<std::uint64_t> {
    HOLDFAST_TRY(const RunProjection* run, turn.state().runs().get(run_no(1)));
    return run->revision().value;
  });
  late.settle();
  late.core.check_for_changes();
  late.settle();
  const auto again = late.execute<std::string>([](Turn& turn) -> Result<std::string> {
    HOLDFAST_TRY(const RunProjection* run, turn.state().runs().get(run_no(1)));
    return run->encode();
  });
  late.settle();
  EXPECT_EQ(must(*again->result), must(other.core.state().runs().get(run_no(1)))->encode());
}

// The journal is ahead of the core: another part of the process caught it up, as sealing does.
TEST_F(CoreTest, a_run_loaded_ahead_of_the_core_is_not_folded_twice) {
  TestCore& mine = open();
  TestCore& other = open();
  other.start(start_of(1, one_));
  other.settle();
  must(mine.journal->catch_up());
  const auto load = [](Turn& turn) -> Result<std::string> {
    HOLDFAST_TRY(const RunProjection* run, turn.state().runs().get(run_no(1)));
    return run->encode();
  };
  mine.execute<std::string>(load);
  mine.settle();
  mine.core.check_for_changes();
  mine.settle();
  const auto seen = mine.execute<std::string>(load);
  mine.settle();
  EXPECT_EQ(must(*seen->result), must(other.core.state().runs().get(run_no(1)))->encode());
}

TEST_F(CoreTest, runs_that_left_the_cache_are_loaded_again) {
  TestCore& core = open({.memory = {.cached_bytes = 1}});
  for (int i = 1; i <= 20; ++i) {
    core.start(start_of(i, two_));
    core.settle();
  }
  for (int step = 0; step < 40; ++step) {
    const auto worker = core.worker();
    core.settle();
    ASSERT_EQ(worker->code(), "ok");
    core.core.drop(worker->assignment().claim_id);
    const auto done = core.complete(proof_of(worker->assignment()), completion());
    core.settle();
    ASSERT_EQ(done->code(), "ok");
  }
  EXPECT_EQ(core.core.state().runs().count(), 0U);
  EXPECT_EQ(core.core.state().encode(), folded_anew());
}

}  // namespace
}  // namespace holdfast::engine_core_test
