#include "delivery/contract/queue_decision.h"

#include <gtest/gtest.h>

namespace holdfast::delivery::queue_decision_test {
namespace {

using Kind = QueueSettlement::Kind;

constexpr TimeMs kNow{1000};
const QueueLease kLease{"lease-1", "ann"};

QueuePlace leased(std::uint32_t deliveries = 1) {
  return {.state = QueueState::leased,
          .due_at = TimeMs{1500},
          .deliveries = deliveries,
          .lease = "lease-1",
          .lease_member_id = "ann"};
}

Settled settle(const std::optional<QueuePlace>& place, Kind kind, const QueueLease& lease = kLease,
               std::int64_t delay_ms = 0) {
  return settle_place(place, lease, {kind, delay_ms, 200, "bad input"},
                      {.max_deliveries = 3, .lease_ms = 500}, kNow);
}

QueueCandidate candidate(std::string id, std::uint32_t rank, std::uint64_t seq,
                         QueuePlace place = {}, std::uint64_t bytes = 1) {
  return {std::move(id), rank, seq, bytes, std::move(place)};
}

TEST(QueueDecision, a_message_is_advanced_when_its_time_has_come) {
  const QueueSettings settings{.max_deliveries = 3};
  const auto state_of = [&](QueueState state, std::int64_t due, std::int64_t expires,
                            std::uint32_t deliveries) {
    QueuePlace place = leased(deliveries);
    place.state = state;
    place.due_at = TimeMs{due};
    place.expires_at = TimeMs{expires};
    return advance_place(place, settings, kNow);
  };
  EXPECT_EQ(state_of(QueueState::delayed, 1000, 0, 0).state, QueueState::ready);
  EXPECT_EQ(state_of(QueueState::delayed, 1001, 0, 0).state, QueueState::delayed);
  EXPECT_EQ(state_of(QueueState::leased, 1000, 0, 2).state, QueueState::ready);
  EXPECT_EQ(state_of(QueueState::leased, 1000, 0, 2).lease, "") << "the old lease is void";
  EXPECT_EQ(state_of(QueueState::leased, 1001, 1, 9).state, QueueState::leased)
      << "it does not expire in the hands of a consumer";
  EXPECT_EQ(state_of(QueueState::leased, 1000, 0, 3).state, QueueState::dead);
  EXPECT_EQ(state_of(QueueState::ready, 0, 1000, 0).reason, "expired");
  EXPECT_EQ(state_of(QueueState::ready, 0, 1001, 0).state, QueueState::ready);
  EXPECT_EQ(state_of(QueueState::leased, 1000, 1000, 1).reason, "expired");
  for (const QueueState ended : {QueueState::done, QueueState::dead, QueueState::discarded}) {
    EXPECT_EQ(state_of(ended, 1, 1, 9).state, ended);
  }
}

// Every state, under the right lease, a wrong one, and the lease of another member.
TEST(QueueDecision, only_the_holder_ends_or_extends_a_lease) {
  for (int state = 0; state <= static_cast<int>(QueueState::discarded); ++state) {
    for (const Kind kind : {Kind::ack, Kind::nack, Kind::extend}) {
      for (const QueueLease& lease :
           {kLease, QueueLease{"lease-2", "ann"}, QueueLease{"lease-1", "ben"}}) {
        QueuePlace place = leased();
        place.state = static_cast<QueueState>(state);
        const bool ours = lease.token == kLease.token && lease.member_id == kLease.member_id;
        const bool repeated = place.state == QueueState::done && kind == Kind::ack;
        const bool allowed = ours && (place.state == QueueState::leased || repeated);
        const Settled settled = settle(place, kind, lease);
        EXPECT_EQ(!settled.fence.has_value(), allowed) << state << " " << lease.token;
        if (!allowed || repeated) {
          EXPECT_EQ(settled.place, place) << "nothing changes";
        }
      }
    }
  }
  EXPECT_EQ(settle(std::nullopt, Kind::ack).fence, QueueFence::unknown_message);
  EXPECT_EQ(settle(leased(), Kind::ack, {"lease-2", "ann"}).fence, QueueFence::other_lease);
}

TEST(QueueDecision, what_each_settlement_leaves) {
  const Settled acked = settle(leased(), Kind::ack);
  EXPECT_EQ(acked.place.state, QueueState::done);
  EXPECT_EQ(acked.place.ended_at, kNow);
  EXPECT_EQ(settle(acked.place, Kind::ack).fence, std::nullopt) << "an ack may be repeated";
  EXPECT_EQ(settle(leased(), Kind::extend).place.due_at, TimeMs{1200});
  EXPECT_EQ(settle(leased(), Kind::nack).place.state, QueueState::ready);
  const Settled later = settle(leased(), Kind::nack, kLease, 50);
  EXPECT_EQ(later.place.state, QueueState::delayed);
  EXPECT_EQ(later.place.due_at, TimeMs{1050});
  EXPECT_EQ(later.place.lease, "");
  const Settled last = settle(leased(3), Kind::nack, kLease, 50);
  EXPECT_EQ(last.place.state, QueueState::dead);
  EXPECT_EQ(last.place.reason, "bad input");
  const QueuePlace again = redrive_place(last.place, kNow, 0);
  EXPECT_EQ(again.state, QueueState::ready);
  EXPECT_EQ(again.deliveries, 0U);
  EXPECT_EQ(redrive_place(last.place, kNow, 5).due_at, TimeMs{1005});
}

TEST(QueueDecision, a_claim_counts_the_delivery) {
  const QueuePlace place = lease_place({}, kLease, kNow, 500);
  EXPECT_EQ(place, leased());
}

TEST(QueueDecision, a_shared_claim_takes_what_is_ready_within_its_limits) {
  QueuePlace expired;
  expired.expires_at = kNow;
  const std::vector<QueueCandidate> candidates{
      candidate("a", 0, 1), candidate("b", 0, 2, leased()), candidate("c", 0, 3, expired),
      candidate("d", 1, 4, {}, 50), candidate("e", 1, 5, {}, 50)};
  const auto chosen = [&](std::uint32_t messages, std::uint64_t bytes) {
    return choose_shared(candidates, {messages, bytes}, kNow);
  };
  EXPECT_EQ(chosen(9, 1000), (std::vector<std::size_t>{0, 3, 4}));
  EXPECT_EQ(chosen(2, 1000), (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(chosen(9, 60), (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(chosen(9, 0), (std::vector<std::size_t>{0})) << "at least one";
}

TEST(QueueDecision, a_blocked_lane_holds_up_no_other) {
  QueuePlace waiting;
  waiting.state = QueueState::delayed;
  waiting.due_at = TimeMs{2000};
  const std::vector<QueueLane> lanes{{candidate("a1", 1, 1, leased()), candidate("a2", 1, 4)},
                                     {candidate("b1", 1, 2), candidate("b2", 1, 5),
                                      candidate("b3", 1, 6, waiting), candidate("b4", 1, 7)},
                                     {candidate("c1", 0, 9)},
                                     {candidate("d1", 1, 3, waiting), candidate("d2", 1, 8)}};
  const auto ids = [&](std::string_view lease, std::uint32_t limit) {
    std::string text;
    for (const QueueChoice& choice : choose_lanes(lanes, lease, {limit, 1000}, kNow)) {
      text += lanes[choice.lane][choice.index].broker_message_id + " ";
    }
    return text;
  };
  EXPECT_EQ(ids("lease-9", 10), "c1 b1 b2 ") << "by priority, then sequence; a1 and d1 block";
  EXPECT_EQ(ids("lease-9", 2), "c1 b1 ");
  EXPECT_EQ(ids("lease-1", 10), "c1 b1 a2 b2 ") << "the holder of a1 continues";
}

}  // namespace
}  // namespace holdfast::delivery::queue_decision_test
