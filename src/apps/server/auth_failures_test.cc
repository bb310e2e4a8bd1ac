#include "apps/server/auth_failures.h"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::auth_failures_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimeMs kNow{1'700'000'000'000};

net::Peer at(std::string address) {
  net::Peer peer;
  peer.address = std::move(address);
  return peer;
}

class AuthFailuresTest : public testing::Test {
 protected:
  // How many in a row are answered with 401.
  static std::uint64_t refused(AuthFailures& failures, const net::Peer& peer) {
    std::uint64_t count = 0;
    while (failures.failed(peer).retry_after_s == 0) {
      ++count;
    }
    return count;
  }

  ManualClock clock_{kNow};
  AuthFailures failures_{clock_, {.per_minute = 30}};
};

TEST_F(AuthFailuresTest,
       first_failures_get_a_response_at_once_and_later_ones_after_growing_delays) {
  milliseconds before{0};
  for (int i = 0; i < 30; ++i) {
    const auto verdict = failures_.failed(at("192.0.2.1:1000"));
    EXPECT_EQ(verdict.retry_after_s, 0U);
    EXPECT_GE(verdict.delay, before);
    EXPECT_EQ(verdict.delay.count() == 0, i < 3) << i;
    EXPECT_LE(verdict.delay, seconds(2));
    before = verdict.delay;
  }
  EXPECT_EQ(before, seconds(2));
}

TEST_F(AuthFailuresTest, beyond_the_limit_the_response_has_a_retry_time) {
  EXPECT_EQ(refused(failures_, at("192.0.2.1:1")), 30U);
  const auto verdict = failures_.failed(at("192.0.2.1:2"));
  EXPECT_EQ(verdict.retry_after_s, 2U) << "30 a minute";
  EXPECT_EQ(verdict.delay.count(), 0) << "no connection is kept for it";
  clock_.advance_ms(1999);
  EXPECT_NE(failures_.failed(at("192.0.2.1:3")).retry_after_s, 0U);
  clock_.advance_ms(1);
  EXPECT_EQ(failures_.failed(at("192.0.2.1:3")).retry_after_s, 0U);
  EXPECT_NE(failures_.failed(at("192.0.2.1:3")).retry_after_s, 0U);
  clock_.advance_ms(60'000);
  EXPECT_EQ(refused(failures_, at("192.0.2.1:4")), 30U);
}

TEST_F(AuthFailuresTest, addresses_are_counted_separately_and_ipv6_by_its_first_64_bits) {
  EXPECT_EQ(refused(failures_, at("192.0.2.1:1")), 30U);
  EXPECT_EQ(refused(failures_, at("192.0.2.2:1")), 30U);
  EXPECT_EQ(refused(failures_, at("[::ffff:192.0.2.1]:1")), 0U) << "the same as 192.0.2.1";
  EXPECT_EQ(refused(failures_, at("[2001:db8:0:1::1]:1")), 30U);
  EXPECT_EQ(refused(failures_, at("[2001:db8:0:1:ffff::2]:99")), 0U);
  EXPECT_EQ(refused(failures_, at("[2001:db8:0:2::1]:1")), 30U);
  net::Peer user = at("unix");
  user.uid = 1000;
  EXPECT_EQ(refused(failures_, user), 30U);
  user.uid = 1001;
  EXPECT_EQ(refused(failures_, user), 30U);
}

TEST_F(AuthFailuresTest, failures_of_an_address_are_logged_as_one_line_per_interval) {
  const auto first = failures_.failed(at("192.0.2.1:1")).lines;
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].address, "192.0.2.1");
  EXPECT_EQ(first[0].failures, 1U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(failures_.failed(at("192.0.2.1:1")).lines.empty());
  }
  clock_.advance_ms(60'000);
  const auto next = failures_.failed(at("192.0.2.1:1")).lines;
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].failures, 101U);
  EXPECT_TRUE(failures_.take_unlogged().empty());
  static_cast<void>(failures_.failed(at("192.0.2.1:1")));
  static_cast<void>(failures_.failed(at("[2001:db8::1]:1")));
  static_cast<void>(failures_.failed(at("[2001:db8::2]:1")));
  std::set<std::pair<std::string, std::uint64_t>> rest;
  for (const auto& line : failures_.take_unlogged()) {
    rest.emplace(line.address, line.failures);
  }
  EXPECT_EQ(rest, (std::set<std::pair<std::string, std::uint64_t>>{{"192.0.2.1", 1},
                                                                   {"2001:db8::/64", 1}}));
}

TEST_F(AuthFailuresTest, more_addresses_than_the_limit_use_no_more_memory_and_lose_no_count) {
  std::uint64_t logged = 0;
  std::uint64_t all = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string address =
        "[2001:db8:" + std::to_string(i % 10'000) + ":" + std::to_string(i / 10'000) + "::1]:1";
    for (int n = 0; n < 2; ++n) {
      ++all;
      for (const auto& line : failures_.failed(at(address)).lines) {
        logged += line.failures;
      }
    }
  }
  const auto rest = failures_.take_unlogged();
  EXPECT_LE(rest.size(), 4097U);
  for (const auto& line : rest) {
    logged += line.failures;
  }
  EXPECT_EQ(logged, all);
}

TEST_F(AuthFailuresTest, without_a_limit_failures_are_still_logged_once_per_interval) {
  AuthFailures open{clock_, {.per_minute = 0}};
  std::size_t lines = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto verdict = open.failed(at("192.0.2.1:1"));
    EXPECT_EQ(verdict.retry_after_s, 0U);
    EXPECT_EQ(verdict.delay.count(), 0);
    lines += verdict.lines.size();
  }
  EXPECT_EQ(lines, 1U);
}

TEST_F(AuthFailuresTest, a_clock_that_is_set_back_does_not_lock_an_address_out) {
  EXPECT_EQ(refused(failures_, at("192.0.2.1:1")), 30U);
  clock_.advance_ms(-86'400'000);
  EXPECT_NE(failures_.failed(at("192.0.2.1:1")).retry_after_s, 0U);
  clock_.advance_ms(60'000);
  EXPECT_EQ(refused(failures_, at("192.0.2.1:1")), 30U);
}

}  // namespace
}  // namespace holdfast::auth_failures_test
