// The numbers at the tests are those of docs/mesh-tests.md.
#include "mesh/clock/hybrid_time.h"

#include <gtest/gtest.h>

namespace holdfast::mesh::hybrid_time_test {
namespace {

constexpr NodeId kNode{7};
constexpr NodeId kOther{9};

HybridTime at(std::uint64_t wall_ms, std::uint32_t logical) {
  return HybridTime::restore(kNode, {wall_ms, logical, kNode}, {}, 0);
}

Timestamp after_receive(HybridTime local, Timestamp remote, std::uint64_t wall_now_ms) {
  local.receive(remote, wall_now_ms);
  return local.state();
}

TEST(HybridTime, tick_takes_wall_time_that_is_ahead) {  // 16
  HybridTime local = at(100, 5);
  EXPECT_EQ(local.tick(101), (Timestamp{101, 0, kNode}));
  EXPECT_EQ(local.state(), (Timestamp{101, 0, kNode}));
}

TEST(HybridTime, tick_counts_when_wall_time_is_equal_or_behind) {  // 17
  HybridTime local = at(100, 5);
  EXPECT_EQ(local.tick(100), (Timestamp{100, 6, kNode}));
  EXPECT_EQ(local.tick(20), (Timestamp{100, 7, kNode}));
}

TEST(HybridTime, a_million_ticks_increase_while_wall_time_runs_backwards) {  // 18
  HybridTime local = at(1'000'000, 0);
  Timestamp last = local.state();
  for (std::uint64_t round = 0; round < 1'000'000; ++round) {
    const auto next = local.tick(1'000'500 - round);
    ASSERT_TRUE(next.has_value());
    ASSERT_LT(last, *next);
    last = *next;
  }
}

TEST(HybridTime, receive_has_four_branches_and_ties_with_wall_time_count_up) {  // 19
  const std::uint32_t local = 5;
  const std::uint32_t remote = 8;
  struct Row {
    std::uint64_t local_ms, remote_ms, wall_ms;
    Timestamp expected;
  };
  const Row rows[] = {
      {100, 100, 50, {100, 9, kNode}},   // both: the larger counter plus one
      {100, 90, 50, {100, 6, kNode}},    // local only
      {90, 100, 50, {100, 9, kNode}},    // remote only
      {90, 80, 100, {100, 0, kNode}},    // neither
      {100, 100, 100, {100, 9, kNode}},  // ties with wall time
      {100, 90, 100, {100, 6, kNode}},  {90, 100, 100, {100, 9, kNode}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(after_receive(at(row.local_ms, local), {row.remote_ms, remote, kOther}, row.wall_ms),
              row.expected)
        << row.local_ms << " " << row.remote_ms << " " << row.wall_ms;
  }
  EXPECT_EQ(after_receive(at(100, 8), {100, 5, kOther}, 50), (Timestamp{100, 9, kNode}));
}

TEST(HybridTime, tick_refuses_at_the_largest_counter_until_wall_time_advances) {  // 22
  HybridTime local = at(100, kMaxLogical);
  EXPECT_EQ(local.tick(100), std::nullopt);
  EXPECT_EQ(local.tick(50), std::nullopt);
  EXPECT_EQ(local.state(), (Timestamp{100, kMaxLogical, kNode}));
  EXPECT_EQ(local.tick(101), (Timestamp{101, 0, kNode}));
}

TEST(HybridTime, receive_at_the_largest_counter_moves_to_the_next_millisecond) {  // 23
  EXPECT_EQ(after_receive(at(10, 0), {100, kMaxLogical, kOther}, 0), (Timestamp{101, 0, kNode}));
  EXPECT_EQ(after_receive(at(100, kMaxLogical), {50, 1, kOther}, 0), (Timestamp{101, 0, kNode}));
  EXPECT_EQ(after_receive(at(100, 3), {100, kMaxLogical, kOther}, 100), (Timestamp{101, 0, kNode}));
}

TEST(HybridTime, at_the_end_of_time_nothing_is_issued) {
  HybridTime local = at(10, 0);
  local.receive({kMaxWallMs, kMaxLogical, kOther}, 10);
  EXPECT_EQ(local.tick(kMaxWallMs), std::nullopt);
  EXPECT_EQ(local.tick(kMaxWallMs + 1), std::nullopt);
  EXPECT_EQ(local.peek(kMaxWallMs), local.state());
}

TEST(HybridTime, restore_takes_the_largest_of_three_and_keeps_the_node) {  // 24
  const Timestamp small{10, 9, kOther};
  const Timestamp large{20, 3, kOther};
  EXPECT_EQ(HybridTime::restore(kNode, large, small, 5).state(), (Timestamp{20, 3, kNode}));
  EXPECT_EQ(HybridTime::restore(kNode, small, large, 5).state(), (Timestamp{20, 3, kNode}));
  EXPECT_EQ(HybridTime::restore(kNode, small, large, 30).state(), (Timestamp{30, 0, kNode}));
  // Equal wall time: the counter of the operation stays in force.
  EXPECT_EQ(HybridTime::restore(kNode, small, large, 20).state(), (Timestamp{20, 3, kNode}));
}

TEST(HybridTime, peek_shows_the_next_timestamp_and_issues_nothing) {
  HybridTime local = at(100, 5);
  EXPECT_EQ(local.peek(101), (Timestamp{101, 0, kNode}));
  EXPECT_EQ(local.peek(99), (Timestamp{100, 6, kNode}));
  EXPECT_EQ(local.state(), (Timestamp{100, 5, kNode}));
  EXPECT_EQ(at(100, kMaxLogical).peek(100), (Timestamp{100, kMaxLogical, kNode}));
}

TEST(HybridTime, skew_beyond_the_limits_is_suspicious_then_quarantined) {  // 25
  const SkewLimits limits{.warn_ms = 1000, .max_ms = 5000};
  const auto skew = [&](std::uint64_t remote_ms) {
    return judge_skew({remote_ms, 0, kOther}, 10'000, limits);
  };
  EXPECT_EQ(skew(1), Skew::normal);
  EXPECT_EQ(skew(11'000), Skew::normal);
  EXPECT_EQ(skew(11'001), Skew::suspicious);
  EXPECT_EQ(skew(15'000), Skew::suspicious);
  EXPECT_EQ(skew(15'001), Skew::quarantine);
  const SkewLimits unbounded{.warn_ms = 1000, .max_ms = 0};
  EXPECT_EQ(judge_skew({kMaxWallMs, 0, kOther}, 0, unbounded), Skew::suspicious);
}

TEST(Timestamps, order_by_wall_then_counter_then_node) {  // 26
  const Timestamp sorted[] = {{1, 9, {9}}, {2, 0, {9}}, {2, 1, {3}}, {2, 1, {4}}, {3, 0, {0}}};
  for (std::size_t i = 0; i < std::size(sorted); ++i) {
    for (std::size_t j = 0; j < std::size(sorted); ++j) {
      EXPECT_EQ(sorted[i] < sorted[j], i < j);
    }
  }
  EXPECT_EQ(to_text(sorted[2]), "2.1@3");
}

}  // namespace
}  // namespace holdfast::mesh::hybrid_time_test
