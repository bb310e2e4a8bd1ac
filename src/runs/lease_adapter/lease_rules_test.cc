// Every kind of signal in every state of an attempt, and every reason to enqueue an item.
#include "runs/lease_adapter/lease_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::lease_rules_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Action = SignalAction;

constexpr TimeMs kNow{1'000'000};
const SignalFence kMine{SharedText("mine"), sha256("secret")};

TimeMs at(std::int64_t offset_ms) { return TimeMs{kNow.value + offset_ms}; }

Attempt attempt_with(AttemptStatus status, TimeMs visible_at) {
  Attempt attempt;
  attempt.runnable_key = "key";
  attempt.handler = "handler";
  attempt.status = status;
  attempt.visible_at = visible_at;
  return attempt;
}

Attempt claimed_by(std::string_view claim_id, std::string_view token, TimeMs lease_until) {
  Attempt attempt = attempt_with(AttemptStatus::claimed, at(-100));
  Claim claim;
  claim.claim_id = claim_id;
  claim.token_hash = sha256(token);
  claim.lease_until = lease_until;
  attempt.claim = Box<Claim>(std::move(claim));
  return attempt;
}

struct Row {
  const char* name;
  const Attempt* attempt;
  // claim, heartbeat, complete, fail, retry, yield, dead_letter
  std::array<Action, 7> actions;
  std::optional<TimeMs> until = std::nullopt;  // of a claim
};

TEST(LeaseRules, every_signal_in_every_state_has_one_action) {
  const Attempt free = attempt_with(AttemptStatus::available, kNow);
  const Attempt retry = attempt_with(AttemptStatus::retry_scheduled, kNow);
  const Attempt later = attempt_with(AttemptStatus::available, at(1));
  const Attempt mine = claimed_by("mine", "secret", at(1));
  const Attempt mine_expired = claimed_by("mine", "secret", kNow);
  const Attempt held = claimed_by("other", "secret", at(1));
  const Attempt other_token = claimed_by("mine", "another", at(1));
  const Attempt held_expired = claimed_by("other", "secret", kNow);
  const Attempt completed = attempt_with(AttemptStatus::completed, kNow);
  const Attempt failed = attempt_with(AttemptStatus::failed, kNow);
  Attempt applied = claimed_by("mine", "secret", at(1));
  applied.applied = true;
  const std::array<Action, 7> gone{Action::refuse, Action::lost,   Action::ignore, Action::ignore,
                                   Action::ignore, Action::ignore, Action::ignore};
  const std::array<Action, 7> not_claimed{Action::claim,  Action::lost,   Action::ignore,
                                          Action::ignore, Action::ignore, Action::ignore,
                                          Action::fail};
  const std::array<Action, 7> of_other{Action::wait,   Action::lost,   Action::ignore,
                                       Action::ignore, Action::ignore, Action::ignore,
                                       Action::ignore};
  const Row rows[] = {
      {"unknown", nullptr, gone},
      {"completed", &completed, gone},
      {"failed", &failed, gone},
      {"applied", &applied, gone},
      {"free", &free, not_claimed},
      {"retry", &retry, not_claimed},
      {"later",
       &later,
       {Action::wait, Action::lost, Action::ignore, Action::ignore, Action::ignore, Action::ignore,
        Action::ignore},
       at(1)},
      {"mine",
       &mine,
       {Action::grant_again, Action::extend, Action::end, Action::end, Action::end,
        Action::give_back, Action::ignore}},
      {"mine, expired",
       &mine_expired,
       {Action::claim, Action::claim_extend, Action::claim_end, Action::claim_end,
        Action::claim_end, Action::ignore, Action::fail}},
      {"held by another worker", &held, of_other, at(1)},
      {"the same claim id with another token", &other_token, of_other, at(1)},
      {"held by another worker, expired", &held_expired, not_claimed},
  };
  for (const Row& row : rows) {
    for (std::size_t kind = 0; kind < row.actions.size(); ++kind) {
      const SignalVerdict verdict =
          judge_signal(row.attempt, static_cast<SignalKind>(kind), kMine, kNow);
      EXPECT_EQ(verdict.action, row.actions[kind]) << row.name << ", kind " << kind;
      EXPECT_EQ(verdict.until, kind == 0 ? row.until : std::nullopt) << row.name;
    }
  }
}

LiveItem waiting(std::string_view key, TimeMs visible_at) { return {SharedText(key), visible_at}; }
LiveItem claimed(std::string_view key, TimeMs lease_until) {
  return {SharedText(key), at(-100), lease_until};
}
KnownItem ensured(TimeMs when) {
  KnownItem item;
  item.ensured_at = when;
  return item;
}

