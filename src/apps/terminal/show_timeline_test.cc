#include <gtest/gtest.h>

#include "apps/terminal/show.h"
#include "tests/support/marked.h"

namespace holdfast::show_timeline_test {
namespace {

constexpr TimeMs kStart{1'800'000'000'000};
TimeMs at(std::int64_t ms) { return TimeMs{kStart.value + ms}; }

Timeline timeline_of(std::string status, std::int64_t ms) {
  Timeline timeline;
  timeline.run_id = "01982b7e-5c00-7000-8000-000000000001";
  timeline.workflow = "order";
  timeline.status = std::move(status);
  timeline.started_at = kStart;
  timeline.now = at(ms);
  return timeline;
}

struct Times {
  std::int64_t scheduled;
  std::int64_t visible;
  std::int64_t started;
  std::int64_t ended;
};

// A negative time is none.
TimelineBar bar_of(std::string step, const Times& times, std::string status,
                   std::string owner = "worker-7") {
  TimelineBar bar;
  bar.step = std::move(step);
  bar.scheduled_at = at(times.scheduled);
  bar.visible_at = at(times.visible);
  bar.started_at = times.started < 0 ? std::nullopt : std::optional(at(times.started));
  bar.ended_at = times.ended < 0 ? std::nullopt : std::optional(at(times.ended));
  bar.status = std::move(status);
  bar.owner = std::move(owner);
  return bar;
}

Timeline story() {
  Timeline timeline = timeline_of("running", 20'000);
  timeline.bars = {bar_of("reserve", {0, 0, 1000, 3000}, "completed"),
                   bar_of("charge", {3000, 3000, 4000, 6000}, "failed"),
                   bar_of("charge", {6000, 8000, 8000, 11'000}, "completed"),
                   bar_of("manager", {3000, 3000, 3000, 16'000}, "completed", ""),
                   bar_of("rest", {11'000, 15'000, -1, 15'000}, "completed", ""),
                   bar_of("ship", {16'000, 16'000, 18'000, -1}, "running"),
                   bar_of("blink", {16'000, 16'000, 16'000, 16'001}, "completed"),
                   bar_of("mail", {17'000, 17'000, -1, -1}, "waiting", "")};
  timeline.bars[2].attempt = 2;
  return timeline;
}

TEST(ShowTimeline, a_bar_for_each_attempt_on_a_common_scale) {
  EXPECT_EQ("\n" + show_timeline(story(), {}), R"(
order  running
run 01982b7e-5c00-7000-8000-000000000001
started 2027-01-15T08:00:00.000Z, for 20 s

                    0 s                                                        20 s
reserve             ░░░██████                                                        completed   2 s
charge                       ░░░██████                                               failed      2 s
charge (attempt 2)                    ▒▒▒▒▒▒▒█████████                               completed   3 s
manager                      ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒               completed  13 s
rest                                                  ▒▒▒▒▒▒▒▒▒▒▒▒▒                  completed   4 s
ship                                                                  ░░░░░░███████  running     2 s
blink                                                                 █              completed  1 ms
mail                                                                     ░░░░░░░░░░  waiting     3 s

█ claimed by a worker, ░ waiting for a worker, ▒ sleeping or waiting for something else
)");
}

TEST(ShowTimeline, bars_fit_a_narrow_terminal) {
  EXPECT_EQ("\n" + show_timeline(story(), {.width = 60}), R"(
order  running
run 01982b7e-5c00-7000-8000-000000000001
started 2027-01-15T08:00:00.000Z, for 20 s

                    0 s                20 s
reserve             ░██                      completed   2 s
charge                 ░██                   failed      2 s
charge (attempt 2)        ▒▒▒███             completed   3 s
manager                ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒       completed  13 s
rest                            ▒▒▒▒▒        completed   4 s
ship                                  ░░███  running     2 s
blink                                 █      completed  1 ms
mail                                   ░░░░  waiting     3 s

█ claimed by a worker, ░ waiting for a worker, ▒ sleeping or
waiting for something else
)");
}

TEST(ShowTimeline, colours_say_what_blocks_say) {
  Timeline timeline = story();
  timeline.bars.resize(3);
  EXPECT_EQ("\n" + marked(show_timeline(timeline, {.colour = true, .width = 60})), R"(
{1}order{}  {34}running{}
run 01982b7e-5c00-7000-8000-000000000001
started 2027-01-15T08:00:00.000Z, for 20 s

                    {2}0 s                20 s{}
reserve             {2}░{}{32}██{}                      {32}completed{}   2 s
charge                 {2}░{}{31}██{}                   {31}failed{}      2 s
charge (attempt 2)        {33}▒▒▒{}{32}███{}             {32}completed{}   3 s

█ claimed by a worker, ░ waiting for a worker, ▒ sleeping or
waiting for something else
)");
}

TEST(ShowTimeline, many_items_are_one_row) {
  Timeline timeline = timeline_of("completed", 90'000);
  timeline.ended_at = at(50'000);
  timeline.bars.push_back(bar_of("charge", {0, 0, 0, 50'000}, "completed", ""));
  for (int i = 0; i < 50; ++i) {
    const std::int64_t from = 1000 * i;
    timeline.bars.push_back(bar_of("charge[" + std::to_string(i) + "]", {0, 0, from, from + 1000},
                                   i == 7 ? "failed" : "completed"));
  }
  timeline.bars.push_back(bar_of("charge[7]", {8000, 9000, 9000, 10'000}, "failed"));
  timeline.bars.back().attempt = 2;
  EXPECT_EQ("\n" + show_timeline(timeline, {.width = 80}), R"(
order  completed
run 01982b7e-5c00-7000-8000-000000000001
started 2027-01-15T08:00:00.000Z, took 50 s

           0 s                                             50 s
charge     ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  completed  50 s
charge[*]  ████████████████████████████████████████████████████  failed     50 s
           50 items: 49 completed, 1 failed

█ claimed by a worker, ░ waiting for a worker, ▒ sleeping or waiting for
something else
)");
}

TEST(ShowTimeline, few_items_have_a_row_each) {
  Timeline timeline = timeline_of("completed", 2000);
  timeline.ended_at = at(2000);
  timeline.bars = {bar_of("charge[0]", {0, 0, 0, 1000}, "completed"),
                   bar_of("charge[1]", {0, 0, 0, 2000}, "completed")};
  EXPECT_EQ("\n" + show_timeline(timeline, {.width = 60}), R"(
order  completed
run 01982b7e-5c00-7000-8000-000000000001
started 2027-01-15T08:00:00.000Z, took 2 s

           0 s                           2 s
charge[0]  ████████████████                   completed  1 s
charge[1]  █████████████████████████████████  completed  2 s

█ claimed by a worker, ░ waiting for a worker, ▒ sleeping or
waiting for something else
)");
}

TEST(ShowTimeline, a_run_that_took_no_time_is_shown_too) {
  Timeline timeline = timeline_of("completed", 0);
  timeline.ended_at = kStart;
  EXPECT_TRUE(show_timeline(timeline, {}).ends_with("took 0 ms\n\nNo step has started.\n"));
  timeline.bars = {bar_of("reserve", {0, 0, 0, 0}, "completed")};
  EXPECT_EQ("\n" + show_timeline(timeline, {.width = 50}), R"(
order  completed
run 01982b7e-5c00-7000-8000-000000000001
started 2027-01-15T08:00:00.000Z, took 0 ms

         0 s                 0 ms
reserve  █                         completed  0 ms

█ claimed by a worker, ░ waiting for a worker, ▒
sleeping or waiting for something else
)");
}

}  // namespace
}  // namespace holdfast::show_timeline_test
