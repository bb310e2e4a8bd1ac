#include "net/net_timers.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <vector>

namespace holdfast::net::net_timers_test {

namespace {

struct Entry final : Timed {
  void on_time() override { ++fired; }
  int fired = 0;
};

SteadyTime at(int milliseconds) { return SteadyTime(std::chrono::milliseconds(milliseconds)); }

TEST(Timers, without_timers_nothing_is_next) {
  Timers timers;
  EXPECT_EQ(timers.next(), std::nullopt);
  Entry entry;
  timers.set(entry, at(5));
  EXPECT_EQ(timers.next(), at(5));
  timers.clear(entry);
  timers.clear(entry);
  EXPECT_EQ(timers.next(), std::nullopt);
  EXPECT_EQ(timers.take_due(at(9)), nullptr);
}

// Compared with an ordered map, with many random changes.
TEST(Timers, the_earliest_comes_first_after_any_move) {
  std::mt19937 random(7);
  Timers timers;
  std::vector<std::unique_ptr<Entry>> entries;
  std::map<Entry*, SteadyTime> model;
  for (int count = 0; count < 50; ++count) {
    entries.push_back(std::make_unique<Entry>());
  }
  for (int count = 0; count < 20'000; ++count) {
    Entry& entry = *entries[random() % entries.size()];
    const SteadyTime due = at(static_cast<int>(random() % 1'000));
    const auto earliest = std::min_element(
        model.begin(), model.end(),
        [](const auto& left, const auto& right) { return left.second < right.second; });
    ASSERT_EQ(timers.next(), model.empty() ? std::nullopt : std::optional(earliest->second));
    switch (random() % 4) {
      case 0:
        timers.clear(entry);
        model.erase(&entry);
        break;
      case 1:
        if (Timed* const taken = timers.take_due(at(300))) {
          auto* const one = dynamic_cast<Entry*>(taken);
          ASSERT_EQ(model.at(one), earliest->second);
          model.erase(one);
        } else {
          ASSERT_TRUE(model.empty() || earliest->second > at(300));
        }
        break;
      default:
        timers.set(entry, due);
        model[&entry] = due;
    }
  }
}

}  // namespace

}  // namespace holdfast::net::net_timers_test
