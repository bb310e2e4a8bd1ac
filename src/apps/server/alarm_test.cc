#include "apps/server/alarm.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace holdfast {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool comes(std::promise<void>& promise) {
  return promise.get_future().wait_for(seconds(20)) == std::future_status::ready;
}

TEST(Alarm, rings_in_the_order_of_the_times_and_not_before_them) {
  Alarm alarm;
  std::vector<int> rung;
  std::promise<void> all;
  const auto begin = std::chrono::steady_clock::now();
  milliseconds first_after{0};
  alarm.after(milliseconds(60), [&] {
    rung.push_back(3);
    all.set_value();
  });
  alarm.after(milliseconds(40), [&] { rung.push_back(2); });
  alarm.after(milliseconds(20), [&] {
    rung.push_back(1);
    first_after =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
  });
  ASSERT_TRUE(comes(all));
  EXPECT_EQ(rung, (std::vector<int>{1, 2, 3}));
  EXPECT_GE(first_after.count(), 20);
}

TEST(Alarm, an_earlier_one_wakes_whoever_sleeps_for_a_later_one) {
  Alarm alarm;
  alarm.after(hours(1), [] { ADD_FAILURE() << "an hour has not gone by"; });
  // Often enough that it sleeps when it is asked.
  for (int round = 0; round < 50; ++round) {
    std::promise<void> soon;
    alarm.after(milliseconds(2), [&] { soon.set_value(); });
    ASSERT_TRUE(comes(soon)) << round;
  }
}

TEST(Alarm, that_was_cancelled_never_rings) {
  Alarm alarm;
  std::atomic<int> rung = 0;
  const auto ticket = alarm.after(milliseconds(10), [&] { ++rung; });
  ASSERT_TRUE(alarm.cancel(ticket));
  EXPECT_FALSE(alarm.cancel(ticket)) << "only once";
  std::promise<void> later;
  alarm.after(milliseconds(30), [&] { later.set_value(); });
  ASSERT_TRUE(comes(later));
  EXPECT_EQ(rung, 0);
}

TEST(Alarm, that_has_rung_cannot_be_cancelled) {
  Alarm alarm;
  std::promise<void> rang;
  const auto ticket = alarm.after(milliseconds(0), [&] { rang.set_value(); });
  ASSERT_TRUE(comes(rang));
  EXPECT_FALSE(alarm.cancel(ticket));
}

TEST(Alarm, can_be_set_and_cancelled_while_it_rings) {
  Alarm alarm;
  std::promise<void> second;
  const auto victim = alarm.after(hours(1), [] {});
  std::atomic<bool> cancelled = false;
  alarm.after(milliseconds(1), [&] {
    cancelled = alarm.cancel(victim);
    alarm.after(milliseconds(1), [&] { second.set_value(); });
  });
  EXPECT_TRUE(comes(second));
  EXPECT_TRUE(cancelled);
}

TEST(Alarm, that_was_stopped_never_rings_again) {
  std::atomic<int> rung = 0;
  {
    Alarm alarm;
    alarm.after(hours(1), [&] { ++rung; });
    alarm.stop();
    const auto ticket = alarm.after(milliseconds(0), [&] { ++rung; });
    static_cast<void>(ticket);
    alarm.stop();
  }
  EXPECT_EQ(rung, 0);
}

}  // namespace
}  // namespace holdfast
