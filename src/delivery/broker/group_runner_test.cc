// Calls that share a group, and keys that wait for each other.
#include "delivery/broker/group_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/threads.h"
#include "delivery/broker/sql_session.h"
#include "tests/support/must.h"

namespace holdfast::delivery::group_runner_test {
namespace {

TEST(GroupRunner, calls_that_arrive_during_a_group_share_the_next_one) {
  constexpr std::size_t kCalls = 8;
  std::atomic<bool> first_runs{false};
  std::atomic<bool> released{false};
  std::vector<std::size_t> groups;
  GroupRunner<int, int> runner([&](const std::vector<int>& items) {
    groups.push_back(items.size());
    first_runs = true;
    while (!released) {
      std::this_thread::yield();
    }
    std::vector<Result<int>> replies;
    for (const int item : items) {
      replies.emplace_back(item % 2 == 0 ? Result<int>(item * 10)
                                         : Result<int>(Error{ErrorCode::io_error, "odd"}));
    }
    return replies;
  });
  ThreadGroup first;
  must(first.start([&] { EXPECT_EQ(must(runner.run(0)), 0); }));
  while (!first_runs) {
    std::this_thread::yield();
  }
  std::vector<std::function<void()>> bodies;
  for (std::size_t i = 1; i <= kCalls; ++i) {
    bodies.emplace_back([&runner, i] {
      const auto reply = runner.run(static_cast<int>(i));
      EXPECT_EQ(reply.ok(), i % 2 == 0) << "one failure is not that of its neighbours";
      EXPECT_TRUE(!reply.ok() || reply.value() == static_cast<int>(i) * 10);
    });
  }
  ThreadGroup others;
  must(others.start(bodies));
  while (runner.waiting() < kCalls) {
    std::this_thread::yield();
  }
  released = true;
  first.join();
  others.join();
  EXPECT_EQ(groups, (std::vector<std::size_t>{1, kCalls}));
}

TEST(GroupRunner, groups_and_the_queue_are_bounded) {
  std::atomic<bool> runs{false};
  std::atomic<bool> released{false};
  std::size_t largest = 0;
  GroupRunner<int, int> runner(
      [&](const std::vector<int>& items) {
        largest = std::max(largest, items.size());
        runs = true;
        while (!released) {
          std::this_thread::yield();
        }
        return std::vector<Result<int>>(items.size(), Result<int>(1));
      },
      {.max_group = 2, .max_waiting = 3});
  ThreadGroup first;
  must(first.start([&] { must(runner.run(0)); }));
  while (!runs) {
    std::this_thread::yield();
  }
  ThreadGroup others;
  must(others.start(3, [&] { must(runner.run(1)); }));
  while (runner.waiting() < 3) {
    std::this_thread::yield();
  }
  EXPECT_EQ(code_of(runner.run(2)), "busy");
  released = true;
  first.join();
  others.join();
  EXPECT_EQ(largest, 2U);
}

TEST(SqlTexts, parameters_and_the_schema_are_written_for_each_database) {
  constexpr std::string_view kSql = "SELECT a FROM @.t WHERE b = $1t AND c = $12i OR d = $3b";
  EXPECT_EQ(translate_sql(kSql, SqlDialect::sqlite, ""),
            "SELECT a FROM t WHERE b = ?1 AND c = ?12 OR d = ?3");
  EXPECT_EQ(translate_sql(kSql, SqlDialect::postgres, "\"mesh\"."),
            "SELECT a FROM \"mesh\".t WHERE b = $1::text AND c = $12::bigint OR d = $3::bytea");
}

}  // namespace
}  // namespace holdfast::delivery::group_runner_test
