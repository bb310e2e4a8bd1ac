// The limiter of one broker process. The numbers in the names are those of docs/delivery-tests.md.
#include "delivery/broker/mapped_limiter.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/must.h"
#include "tests/support/temp_dir.h"

namespace holdfast::delivery::mapped_limiter_test {
namespace {

using State = BudgetAnswer::State;

class Limiter : public ::testing::Test {
 protected:
  void open(std::size_t slots = MappedLimiter::kDefaultSlots) {
    limiter_.reset();
    limiter_ = must(MappedLimiter::open(folder_.file("limits"), slots));
  }
  void SetUp() override { open(); }

  static Digest marker(const std::string& id, const std::string& body = "a") {
    return marker_key("mesh", "ann", id, sha256(body));
  }
  State consume(const std::string& id, const std::string& body = "a") {
    return limiter_->consume(workspace_, marker(id, body), now_).state;
  }

  TempDir folder_;
  std::unique_ptr<MappedLimiter> limiter_;
  LimitedWorkspace workspace_{"mesh", 3, 60};
  TimeMs now_{1'700'000'000'000 / 60'000 * 60'000};  // the beginning of a window
};

TEST_F(Limiter, RL_01_the_limit_of_a_window_and_the_next_window) {
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_EQ(consume(id), State::admitted);
  }
  now_.value += 20'000;
  const BudgetAnswer denied = limiter_->consume(workspace_, marker("d"), now_);
  EXPECT_EQ(denied.state, State::denied);
  EXPECT_EQ(denied.retry_after_ms, 40'000);
  now_.value += 40'000;
  EXPECT_EQ(consume("d"), State::admitted);
}

TEST_F(Limiter, RL_03_denied_attempts_are_not_counted) {
  for (const char* id : {"a", "b", "c"}) {
    consume(id);
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(consume("d" + std::to_string(i)), State::denied);
  }
  workspace_.limit = 4;
  EXPECT_EQ(consume("e"), State::admitted);
  EXPECT_EQ(consume("f"), State::denied);
}

TEST_F(Limiter, RL_04_the_same_message_counts_once_also_in_a_full_window) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(consume("a"), State::admitted);
  }
  EXPECT_EQ(consume("b"), State::admitted);
  EXPECT_EQ(consume("c"), State::admitted);
  EXPECT_EQ(consume("d"), State::denied);
  EXPECT_EQ(consume("a"), State::admitted);
}

TEST_F(Limiter, RL_05_H_09_the_same_id_with_other_content_counts_again) {
  EXPECT_EQ(consume("a", "1"), State::admitted);
  EXPECT_EQ(consume("a", "2"), State::admitted);
  EXPECT_EQ(consume("a", "3"), State::admitted);
  EXPECT_EQ(consume("a", "4"), State::denied);
}

TEST_F(Limiter, RL_06_H_09_free_retries_of_refused_messages_are_capped) {
  workspace_.limit = 2;
  EXPECT_EQ(consume("a"), State::admitted);
  for (std::uint32_t i = 0; i <= kFreeRefusals; ++i) {
    EXPECT_EQ(consume("a"), State::admitted) << i;
    limiter_->note_refused(workspace_, marker("a"), now_);
  }
  EXPECT_EQ(consume("a"), State::admitted) << "costs the second unit";
  EXPECT_EQ(consume("a"), State::denied);
  EXPECT_EQ(consume("b"), State::denied);
}

TEST_F(Limiter, RL_08_the_table_is_bounded_and_still_counts_after_a_million_ids) {
  open(1024);
  workspace_.limit = 2'000'000;
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_EQ(consume(std::to_string(i)), State::admitted);
  }
  EXPECT_LT(std::filesystem::file_size(folder_.file("limits")), 100'000U);
  workspace_.limit = 1'000'001;
  EXPECT_EQ(consume("one more"), State::admitted);
  EXPECT_EQ(consume("too many"), State::denied);
}

TEST_F(Limiter, RL_09_a_restart_inside_a_window_does_not_reopen_it) {
  for (const char* id : {"a", "b", "c"}) {
    consume(id);
  }
  open();
  EXPECT_EQ(consume("d"), State::denied);
  EXPECT_EQ(consume("a"), State::admitted) << "markers are kept too";
}

TEST_F(Limiter, RL_13_workspaces_count_for_themselves) {
  for (const char* id : {"a", "b", "c"}) {
    consume(id);
  }
  EXPECT_EQ(consume("d"), State::denied);
  workspace_.mesh_id = "other";
  EXPECT_EQ(consume("d"), State::admitted);
}

TEST_F(Limiter, time_that_runs_backwards_does_not_reopen_a_window) {
  for (const char* id : {"a", "b", "c"}) {
    consume(id);
  }
  now_.value -= 3'600'000;
  EXPECT_EQ(consume("d"), State::denied);
}

TEST_F(Limiter, a_file_of_another_size_or_kind_starts_empty) {
  consume("a");
  open(512);
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_EQ(consume(id), State::admitted);
  }
  EXPECT_EQ(consume("d"), State::denied);
}

}  // namespace
}  // namespace holdfast::delivery::mapped_limiter_test
