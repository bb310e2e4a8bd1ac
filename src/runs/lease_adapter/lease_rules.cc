#include "runs/lease_adapter/lease_rules.h"

#include <algorithm>
#include <set>

#include "holdfast/assert.h"

namespace holdfast {

namespace {

// How the attempt stands to the worker that sent the signal.
enum class Standing : std::uint8_t { gone, free, mine, mine_expired, held, held_expired };

Standing standing_of(const Attempt* attempt, const SignalFence& fence, TimeMs now) {
  if (attempt == nullptr || attempt->ended() || attempt->applied) {
    return Standing::gone;
  }
  if (attempt->status != AttemptStatus::claimed) {
    return Standing::free;
  }
  HOLDFAST_ASSERT(attempt->claim);
  const bool expired = attempt->claim->lease_until <= now;
  if (attempt->holds(fence.claim_id, fence.token_hash)) {
    return expired ? Standing::mine_expired : Standing::mine;
  }
  return expired ? Standing::held_expired : Standing::held;
}

SignalVerdict judge_claim(const Attempt& attempt, Standing standing, TimeMs now) {
  if (standing == Standing::mine) {
    return {SignalAction::grant_again};
  }
  if (standing == Standing::held) {
    return {SignalAction::wait, attempt.claim->lease_until};
  }
  if (now < attempt.visible_at) {
    return {SignalAction::wait, attempt.visible_at};
  }
  return {SignalAction::claim};
}

SignalAction of_report(Standing standing) {
  return standing == Standing::mine           ? SignalAction::end
         : standing == Standing::mine_expired ? SignalAction::claim_end
                                              : SignalAction::ignore;
}

SignalAction of_heartbeat(Standing standing) {
  return standing == Standing::mine           ? SignalAction::extend
         : standing == Standing::mine_expired ? SignalAction::claim_extend
                                              : SignalAction::lost;
}

bool is_claimable(const Attempt& attempt, Standing standing, TimeMs now) {
  const bool held = standing == Standing::mine || standing == Standing::held;
  return !held && now >= attempt.visible_at;
}

void plan_put(const LiveItem& item, const KnownItem* known, TimeMs now, ItemPlan& plan) {
  const bool expired = item.lease_until.has_value() && *item.lease_until <= now;
  if (item.lease_until.has_value() && !expired &&
      (!plan.next_at.has_value() || *item.lease_until < *plan.next_at)) {
    plan.next_at = item.lease_until;
  }
  if (expired && (known == nullptr || known->taken_back_at_lease != item.lease_until)) {
    plan.puts.push_back({item.key, EnqueueMode::redeliver, item.claimable_at()});
    return;
  }
  // The breaker has closed, or its probe is due: earlier than the time it was taken back for.
  if (known != nullptr && known->held_back && !item.held_back && !item.lease_until.has_value()) {
    plan.puts.push_back({item.key, EnqueueMode::replace, item.claimable_at()});
    return;
  }
  const bool confirmed = known != nullptr && known->ensured_at.has_value();
  const bool overdue =
      confirmed && item.claimable_at() <= now &&
      now.value - std::max(*known->ensured_at, item.claimable_at()).value >= kEnsureAgainMs;
  if (!confirmed || overdue) {
    plan.puts.push_back({item.key, EnqueueMode::ensure, item.claimable_at()});
  }
}

}  // namespace

SignalVerdict judge_signal(const Attempt* attempt, SignalKind kind, const SignalFence& fence,
                           TimeMs now) {
  const Standing standing = standing_of(attempt, fence, now);
  const bool gone = standing == Standing::gone;
  switch (kind) {
    case SignalKind::claim:
      return gone ? SignalVerdict{SignalAction::refuse} : judge_claim(*attempt, standing, now);
    case SignalKind::heartbeat:
      return {of_heartbeat(standing)};
    case SignalKind::complete:
    case SignalKind::fail:
    case SignalKind::retry:
      return {of_report(standing)};
    case SignalKind::yield:
      return {standing == Standing::mine ? SignalAction::give_back : SignalAction::ignore};
    case SignalKind::dead_letter:
      break;
  }
  return {!gone && is_claimable(*attempt, standing, now) ? SignalAction::fail
                                                         : SignalAction::ignore};
}

ItemPlan plan_puts(std::span<const LiveItem> live, const KnownItems& known, TimeMs now) {
  ItemPlan plan;
  for (const LiveItem& item : live) {
    const auto found = known.find(item.key);
    plan_put(item, found == known.end() ? nullptr : &found->second, now, plan);
  }
  return plan;
}

ItemPlan plan_items(std::span<const LiveItem> live, const KnownItems& known, TimeMs now) {
  ItemPlan plan = plan_puts(live, known, now);
  std::set<SharedText> keys;
  for (const LiveItem& item : live) {
    keys.insert(item.key);
  }
  for (const auto& [key, item] : known) {
    if (!keys.contains(key)) {
      plan.removes.push_back(key);
    }
  }
  return plan;
}

}  // namespace holdfast
