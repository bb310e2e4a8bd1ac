#include "delivery/broker/deliveries.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "delivery/broker/push_rows.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint32_t kJobRows = 1000;
constexpr std::size_t kGroup = 64;

template <typename Reply>
std::vector<Result<Reply>> replies_of(const Result<void>& done, std::vector<Reply> values,
                                      std::size_t count) {
  if (!done.ok()) {
    return std::vector<Result<Reply>>(count, done.error());
  }
  return {std::make_move_iterator(values.begin()), std::make_move_iterator(values.end())};
}

}  // namespace

Deliveries::Deliveries(BrokerStore& store, Clock& clock, Random& random, DeliveryRules rules)
    : store_(store),
      clock_(clock),
      random_(random),
      rules_(rules),
      claims_([this](const std::vector<ClaimRequest>& group) { return claim_group(group); },
              {.max_group = kGroup}),
      acks_([this](const std::vector<AckRequest>& group) { return ack_group(group); },
            {.max_group = kGroup}) {}

// In the order of the members, as every broker takes their locks.
std::vector<Result<Deliveries::Rows>> Deliveries::claim_group(
    const std::vector<ClaimRequest>& requests) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return requests[a].member_id < requests[b].member_id;
  });
  std::vector<Rows> claimed;
  const auto done = store_.deliver([&](SqlSession& session) -> Result<void> {
    claimed.assign(requests.size(), {});
    for (const std::size_t i : order) {
      HOLDFAST_TRY(claimed[i], claim_rows(session, requests[i], rules_));
    }
    return {};
  });
  return replies_of(done, std::move(claimed), requests.size());
}

std::vector<Result<AckOutcome>> Deliveries::ack_group(const std::vector<AckRequest>& requests) {
  std::vector<AckOutcome> outcomes;
  const TimeMs now = clock_.now();
  const auto done = store_.deliver([&](SqlSession& session) -> Result<void> {
    outcomes.clear();
    for (const AckRequest& request : requests) {
      HOLDFAST_TRY(AckOutcome outcome, acknowledge_rows(session, request, now));
      outcomes.push_back(std::move(outcome));
    }
    return {};
  });
  return replies_of(done, std::move(outcomes), requests.size());
}

std::string Deliveries::next_owner(TimeMs now) {
  const std::lock_guard lock(owner_mutex_);
  std::array<std::byte, 10> entropy{};
  random_.fill(entropy);
  return owners_.next(now, entropy).text();
}

Result<ClaimedDeliveries> Deliveries::claim(const Claim& claim) {
  ClaimRequest request;
  request.member_id = claim.member_id;
  request.now = clock_.now();
  request.owner = claim.owner.empty() ? next_owner(request.now) : claim.owner;
  request.limit = claim.limit;
  request.most_bytes = claim.most_bytes;
  ClaimedDeliveries claimed{request.owner, TimeMs{request.now.value + rules_.lease_ms}, {}};
  HOLDFAST_TRY(const Rows rows, claims_.run(std::move(request)));
  if (rows.empty()) {
    return claimed;
  }
  counters_.claimed += rows.size();
  counters_.redelivered += static_cast<std::uint64_t>(std::count_if(
      rows.begin(), rows.end(), [](const ClaimedRow& row) { return row.attempt > 1; }));
  HOLDFAST_CHECK(store_.read([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(claimed.deliveries, read_claimed(session, rows));
    return {};
  }));
  return claimed;
}

Result<AckOutcome> Deliveries::acknowledge(const AckRequest& request) {
  HOLDFAST_TRY(AckOutcome outcome, acks_.run(request));
  counters_.acked += outcome.acked.size();
  counters_.fenced += outcome.fenced.size();
  return outcome;
}

Result<void> Deliveries::release(const std::string& member_id, const std::string& owner) {
  const TimeMs now = clock_.now();
  std::uint64_t ended = 0;
  HOLDFAST_CHECK(store_.deliver([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(ended, end_owned_leases(session, member_id, owner, now));
    return {};
  }));
  counters_.leases_ended += ended;
  return {};
}

Result<LeaseSweep> Deliveries::end_leases() {
  const TimeMs now = clock_.now();
  LeaseSweep total;
  for (;;) {
    bool ended = false;
    HOLDFAST_CHECK(store_.read([&](SqlSession& session) -> Result<void> {
      HOLDFAST_TRY(ended, has_ended_leases(session, now));
      return {};
    }));
    if (!ended) {
      break;
    }
    LeaseSweep batch;
    HOLDFAST_CHECK(store_.deliver([&](SqlSession& session) -> Result<void> {
      HOLDFAST_TRY(batch, delivery::end_leases(session, now, rules_, kJobRows));
      return {};
    }));
    total.released += batch.released;
    total.dead += batch.dead;
  }
  counters_.leases_ended += total.released + total.dead;
  counters_.dead += total.dead;
  return total;
}

Result<std::uint64_t> Deliveries::end_overdue() {
  const TimeMs now = clock_.now();
  std::uint64_t dead = 0;
  for (;;) {
    std::vector<std::uint64_t> overdue;
    HOLDFAST_CHECK(store_.scan([&](SqlSession& session) -> Result<void> {
      HOLDFAST_TRY(overdue, find_overdue(session, now, rules_, kJobRows));
      return {};
    }));
    if (overdue.empty()) {
      break;
    }
    std::uint64_t ended = 0;
    HOLDFAST_CHECK(store_.deliver([&](SqlSession& session) -> Result<void> {
      HOLDFAST_TRY(ended, delivery::end_overdue(session, overdue, now));
      return {};
    }));
    dead += ended;
    if (ended < kJobRows) {
      break;  // what is left is leased, or new
    }
  }
  counters_.dead += dead;
  return dead;
}

}  // namespace holdfast::delivery
