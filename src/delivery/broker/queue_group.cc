#include "delivery/broker/queue_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"
#include "delivery/contract/rejection.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint64_t kMostBytes = 4U << 20U;  // of the bodies of a claim
constexpr std::uint32_t kDueAtOnce = 500;
constexpr int kMostDueRounds = 20;

const QueueKey& queue_of(const QueueCommand& command) {
  return std::visit([](const auto& one) -> const QueueKey& { return one.queue; }, command);
}

Error no_queue(const QueueKey& queue) {
  return rejected(Rejection::unknown_destination,
                  fmt::format("there is no queue {}", quote(queue.second)));
}

}  // namespace

Result<bool> advance_queue(SqlSession& session, const QueueKey& queue,
                           const QueueSettings& settings, TimeMs now, QueueEvents& events) {
  HOLDFAST_TRY(const std::vector<PlaceRow> due, find_due(session, queue, now, kDueAtOnce));
  std::vector<PlaceRow> changed;
  for (const PlaceRow& row : due) {
    QueuePlace next = advance_place(row.place, settings, now);
    HOLDFAST_ASSERT(next != row.place);
    events.leases_ended += row.place.state == QueueState::leased ? 1U : 0U;
    events.dead += next.state == QueueState::dead ? 1U : 0U;
    events.more_ready = events.more_ready || next.state == QueueState::ready;
    changed.push_back({row.broker_message_id, std::move(next)});
  }
  HOLDFAST_CHECK(write_places(session, changed));
  return due.size() < kDueAtOnce;
}

Result<std::vector<Result<QueueReply>>> QueueGroup::run(std::span<const QueueCommand> commands) {
  HOLDFAST_CHECK(lock(commands));
  replies_.assign(commands.size(), Result<QueueReply>(QueueReply(QueueSettled{})));
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!queues_.contains(queue_of(commands[i]))) {
      replies_[i] = no_queue(queue_of(commands[i]));
    }
  }
  HOLDFAST_CHECK(settle(commands));
  HOLDFAST_TRY(const auto claims, permitted(commands));
  for (const auto& [queue, indexes] : claims) {
    HOLDFAST_CHECK(advance(queue));
    HOLDFAST_CHECK(claim_queue(queue, commands, indexes));
    HOLDFAST_CHECK(read_claimed(queue, indexes));
  }
  return std::move(replies_);
}

Result<void> QueueGroup::lock(std::span<const QueueCommand> commands) {
  std::set<QueueKey> distinct;
  for (const QueueCommand& command : commands) {
    distinct.insert(queue_of(command));
  }
  const std::vector<QueueKey> keys(distinct.begin(), distinct.end());
  HOLDFAST_TRY(queues_, lock_queues(session_, keys));
  return {};
}

Result<void> QueueGroup::settle(std::span<const QueueCommand> commands) {
  std::vector<PlaceKey> keys;
  for (const QueueCommand& command : commands) {
    const auto* const one = std::get_if<QueueSettle>(&command);
    if (one == nullptr || !queues_.contains(one->queue)) {
      continue;
    }
    for (const std::string& id : one->broker_message_ids) {
      if (places_.try_emplace({one->queue, id}).second) {
        keys.push_back({one->queue, id});
      }
    }
  }
  HOLDFAST_TRY(auto read, read_places(session_, keys));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    places_.at({keys[i].queue, keys[i].broker_message_id}) = read[i];
  }
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto* const one = std::get_if<QueueSettle>(&commands[i]);
    if (one != nullptr && replies_[i].ok()) {
      replies_[i] = QueueReply(settle_one(*one));
    }
  }
  std::vector<PlaceRow> changed;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto& place = places_.at({keys[i].queue, keys[i].broker_message_id});
    if (place != read[i]) {
      changed.push_back({keys[i].broker_message_id, *place});
    }
  }
  return write_places(session_, changed);
}