TEST(LeasePlan, an_unknown_attempt_is_enqueued_for_its_time) {
  const std::vector<LiveItem> live{waiting("a", at(-5)), waiting("b", at(50))};
  const ItemPlan plan = plan_items(live, {}, kNow);
  EXPECT_THAT(plan.puts, ElementsAre(ItemPlan::Put{"a", EnqueueMode::ensure, at(-5)},
                                     ItemPlan::Put{"b", EnqueueMode::ensure, at(50)}));
  EXPECT_THAT(plan.removes, IsEmpty());
}

TEST(LeasePlan, a_known_item_is_left_alone_until_it_is_overdue) {
  KnownItems known;
  known["a"] = ensured(at(-kEnsureAgainMs + 1));
  known["b"] = ensured(at(-kEnsureAgainMs));
  known["late"] = ensured(at(-2 * kEnsureAgainMs));
  const std::vector<LiveItem> live{waiting("a", at(-2 * kEnsureAgainMs)),
                                   waiting("b", at(-2 * kEnsureAgainMs)), waiting("late", at(1))};
  const ItemPlan plan = plan_items(live, known, kNow);
  EXPECT_THAT(plan.puts,
              ElementsAre(ItemPlan::Put{"b", EnqueueMode::ensure, at(-2 * kEnsureAgainMs)}));
}

TEST(LeasePlan, an_item_that_was_not_confirmed_is_ensured) {
  KnownItems known;
  known["a"] = KnownItem{};
  const std::vector<LiveItem> live{waiting("a", at(-5))};
  EXPECT_THAT(plan_items(live, known, kNow).puts,
              ElementsAre(ItemPlan::Put{"a", EnqueueMode::ensure, at(-5)}));
}

TEST(LeasePlan, an_expired_claim_is_taken_back_once) {
  const std::vector<LiveItem> live{claimed("a", kNow)};
  KnownItems known;
  known["a"] = ensured(at(-10));
  EXPECT_THAT(plan_items(live, known, kNow).puts,
              ElementsAre(ItemPlan::Put{"a", EnqueueMode::redeliver, kNow}));
  known["a"].taken_back_at_lease = kNow;
  EXPECT_THAT(plan_items(live, known, kNow).puts, IsEmpty());
  // The next claim expires too.
  const std::vector<LiveItem> next{claimed("a", at(5))};
  EXPECT_THAT(plan_items(next, known, at(5)).puts,
              ElementsAre(ItemPlan::Put{"a", EnqueueMode::redeliver, at(5)}));
}

TEST(LeasePlan, an_item_that_a_circuit_breaker_held_back_returns_when_it_lets_it_through) {
  KnownItems known;
  known["a"] = ensured(at(-10));
  known["a"].held_back = true;
  LiveItem item = waiting("a", at(-20));
  item.held_back = true;
  EXPECT_THAT(plan_items(std::vector<LiveItem>{item}, known, kNow).puts, IsEmpty());
  item.held_back = false;
  EXPECT_THAT(plan_items(std::vector<LiveItem>{item}, known, kNow).puts,
              ElementsAre(ItemPlan::Put{"a", EnqueueMode::replace, at(-20)}));
  EXPECT_THAT(plan_items(std::vector<LiveItem>{claimed("a", at(5))}, known, kNow).puts, IsEmpty());
}

TEST(LeasePlan, a_held_attempt_is_kept_for_the_end_of_its_lease) {
  const std::vector<LiveItem> live{claimed("a", at(70)), claimed("b", at(30))};
  KnownItems known;
  known["a"] = ensured(at(-10));
  const ItemPlan plan = plan_items(live, known, kNow);
  EXPECT_THAT(plan.puts, ElementsAre(ItemPlan::Put{"b", EnqueueMode::ensure, at(30)}));
  EXPECT_EQ(plan.next_at, at(30));
}

TEST(LeasePlan, an_item_without_an_attempt_is_removed) {
  KnownItems known;
  known["a"] = ensured(kNow);
  known["gone"] = ensured(kNow);
  const std::vector<LiveItem> live{waiting("a", kNow)};
  EXPECT_THAT(plan_items(live, known, kNow).removes, ElementsAre(SharedText("gone")));
  EXPECT_THAT(plan_puts(live, known, kNow).removes, IsEmpty());
}

}  // namespace
}  // namespace holdfast::lease_rules_test
