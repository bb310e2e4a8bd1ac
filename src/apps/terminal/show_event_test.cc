#include <gtest/gtest.h>

#include "apps/terminal/show.h"
#include "tests/support/marked.h"

namespace holdfast::show_event_test {
namespace {

constexpr TimeMs kStart{1'800'000'000'123};

TimelineEvent event_of(std::string type, std::int64_t ms, std::string step, std::string summary) {
  TimelineEvent event;
  event.type = std::move(type);
  event.at = TimeMs{kStart.value + ms};
  event.step = std::move(step);
  event.summary = std::move(summary);
  return event;
}

std::string story(const Style& style) {
  std::string out;
  for (const TimelineEvent& event :
       {event_of("run_started", 0, "", "run of workflow order started"),
        event_of("attempt_claimed", 12, "charge", "charge: attempt 1 claimed by worker-7"),
        event_of("attempt_failed", 2300, "charge",
                 "charge: attempt 1 failed: card\x1b[2J declined by the bank of the customer "
                 "[card_error]; again in 2 s"),
        event_of("attempt_completed", 3'599'000, "a_step_with_a_very_long_name",
                 "a_step_with_a_very_long_name: attempt 2 completed"),
        event_of("manual_step_resolved", 277'200'000, "manager", "approved by ann"),
        event_of("run_terminal", 277'200'001, "", "run completed")}) {
    out += show_event(event, kStart, style);
  }
  return out;
}

TEST(ShowEvent, lines_stand_under_each_other) {
  EXPECT_EQ("\n" + story({}), R"(
       +0 ms  08:00:00.123                        run of workflow order started
      +12 ms  08:00:00.135  charge                attempt 1 claimed by worker-7
      +2.3 s  08:00:02.423  charge                attempt 1 failed: card [2J declined by the bank of
                                                  the customer [card_error]; again in 2 s
+59 min 59 s  08:59:59.123  a_step_with_a_very..  attempt 2 completed
    +3 d 5 h  13:00:00.123  manager               approved by ann
    +3 d 5 h  13:00:00.124                        run completed
)");
}

TEST(ShowEvent, colours_for_what_went_well_and_what_did_not) {
  EXPECT_EQ("\n" + marked(story({.colour = true, .width = 80})), R"(
       +0 ms  {2}08:00:00.123{}                    {1}run of workflow order started{}
      +12 ms  {2}08:00:00.135{}  charge            attempt 1 claimed by worker-7
      +2.3 s  {2}08:00:02.423{}  charge            {31}attempt 1 failed: card [2J{}
                                              {31}declined by the bank of the{}
                                              {31}customer [card_error]; again in{}
                                              {31}2 s{}
+59 min 59 s  {2}08:59:59.123{}  a_step_with_a_..  {32}attempt 2 completed{}
    +3 d 5 h  {2}13:00:00.123{}  manager           approved by ann
    +3 d 5 h  {2}13:00:00.124{}                    {1}run completed{}
)");
}

}  // namespace
}  // namespace holdfast::show_event_test