QueueSettled QueueGroup::settle_one(const QueueSettle& settle) {
  const QueueSettings& settings = queues_.at(settle.queue);
  const QueueSettlement settlement{settle.kind, settle.delay_ms,
                                   settle.lease_ms > 0 ? settle.lease_ms : settings.lease_ms,
                                   settle.reason};
  QueueSettled reply;
  reply.lease_until = TimeMs{now_.value + settlement.lease_ms};
  for (const std::string& id : settle.broker_message_ids) {
    std::optional<QueuePlace>& place = places_.at({settle.queue, id});
    Settled settled =
        settle_place(place, {settle.lease, settle.member_id}, settlement, settings, now_);
    if (settled.fence.has_value()) {
      reply.fenced.emplace_back(id, *settled.fence);
      continue;
    }
    reply.settled.push_back(id);
    if (settled.place.state == QueueState::dead) {
      reply.dead.push_back(id);
      ++events_.dead;
    }
    const bool frees_lane =
        settings.order == QueueOrder::lanes && settle.kind != QueueSettlement::Kind::extend;
    events_.more_ready =
        events_.more_ready || frees_lane || settle.kind == QueueSettlement::Kind::nack;
    place = std::move(settled.place);
  }
  return reply;
}

std::optional<Error> QueueGroup::refusal(const QueueClaim& claim, ConsumerGrant grant) const {
  const QueueSettings& settings = queues_.at(claim.queue);
  if (grant == ConsumerGrant::revoked) {
    return rejected(Rejection::member_revoked);
  }
  if (settings.access == QueueAccess::closed && grant != ConsumerGrant::granted) {
    return rejected(Rejection::not_allowed,
                    fmt::format("the queue {} is closed, and the member was not granted it",
                                quote(claim.queue.second)));
  }
  if (settings.order == QueueOrder::lanes && !claim.key.empty()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the queue {} hands out lanes in their order: claim without a key",
                             quote(claim.queue.second))}
        .with("field", "key");
  }
  return std::nullopt;
}

Result<std::map<QueueKey, QueueGroup::Indexes>> QueueGroup::permitted(
    std::span<const QueueCommand> commands) {
  std::vector<ConsumerKey> keys;
  Indexes claiming;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto* const claim = std::get_if<QueueClaim>(&commands[i]);
    if (claim != nullptr && replies_[i].ok()) {
      keys.push_back({claim->queue, claim->member_id});
      claiming.push_back(i);
    }
  }
  HOLDFAST_TRY(const auto grants, find_grants(session_, keys));
  std::map<QueueKey, Indexes> claims;
  for (std::size_t i = 0; i < claiming.size(); ++i) {
    const auto& claim = std::get<QueueClaim>(commands[claiming[i]]);
    if (auto refused = refusal(claim, grants[i])) {
      replies_[claiming[i]] = *std::move(refused);
    } else {
      replies_[claiming[i]] = QueueReply(begin_reply(claim));
      claims[claim.queue].push_back(claiming[i]);
    }
  }
  return claims;
}

QueueClaimed QueueGroup::begin_reply(const QueueClaim& claim) const {
  const std::int64_t lease_ms =
      claim.lease_ms > 0 ? claim.lease_ms : queues_.at(claim.queue).lease_ms;
  return {claim.lease.empty() ? new_lease_() : claim.lease, TimeMs{now_.value + lease_ms}, {}, {}};
}

// What is due beyond the bound is left for the next group.
Result<void> QueueGroup::advance(const QueueKey& queue) {
  for (int round = 0; round < kMostDueRounds; ++round) {
    HOLDFAST_TRY(const bool all, advance_queue(session_, queue, queues_.at(queue), now_, events_));
    if (all) {
      break;
    }
  }
  return {};
}

Result<void> QueueGroup::claim_queue(const QueueKey& queue, std::span<const QueueCommand> commands,
                                     const Indexes& claims) {
  if (queues_.at(queue).order == QueueOrder::shared) {
    return claim_shared(queue, commands, claims);
  }
  for (const std::size_t i : claims) {
    HOLDFAST_CHECK(claim_lanes(std::get<QueueClaim>(commands[i]), claimed(i)));
  }
  return {};
}

