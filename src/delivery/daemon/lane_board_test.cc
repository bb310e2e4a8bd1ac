#include "delivery/daemon/lane_board.h"

#include <gtest/gtest.h>

#include <string>

#include "delivery/daemon/backoff.h"

namespace holdfast::delivery::lane_board_test {
namespace {

Lane lane(const std::string& name) {
  return {"team", DestinationKind::topic, name, Priority::next, "", ""};
}

std::string taken(LaneBoard& board, std::int64_t now) {
  const auto found = board.take(now);
  return found.has_value() ? found->ref : "none";
}

TEST(LaneBoards, DR_14_a_lane_that_waits_does_not_delay_the_others) {
  LaneBoard board;
  board.open();
  board.wake(lane("a"), 10);
  board.wake(lane("b"), 11);
  EXPECT_EQ(taken(board, 9), "none");
  EXPECT_EQ(taken(board, 20), "a");
  EXPECT_EQ(taken(board, 20), "b");
  EXPECT_EQ(taken(board, 20), "none");
  board.wait_until(lane("a"), 100);
  board.wait_until(lane("b"), 30);
  EXPECT_EQ(board.next_time(), 30);
  EXPECT_EQ(taken(board, 50), "b");
  EXPECT_EQ(taken(board, 50), "none");
  EXPECT_EQ(taken(board, 100), "a");
}

TEST(LaneBoards, DR_11_a_lane_is_worked_on_once_and_a_row_that_comes_meanwhile_is_not_forgotten) {
  LaneBoard board;
  board.open();
  board.wake(lane("a"), 0);
  EXPECT_EQ(taken(board, 0), "a");
  board.wake(lane("a"), 1);
  EXPECT_EQ(taken(board, 1), "none");
  board.drop(lane("a"), 2);
  EXPECT_EQ(taken(board, 2), "a");
  board.drop(lane("a"), 3);
  EXPECT_EQ(taken(board, 3), "none");
  EXPECT_EQ(board.lanes(), 0U);
}

TEST(LaneBoards, a_new_row_does_not_shorten_the_wait_of_the_first) {
  LaneBoard board;
  board.open();
  board.wake(lane("a"), 0);
  EXPECT_EQ(taken(board, 0), "a");
  board.wait_until(lane("a"), 100);
  board.wake(lane("a"), 1);
  EXPECT_EQ(taken(board, 99), "none");
  EXPECT_EQ(taken(board, 100), "a");
}

TEST(LaneBoards, NG_08_without_a_connection_no_lane_is_taken) {
  LaneBoard board;
  board.wake(lane("a"), 0);
  EXPECT_EQ(taken(board, 5), "none");
  EXPECT_FALSE(board.next_time().has_value());
  board.open();
  EXPECT_EQ(board.next_time(), 0);
  EXPECT_EQ(taken(board, 5), "a");
}

TEST(LaneBoards, DR_07_H_17_a_pause_stops_every_lane_and_ends_with_one_probe) {
  LaneBoard board;
  board.open();
  for (const char* name : {"a", "b", "c"}) {
    board.wake(lane(name), 0);
  }
  board.pause(100);
  board.pause(50);  // the longer one counts
  EXPECT_EQ(taken(board, 99), "none");
  EXPECT_EQ(board.next_time(), 100);
  EXPECT_EQ(taken(board, 100), "a");
  EXPECT_EQ(taken(board, 100), "none");
  EXPECT_FALSE(board.next_time().has_value());
  board.wait_until(lane("a"), 200);
  EXPECT_EQ(taken(board, 100), "b");
  board.succeeded();
  EXPECT_EQ(taken(board, 100), "c");
}

TEST(Backoffs, DR_08_doubled_from_half_a_second_to_thirty_with_a_quarter_of_jitter) {
  const BackoffSettings settings;
  const std::vector<std::int64_t> middle{500, 1000, 2000, 4000, 8000, 16'000, 30'000, 30'000};
  for (std::size_t i = 0; i < middle.size(); ++i) {
    const std::int64_t jitter = middle[i] / 4;
    std::int64_t least = INT64_MAX;
    std::int64_t most = 0;
    for (std::uint64_t random = 0; random < 20'000; ++random) {
      const std::int64_t wait = backoff_ms(settings, i + 1, random);
      least = std::min(least, wait);
      most = std::max(most, wait);
    }
    EXPECT_EQ(least, middle[i] - jitter);
    EXPECT_EQ(most, middle[i] + jitter);
  }
  EXPECT_EQ(backoff_ms({500, 30'000, 0}, 1'000'000'000, 7), 30'000);
}

}  // namespace
}  // namespace holdfast::delivery::lane_board_test
