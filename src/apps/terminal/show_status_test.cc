#include <gtest/gtest.h>

#include "apps/terminal/show.h"
#include "tests/support/marked.h"

namespace holdfast::show_status_test {
namespace {

constexpr TimeMs kNow{1'800'000'000'000};

StoreStatus busy() {
  StoreStatus status;
  status.moment = {Position{12'345}, kNow};
  status.live = {{"paused", 3}, {"running", 12}, {"compensating", 1}};
  status.ended.completed = 1234;
  status.ended.failed = 7;
  status.manual_interventions = 3;
  QueueStatus main;
  main.name = "default";
  main.visible = 3;
  main.claimed = 2;
  main.expired = 1;
  main.sleeping = 1500;
  main.oldest_visible_at = TimeMs{kNow.value - 12'000};
  main.next_visible_at = TimeMs{kNow.value + 90'000};
  main.waiting_by_handler = {{"charge", 1}, {"mail", 2}};
  main.claimed_by_owner = {{"worker-1", 2}};
  QueueStatus slow;
  slow.name = "slow";
  slow.open_circuits = {
      {"pay", "charge", 5, TimeMs{kNow.value - 180'000}, TimeMs{kNow.value + 12'000}, false}};
  status.queues = {main, slow};
  status.pending_results = 1;
  status.workflows = {"invoice", "order"};
  return status;
}

TEST(ShowStatus, a_store_at_a_glance) {
  EXPECT_EQ("\n" + show_status(busy(), {.command_suffix = " --store demo.db"}), R"(
As of 2027-01-15T08:00:00.000Z, position 12,345

Runs: 1,257
  running          12
  paused            3
  compensating      1
  completed     1,234
  failed            7

Queues
  QUEUE    VISIBLE  SCHEDULED  CLAIMED  EXPIRED  SLEEPING  OLDEST WAITS       NEXT DUE
  default        3          0        2        1     1,500          12 s  in 1 min 30 s
    waited for: mail 2, charge 1
    held by: worker-1 2
  slow           0          0        0        0         0
    circuit open: step charge of pay, 5 failures, opened 3 min ago, probe in 12 s

Needs attention
  3 steps that wait for a person
  1 attempt whose worker was lost
      holdfast doctor --store demo.db
  1 result that is stored but not applied to its run
      holdfast work --store demo.db

Workflows
  invoice, order
)");
}

TEST(ShowStatus, an_empty_store_says_little) {
  StoreStatus status;
  status.moment.now = kNow;
  EXPECT_EQ("\n" + show_status(status, {}), R"(
As of 2027-01-15T08:00:00.000Z, position 0

Runs: 0
)");
}

TEST(ShowStatus, colours_show_where_to_look) {
  StoreStatus status = busy();
  status.queues.pop_back();
  EXPECT_EQ("\n" + marked(show_status(status, {.colour = true, .width = 60})), R"(
As of 2027-01-15T08:00:00.000Z, position 12,345

{1}Runs: 1,257{}
  {34}running{}          12
  {33}paused{}            3
  {35}compensating{}      1
  {32}completed{}     1,234
  {31}failed{}            7

{1}Queues{}
  {2}QUEUE{}    {2}VISIBLE{}  {2}SCHEDULED{}  {2}CLAIMED{}  {2}EXPIRED{}  {2}SLEEPING{}
  default        3          {2}0{}        2        {31}1{}     1,500
    waited for: mail 2, charge 1
    held by: worker-1 2

{1}Needs attention{}
  3 steps that wait for a person
  1 attempt whose worker was lost
      {36}holdfast doctor{}
  1 result that is stored but not applied to its run
      {36}holdfast work{}

{1}Workflows{}
  invoice, order
)");
}

}  // namespace
}  // namespace holdfast::show_status_test