QueueClaimed& QueueGroup::claimed(std::size_t index) {
  return std::get<QueueClaimed>(replies_.at(index).value());
}

PlaceRow QueueGroup::leased(const QueueClaim& claim, QueueClaimed& reply,
                            const QueueCandidate& candidate) {
  QueueMessage& message = reply.messages.emplace_back();
  message.broker_message_id = candidate.broker_message_id;
  return {candidate.broker_message_id, lease_place(candidate.place, {reply.lease, claim.member_id},
                                                   now_, reply.lease_until.value - now_.value)};
}

// Claims for any message share one look; each of the others has its own.
Result<void> QueueGroup::claim_shared(const QueueKey& queue, std::span<const QueueCommand> commands,
                                      const Indexes& claims) {
  CandidateQuery any{.queue = queue};
  for (const std::size_t i : claims) {
    const auto& claim = std::get<QueueClaim>(commands[i]);
    any.limit += claim.key.empty() ? claim.limit : 0;
  }
  std::vector<QueueCandidate> candidates;
  if (any.limit > 0) {
    HOLDFAST_TRY(candidates, find_candidates(session_, any, now_));
  }
  std::vector<PlaceRow> rows;
  const auto take = [&](std::size_t command, std::vector<QueueCandidate>& from) {
    const auto& claim = std::get<QueueClaim>(commands[command]);
    const std::vector<std::size_t> chosen = choose_shared(from, {claim.limit, kMostBytes}, now_);
    for (const std::size_t i : chosen) {
      rows.push_back(leased(claim, claimed(command), from[i]));
    }
    for (auto i = chosen.rbegin(); i != chosen.rend(); ++i) {
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(*i));
    }
  };
  for (const std::size_t i : claims) {
    if (std::get<QueueClaim>(commands[i]).key.empty()) {
      take(i, candidates);
    }
  }
  for (const std::size_t i : claims) {
    const auto& claim = std::get<QueueClaim>(commands[i]);
    if (!claim.key.empty()) {
      HOLDFAST_CHECK(write_places(session_, std::exchange(rows, {})));
      HOLDFAST_TRY(auto of_key, find_candidates(session_, {queue, claim.key, claim.limit}, now_));
      take(i, of_key);
    }
  }
  return write_places(session_, rows);
}

Result<void> QueueGroup::claim_lanes(const QueueClaim& claim, QueueClaimed& reply) {
  HOLDFAST_TRY(const auto lanes, find_lanes(session_, claim.queue, claim.lease, claim.limit));
  std::vector<PlaceRow> rows;
  for (const QueueChoice& choice :
       choose_lanes(lanes, reply.lease, {claim.limit, kMostBytes}, now_)) {
    rows.push_back(leased(claim, reply, lanes[choice.lane][choice.index]));
  }
  return write_places(session_, rows);
}

Result<void> QueueGroup::read_claimed(const QueueKey& queue, const Indexes& claims) {
  std::vector<std::string> ids;
  bool some_got_nothing = false;
  for (const std::size_t i : claims) {
    some_got_nothing = some_got_nothing || claimed(i).messages.empty();
    for (const QueueMessage& message : claimed(i).messages) {
      ids.push_back(message.broker_message_id);
    }
  }
  HOLDFAST_TRY(auto messages, read_messages(session_, ids));
  HOLDFAST_ASSERT(messages.size() == ids.size());
  std::optional<TimeMs> next_at;
  if (some_got_nothing) {
    HOLDFAST_TRY(next_at, next_due(session_, queue));
  }
  auto next = messages.begin();
  for (const std::size_t i : claims) {
    for (QueueMessage& message : claimed(i).messages) {
      message = std::move(*next++);
    }
    claimed(i).next_at = claimed(i).messages.empty() ? next_at : std::nullopt;
  }
  return {};
}

}  // namespace holdfast::delivery
