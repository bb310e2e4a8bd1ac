#include "delivery/contract/queue_decision.h"

#include <algorithm>
#include <utility>

#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kExpired = "expired";
constexpr std::string_view kNoAcknowledgement = "not acknowledged after the last delivery";
constexpr std::string_view kRejected = "rejected after the last delivery";

bool has_passed(TimeMs at, TimeMs now) { return at.value != 0 && at <= now; }

QueuePlace ended(QueuePlace place, QueueState state, TimeMs now, std::string_view reason) {
  place.state = state;
  place.due_at = TimeMs{0};
  place.ended_at = now;
  place.reason = reason;
  return place;
}

// Without a holder.
QueuePlace open_again(QueuePlace place, TimeMs due_at) {
  place.state = due_at.value > 0 ? QueueState::delayed : QueueState::ready;
  place.due_at = due_at;
  place.lease.clear();
  place.lease_member_id.clear();
  place.ended_at = TimeMs{0};
  place.reason.clear();
  return place;
}

bool was_last(const QueuePlace& place, const QueueSettings& settings) {
  return settings.max_deliveries > 0 && place.deliveries >= settings.max_deliveries;
}

// Adds to what was chosen if the limits allow it.
class Chosen {
 public:
  explicit Chosen(const QueueClaimLimits& limits) : limits_(limits) {}

  bool add(const QueueCandidate& candidate) {
    if (count_ == limits_.messages || (count_ > 0 && bytes_ + candidate.bytes > limits_.bytes)) {
      return false;
    }
    ++count_;
    bytes_ += candidate.bytes;
    return true;
  }

 private:
  const QueueClaimLimits& limits_;
  std::uint32_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

bool is_claimable(const QueueCandidate& candidate, TimeMs now) {
  return candidate.place.state == QueueState::ready && !has_passed(candidate.place.expires_at, now);
}

}  // namespace

QueuePlace advance_place(const QueuePlace& place, const QueueSettings& settings, TimeMs now) {
  const bool due = place.due_at <= now;
  const bool held = place.state == QueueState::leased && !due;
  const bool open = place.state == QueueState::ready || place.state == QueueState::delayed ||
                    place.state == QueueState::leased;
  if (!open || held) {
    return place;
  }
  if (has_passed(place.expires_at, now)) {
    return ended(place, QueueState::dead, now, kExpired);
  }
  if (place.state == QueueState::leased && was_last(place, settings)) {
    return ended(place, QueueState::dead, now, kNoAcknowledgement);
  }
  return place.state != QueueState::ready && due ? open_again(place, TimeMs{0}) : place;
}

QueuePlace lease_place(const QueuePlace& place, const QueueLease& lease, TimeMs now,
                       std::int64_t lease_ms) {
  HOLDFAST_ASSERT(place.state == QueueState::ready && lease_ms > 0 && !lease.token.empty());
  QueuePlace leased = place;
  leased.state = QueueState::leased;
  leased.due_at = TimeMs{now.value + lease_ms};
  ++leased.deliveries;
  leased.lease = lease.token;
  leased.lease_member_id = lease.member_id;
  return leased;
}

Settled settle_place(const std::optional<QueuePlace>& place, const QueueLease& lease,
                     const QueueSettlement& settlement, const QueueSettings& settings, TimeMs now) {
  if (!place.has_value()) {
    return {QueueFence::unknown_message, {}};
  }
  const bool ours = place->lease == lease.token && place->lease_member_id == lease.member_id;
  switch (place->state) {
    case QueueState::ready:
    case QueueState::delayed:
      return {QueueFence::lease_ended, *place};
    case QueueState::dead:
    case QueueState::discarded:
      return {QueueFence::already_ended, *place};
    case QueueState::done:
      return ours && settlement.kind == QueueSettlement::Kind::ack
                 ? Settled{{}, *place}
                 : Settled{QueueFence::already_ended, *place};
    case QueueState::leased:
      break;
  }
  if (!ours) {
    return {QueueFence::other_lease, *place};
  }
  QueuePlace next = *place;
  switch (settlement.kind) {
    case QueueSettlement::Kind::ack:
      return {{}, ended(std::move(next), QueueState::done, now, "")};
    case QueueSettlement::Kind::extend:
      next.due_at = TimeMs{now.value + settlement.lease_ms};
      return {{}, std::move(next)};
    case QueueSettlement::Kind::nack:
      break;
  }
  if (was_last(next, settings)) {
    const std::string_view reason =
        settlement.reason.empty() ? kRejected : std::string_view(settlement.reason);
    return {{}, ended(std::move(next), QueueState::dead, now, reason)};
  }
  const TimeMs due_at{settlement.delay_ms > 0 ? now.value + settlement.delay_ms : 0};
  return {{}, open_again(std::move(next), due_at)};
}

QueuePlace redrive_place(const QueuePlace& dead, TimeMs now, std::int64_t delay_ms) {
  HOLDFAST_ASSERT(dead.state == QueueState::dead);
  QueuePlace place = open_again(dead, TimeMs{delay_ms > 0 ? now.value + delay_ms : 0});
  place.deliveries = 0;
  place.expires_at = TimeMs{0};
  return place;
}

QueuePlace bury_place(const QueuePlace& place, TimeMs now, std::string_view reason) {
  return ended(place, QueueState::dead, now, reason);
}

QueuePlace discard_place(const QueuePlace& place, TimeMs now, std::string_view reason) {
  return ended(place, QueueState::discarded, now, reason);
}

std::vector<std::size_t> choose_shared(std::span<const QueueCandidate> candidates,
                                       const QueueClaimLimits& limits, TimeMs now) {
  std::vector<std::size_t> indexes;
  Chosen chosen(limits);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!is_claimable(candidates[i], now)) {
      continue;
    }
    if (!chosen.add(candidates[i])) {
      break;
    }
    indexes.push_back(i);
  }
  return indexes;
}

std::vector<QueueChoice> choose_lanes(std::span<const QueueLane> lanes, std::string_view lease,
                                      const QueueClaimLimits& limits, TimeMs now) {
  std::vector<QueueChoice> free;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    for (std::size_t i = 0; i < lanes[lane].size(); ++i) {
      const QueueCandidate& candidate = lanes[lane][i];
      const bool held =
          candidate.place.state == QueueState::leased && candidate.place.lease == lease;
      if (held) {
        continue;
      }
      if (!is_claimable(candidate, now)) {
        break;
      }
      free.push_back({lane, i});
    }
  }
  const auto order = [&](const QueueChoice& choice) {
    const QueueCandidate& candidate = lanes[choice.lane][choice.index];
    return std::pair(candidate.rank, candidate.history_seq);
  };
  std::ranges::sort(free, {}, order);
  Chosen chosen(limits);
  const auto end = std::ranges::find_if_not(free, [&](const QueueChoice& choice) {
    return chosen.add(lanes[choice.lane][choice.index]);
  });
  free.erase(end, free.end());
  return free;
}

}  // namespace holdfast::delivery
