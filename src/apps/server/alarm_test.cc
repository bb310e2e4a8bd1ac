#include "apps/server/alarm.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace holdfast::alarm_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool is_set(std::promise<void>& promise) {
  return promise.get_future().wait_for(seconds(20)) == std::future_status::ready;
}

TEST(Alarm, calls_are_made_in_order_and_not_before_their_time) {
  Alarm alarm;
  std::vector<int> calls;
  std::promise<void> all;
  const auto begin = std::chrono::steady_clock::now();
  milliseconds first_after{0};
  alarm.after(milliseconds(60), [&] {
    calls.push_back(3);
    all.set_value();
  });
  alarm.after(milliseconds(40), [&] { calls.push_back(2); });
  alarm.after(milliseconds(20), [&] {
    calls.push_back(1);
    first_after =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
  });
  ASSERT_TRUE(is_set(all));
  EXPECT_EQ(calls, (std::vector<int>{1, 2, 3}));
  EXPECT_GE(first_after.count(), 20);
}

TEST(Alarm, an_earlier_call_wakes_the_thread_that_sleeps_until_a_later_one) {
  Alarm alarm;
  alarm.after(hours(1), [] { ADD_FAILURE() << "an hour has not passed"; });
  // Enough rounds that the thread is asleep in some of them.
  for (int round = 0; round < 50; ++round) {
    std::promise<void> soon;
    alarm.after(milliseconds(2), [&] { soon.set_value(); });
    ASSERT_TRUE(is_set(soon)) << round;
  }
}

TEST(Alarm, a_cancelled_call_is_never_made) {
  Alarm alarm;
  std::atomic<int> calls = 0;
  const auto ticket = alarm.after(milliseconds(10), [&] { ++calls; });
  ASSERT_TRUE(alarm.cancel(ticket));
  EXPECT_FALSE(alarm.cancel(ticket)) << "only once";
  std::promise<void> later;
  alarm.after(milliseconds(30), [&] { later.set_value(); });
  ASSERT_TRUE(is_set(later));
  EXPECT_EQ(calls, 0);
}

TEST(Alarm, a_call_that_was_made_cannot_be_cancelled) {
  Alarm alarm;
  std::promise<void> called;
  const auto ticket = alarm.after(milliseconds(0), [&] { called.set_value(); });
  ASSERT_TRUE(is_set(called));
  EXPECT_FALSE(alarm.cancel(ticket));
}

TEST(Alarm, a_call_can_schedule_and_cancel_others) {
  Alarm alarm;
  std::promise<void> second;
  const auto victim = alarm.after(hours(1), [] {});
  std::atomic<bool> cancelled = false;
  alarm.after(milliseconds(1), [&] {
    cancelled = alarm.cancel(victim);
    alarm.after(milliseconds(1), [&] { second.set_value(); });
  });
  EXPECT_TRUE(is_set(second));
  EXPECT_TRUE(cancelled);
}

TEST(Alarm, a_stopped_alarm_makes_no_calls) {
  std::atomic<int> calls = 0;
  {
    Alarm alarm;
    alarm.after(hours(1), [&] { ++calls; });
    alarm.stop();
    const auto ticket = alarm.after(milliseconds(0), [&] { ++calls; });
    static_cast<void>(ticket);
    alarm.stop();
  }
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace holdfast::alarm_test
