#include <gtest/gtest.h>

#include "apps/terminal/next_actions.h"
#include "apps/terminal/show.h"
#include "tests/support/marked.h"

namespace holdfast::show_explanation_test {
namespace {

constexpr TimeMs kNow{1'800'000'000'000};
TimeMs later(std::int64_t ms) { return TimeMs{kNow.value + ms}; }

Explanation explanation() {
  Explanation why;
  why.run_id = "01982b7e-5c00-7000-8000-000000000001";
  why.workflow = "order";
  why.status = "running";
  why.now = kNow;
  return why;
}

Explanation of_approval() {
  Explanation why = explanation();
  Cause cause;
  cause.reason = Reason::manual_intervention_required;
  cause.step = "manager";
  cause.summary = "waits for approval manager, open since 2027-01-15T07:57:00.000Z";
  cause.since = later(-180'000);
  cause.next_actions = {
      {"resolve_manual_step", "approve it", "holdfast approve " + why.run_id + " --step manager"},
      {"resolve_manual_step", "reject it", "holdfast reject " + why.run_id + " --step manager"}};
  why.status = "paused";
  why.reason = cause.reason;
  why.summary = cause.summary;
  why.next_actions = cause.next_actions;
  why.causes = {cause};
  return why;
}

// Items, one of which waits for a retry, beside a child that waits for an event.
Explanation of_tree() {
  Explanation why = explanation();
  Cause held;
  held.reason = Reason::attempt_claimed;
  held.step = "mail[3]";
  held.summary = "has attempt 1 at step mail[3] carried out by worker-7 since 07:59:57";
  held.since = later(-3000);
  held.until = later(27'000);
  held.next_actions = {{"wait", "the worker reports, or loses its lease", "", later(27'000)}};
  Cause retry;
  retry.reason = Reason::attempt_scheduled_for_later;
  retry.step = "mail[4]";
  retry.summary = "begins attempt 2 at step mail[4] at 08:00:12, after attempt 1 failed: busy";
  retry.until = later(12'000);
  retry.next_actions = {{"wait", "a worker may claim it", "", later(12'000)}};
  retry.omitted = 45;
  Cause items;
  items.reason = held.reason;
  items.step = "mail";
  items.summary = "has 3 of 50 items of step mail done: " + held.summary;
  items.causes = {held, retry};
  items.next_actions = held.next_actions;
  Cause event;
  event.reason = Reason::manual_intervention_required;
  event.step = "paid";
  event.summary = "waits for event payment at step paid";
  event.since = later(-7'500'000);
  event.next_actions = {{"deliver_external_event", "send event payment",
                         "holdfast signal 01982b7e-5c00-7000-8000-000000000002 payment"}};
  Cause child;
  child.reason = Reason::waiting_for_child;
  child.step = "invoice";
  child.run_id = "01982b7e-5c00-7000-8000-000000000002";
  child.summary =
      "waits for child run " + child.run_id + " of workflow invoice, which " + event.summary;
  child.causes = {event};
  child.next_actions = event.next_actions;
  child.next_actions.push_back(
      {"inspect_child_run", "inspect the child run", "holdfast explain " + child.run_id});
  why.reason = items.reason;
  why.summary = items.summary;
  why.next_actions = items.next_actions;
  why.causes = {items, child};
  return why;
}

TEST(ShowExplanation, one_cause_is_said_once) {
  EXPECT_EQ("\n" + show_explanation(of_approval(), {.command_suffix = " --store x"}), R"(
run 01982b7e-5c00-7000-8000-000000000001 (order) waits for approval manager, open since
  2027-01-15T07:57:00.000Z.
status paused, reason manual_intervention_required (for 3 min)

What to do next:
  approve it
      holdfast approve 01982b7e-5c00-7000-8000-000000000001 --step manager --store x
  reject it
      holdfast reject 01982b7e-5c00-7000-8000-000000000001 --step manager --store x
)");
}

TEST(ShowExplanation, several_causes_are_a_tree_down_to_what_is_outside) {
  EXPECT_EQ("\n" + show_explanation(of_tree(), {}), R"(
run 01982b7e-5c00-7000-8000-000000000001 (order) has 3 of 50 items of step mail done: has attempt
  1 at step mail[3] carried out by worker-7 since 07:59:57.
status running, reason attempt_claimed

├─ mail: has 3 of 50 items of step mail done
│  ├─ mail[3]: has attempt 1 at step mail[3] carried out by worker-7 since 07:59:57 (for 3 s,
│  │     27 s left)
│  ├─ mail[4]: begins attempt 2 at step mail[4] at 08:00:12, after attempt 1 failed: busy
│  │     (in 12 s)
│  └─ (and 45 more)
└─ invoice: waits for child run 01982b7e-5c00-7000-8000-000000000002 of workflow invoice
   └─ paid: waits for event payment at step paid (for 2 h 5 min)

What to do next:
  the worker reports, or loses its lease (in 27 s)
  a worker may claim it (in 12 s)
  send event payment
      holdfast signal 01982b7e-5c00-7000-8000-000000000002 payment
  inspect the child run
      holdfast explain 01982b7e-5c00-7000-8000-000000000002
)");
}

TEST(ShowExplanation, the_tree_stays_a_tree_on_a_narrow_terminal) {
  EXPECT_EQ("\n" + show_explanation(of_tree(), {.width = 50}), R"(
run 01982b7e-5c00-7000-8000-000000000001 (order)
  has 3 of 50 items of step mail done: has attempt
  1 at step mail[3] carried out by worker-7 since
  07:59:57.
status running, reason attempt_claimed

├─ mail: has 3 of 50 items of step mail done
│  ├─ mail[3]: has attempt 1 at step mail[3]
│  │     carried out by worker-7 since 07:59:57
│  │     (for 3 s, 27 s left)
│  ├─ mail[4]: begins attempt 2 at step mail[4]
│  │     at 08:00:12, after attempt 1 failed: busy
│  │     (in 12 s)
│  └─ (and 45 more)
└─ invoice: waits for child run
   │  01982b7e-5c00-7000-8000-000000000002 of
   │  workflow invoice
   └─ paid: waits for event payment at step
         paid (for 2 h 5 min)

What to do next:
  the worker reports, or loses its lease
    (in 27 s)
  a worker may claim it (in 12 s)
  send event payment
      holdfast signal 01982b7e-5c00-7000-8000-000000000002 payment
  inspect the child run
      holdfast explain 01982b7e-5c00-7000-8000-000000000002
)");
}

TEST(ShowExplanation, colours_say_what_words_say) {
  EXPECT_EQ("\n" + marked(show_explanation(of_approval(), {.colour = true})), R"(
{1}run 01982b7e-5c00-7000-8000-000000000001 (order) waits for approval manager, open since{}
  {1}2027-01-15T07:57:00.000Z.{}
status {33}paused{}, reason manual_intervention_required (for 3 min)

{1}What to do next:{}
  approve it
      {36}holdfast approve 01982b7e-5c00-7000-8000-000000000001 --step manager{}
  reject it
      {36}holdfast reject 01982b7e-5c00-7000-8000-000000000001 --step manager{}
)");
  Explanation why = of_approval();
  why.causes.push_back(why.causes.front());
  EXPECT_EQ("\n" + marked(show_explanation(why, {.colour = true})), R"(
{1}run 01982b7e-5c00-7000-8000-000000000001 (order) waits for approval manager, open since{}
  {1}2027-01-15T07:57:00.000Z.{}
status {33}paused{}, reason manual_intervention_required

├─ {1}manager{}: waits for approval manager, open since 2027-01-15T07:57:00.000Z (for 3 min)
└─ {1}manager{}: waits for approval manager, open since 2027-01-15T07:57:00.000Z (for 3 min)

{1}What to do next:{}
  approve it
      {36}holdfast approve 01982b7e-5c00-7000-8000-000000000001 --step manager{}
  reject it
      {36}holdfast reject 01982b7e-5c00-7000-8000-000000000001 --step manager{}
)");
}

TEST(ShowExplanation, a_run_that_has_ended_says_when) {
  Explanation why = explanation();
  Cause cause;
  cause.reason = Reason::terminal;
  cause.summary = "failed at 07:56:40 after 1 s in step pay: card\x1b[2J declined [declined]";
  cause.since = later(-200'000);
  why.status = "failed";
  why.reason = cause.reason;
  why.summary = cause.summary;
  why.next_actions = {{"replay_run", "replay it as a new run", "holdfast replay " + why.run_id}};
  why.causes = {cause};
  EXPECT_EQ("\n" + show_explanation(why, {}), R"(
run 01982b7e-5c00-7000-8000-000000000001 (order) failed at 07:56:40 after 1 s in step pay: card
  [2J declined [declined].
status failed, reason terminal (3 min 20 s ago)

What to do next:
  replay it as a new run
      holdfast replay 01982b7e-5c00-7000-8000-000000000001
)");
}

TEST(NextActions, many_are_counted) {
  std::vector<NextAction> actions;
  for (int i = 0; i < 13; ++i) {
    actions.push_back({"wait", "wait for " + std::to_string(i)});
  }
  EXPECT_TRUE(show_next_actions(actions, kNow, {}).ends_with("  wait for 9\n  (and 3 more)\n"));
  EXPECT_EQ(show_next_actions({}, kNow, {}), "");
}

}  // namespace
}  // namespace holdfast::show_explanation_test
