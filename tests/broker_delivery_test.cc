// What follows an accept: deliveries are claimed under a lease, acknowledged, redelivered, given
// up and replayed. The numbers in the names are those of docs/delivery-tests.md.
#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "delivery/broker/deliveries.h"
#include "delivery/broker/orphan_check.h"
#include "delivery/broker/push_rows.h"
#include "tests/support/broker_fixture.h"

namespace holdfast::delivery::broker_delivery_test {
namespace {

const Destination kAlerts{DestinationKind::topic, "alerts"};

class BrokerDelivery : public BrokerFixture {
 protected:
  void SetUp() override {
    BrokerFixture::SetUp();
    restart();
  }

  // As a new process has it.
  void restart(const BrokerStoreOptions& options = {}) {
    deliveries_.reset();
    open(options);
    deliveries_ = std::make_unique<Deliveries>(*store_, clock_, random_, rules_);
  }

  void post(const std::string& id, const Destination& to = {DestinationKind::topic, "alerts"},
            Priority priority = Priority::next, const std::string& token = "token-ann") {
    MessageRequest message = request(id, "body of " + id, to);
    message.priority = priority;
    message.request_fingerprint = fingerprint_of({.destination = to,
                                                  .reply_to = {},
                                                  .priority = priority,
                                                  .meta = {},
                                                  .body = "body of " + id});
    must(send(token, message));
  }

  ClaimedDeliveries claim(const Member& member, std::uint32_t limit = 100,
                          const std::string& owner = "") {
    return must(deliveries_->claim({member.member_id, limit, owner}));
  }

  static std::string ids_of(const ClaimedDeliveries& claimed) {
    std::string text;
    for (const Delivery& delivery : claimed.deliveries) {
      text += delivery.client_message_id + " ";
    }
    return text;
  }
  std::string claimed_ids(const Member& member, std::uint32_t limit = 100) {
    return ids_of(claim(member, limit));
  }

  AckOutcome ack(const Member& member, const ClaimedDeliveries& claimed) {
    AckRequest request{member.member_id, claimed.owner, {}};
    for (const Delivery& delivery : claimed.deliveries) {
      request.delivery_ids.push_back(delivery.delivery_id);
    }
    return must(deliveries_->acknowledge(request));
  }

  std::int64_t in_state(const std::string& state) {
    return count("delivery_queue WHERE state = '" + state + "'");
  }

  DeliveryRules rules_{.lease_ms = 1000, .most_attempts = 3, .ttl_ms = 100'000};
  std::unique_ptr<Deliveries> deliveries_;
};

INSTANTIATE_TEST_SUITE_P(Stores, BrokerDelivery,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         store_kind_name);

TEST_P(BrokerDelivery, FO_05_a_recipient_gets_everything_in_sequence_order_also_after_a_restart) {
  for (const char* id : {"m-1", "m-2", "m-3", "m-4"}) {
    post(id);
  }
  restart();
  const ClaimedDeliveries claimed = claim(ben_);
  EXPECT_EQ(ids_of(claimed), "m-1 m-2 m-3 m-4 ");
  const Delivery& first = claimed.deliveries.front();
  EXPECT_EQ(first.history_seq, 1U);
  EXPECT_EQ(first.attempt, 1U);
  EXPECT_EQ(first.sender_name, "ann");
  EXPECT_EQ(first.sender_pubkey, ann_.pubkey);
  EXPECT_EQ(first.created_at, clock_.now());
  EXPECT_EQ(first.envelope.body, "body of m-1");
  EXPECT_EQ(first.envelope.destination, kAlerts);
  EXPECT_EQ(fingerprint_of(first.envelope), request("m-1", "body of m-1").request_fingerprint);
  EXPECT_EQ(claimed.lease_until.value, clock_.now().value + rules_.lease_ms);
  EXPECT_EQ(ack(ben_, claimed).acked.size(), 4U);
  EXPECT_EQ(claimed_ids(ben_), "");
  EXPECT_EQ(claimed_ids(ann_), "m-1 m-2 m-3 m-4 ") << "her own copies";
  EXPECT_EQ(claimed_ids(cat_), "");
  EXPECT_EQ(must(check_orphans(*store_, clock_.now(), {})).total(), 0U);
}

TEST_P(BrokerDelivery, urgent_messages_come_first) {
  post("low", kAlerts, Priority::low);
  post("next", kAlerts, Priority::next);
  post("now", kAlerts, Priority::now);
  post("dm", {DestinationKind::dm, ben_.pubkey}, Priority::now);
  EXPECT_EQ(claimed_ids(ben_, 3), "dm now next ") << "by sequence within a priority";
  EXPECT_EQ(claimed_ids(ben_), "low ");
}

TEST_P(BrokerDelivery, FO_02_FO_09_without_an_ack_it_comes_again_and_counts_from_the_claim) {
  post("m-1");
  EXPECT_EQ(claim(ben_).deliveries.at(0).attempt, 1U);
  restart();  // the receiver and the broker crashed
  EXPECT_EQ(claimed_ids(ben_), "");
  clock_.advance_ms(rules_.lease_ms);
  const ClaimedDeliveries again = claim(ben_);
  EXPECT_EQ(again.deliveries.at(0).attempt, 2U);
  EXPECT_EQ(deliveries_->counters().redelivered, 1U);
  EXPECT_EQ(ack(ben_, again).acked.size(), 1U);
  EXPECT_EQ(ack(ben_, again).acked.size(), 1U) << "an ack whose answer was lost is repeated";
  clock_.advance_ms(10 * rules_.lease_ms);
  EXPECT_EQ(claimed_ids(ben_), "");
}

TEST_P(BrokerDelivery, FO_03_what_an_owner_releases_is_claimed_at_once_and_its_late_ack_fenced) {
  post("m-1");
  post("m-2");
  const ClaimedDeliveries first = claim(ben_, 1, "owner");
  const ClaimedDeliveries second = claim(ben_, 1, "owner");
  EXPECT_EQ(ids_of(first) + ids_of(second), "m-1 m-2 ");
  must(deliveries_->release(ann_.member_id, "owner"));
  must(deliveries_->release(ben_.member_id, "another"));
  EXPECT_EQ(claimed_ids(ben_), "");
  must(deliveries_->release(ben_.member_id, "owner"));
  const ClaimedDeliveries again = claim(ben_);
  EXPECT_EQ(ids_of(again), "m-1 m-2 ");
  EXPECT_EQ(again.deliveries.at(0).attempt, 2U);
  EXPECT_EQ(ack(ben_, first).fenced.size(), 1U);
  EXPECT_EQ(ack(ben_, again).acked.size(), 2U);
}

TEST_P(BrokerDelivery, a_revoked_member_claims_nothing) {
  post("m-1");
  write([&](SqlSession& s) { return revoke_member(s, ben_.member_id, clock_.now()); });
  EXPECT_EQ(claimed_ids(ben_), "");
  EXPECT_EQ(claimed_ids(ann_), "m-1 ");
}

TEST_P(BrokerDelivery, the_recipients_of_new_deliveries_are_found_once) {
  const auto found = [&](std::uint64_t& after) {
    std::string names;
    must(store_->read([&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(const NewRecipients recipients, find_new_recipients(s, after));
      HOLDFAST_TRY(const std::uint64_t newest, newest_delivery(s));
      EXPECT_EQ(recipients.last_id, newest);
      EXPECT_FALSE(recipients.more);
      for (const Member& member : {ann_, ben_, cat_}) {
        const auto& ids = recipients.member_ids;
        const bool is_one = std::find(ids.begin(), ids.end(), member.member_id) != ids.end();
        names += is_one ? member.display_name + " " : "";
      }
      after = recipients.last_id;
      return {};
    }));
    return names;
  };
  std::uint64_t after = 0;
  EXPECT_EQ(found(after), "");
  post("m-1");
  EXPECT_EQ(found(after), "ann Ben ");
  EXPECT_EQ(found(after), "");
  post("m-2", {DestinationKind::dm, cat_.pubkey});
  EXPECT_EQ(found(after), "cat ");
  claim(cat_);
  std::uint64_t all = 0;
  EXPECT_EQ(found(all), "ann Ben ") << "what is leased needs no waking";
}

TEST_P(BrokerDelivery, FO_03_the_late_ack_of_an_old_holder_is_fenced_and_counted) {
  post("m-1");
  const ClaimedDeliveries old = claim(ben_);
  clock_.advance_ms(rules_.lease_ms);
  const ClaimedDeliveries current = claim(ben_);
  EXPECT_EQ(ids_of(current), "m-1 ");
  const AckOutcome late = ack(ben_, old);
  EXPECT_TRUE(late.acked.empty());
  EXPECT_EQ(late.fenced, (std::vector{old.deliveries.at(0).delivery_id}));
  EXPECT_EQ(deliveries_->counters().fenced, 1U);
  EXPECT_EQ(in_state("leased"), 1);
  EXPECT_EQ(ack(ben_, current).acked.size(), 1U);
}

TEST_P(BrokerDelivery, FO_03_an_ack_after_the_lease_was_swept_is_fenced_and_before_it_counts) {
  post("m-1");
  post("m-2", {DestinationKind::dm, ben_.pubkey});
  const ClaimedDeliveries first = claim(ben_, 1);
  clock_.advance_ms(rules_.lease_ms);
  const LeaseSweep swept = must(deliveries_->end_leases());
  EXPECT_EQ(swept.released, 1U);
  EXPECT_EQ(swept.dead, 0U);
  EXPECT_EQ(ack(ben_, first).fenced.size(), 1U);
  const ClaimedDeliveries second = claim(ben_, 1);
  clock_.advance_ms(rules_.lease_ms);
  EXPECT_EQ(ack(ben_, second).acked.size(), 1U) << "no one else has it";
}

TEST_P(BrokerDelivery, FO_04_parallel_claims_take_disjoint_rows) {
  // As many lanes as messages, so that nothing waits for its turn.
  constexpr int kTopics = 20;
  write([&](SqlSession& s) -> Result<void> {
    for (int i = 0; i < kTopics; ++i) {
      const std::string name = "t-" + std::to_string(i);
      HOLDFAST_CHECK(create_topic(s, {team_.mesh_id, name, {}, {}}, clock_.now()));
      HOLDFAST_CHECK(subscribe(s, {team_.mesh_id, name, ben_.member_id, {}}, clock_.now()));
    }
    return {};
  });
  for (int i = 0; i < kTopics; ++i) {
    post("m-" + std::to_string(i), {DestinationKind::topic, "t-" + std::to_string(i)});
  }
  std::vector<std::vector<std::uint64_t>> taken(4);
  {
    std::vector<std::jthread> workers;
    for (auto& mine : taken) {
      workers.emplace_back([&] {
        for (;;) {
          const ClaimedDeliveries claimed = claim(ben_, 1);
          if (claimed.deliveries.empty()) {
            return;
          }
          mine.push_back(claimed.deliveries.front().delivery_id);
        }
      });
    }
  }
  std::vector<std::uint64_t> all;
  for (const auto& mine : taken) {
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.size(), std::size_t{kTopics});
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
}

TEST_P(BrokerDelivery, R_02_a_held_message_blocks_its_lane_only) {
  post("a-1");
  post("a-2");
  const ClaimedDeliveries first = claim(ben_, 1);
  EXPECT_EQ(ids_of(first), "a-1 ");
  post("b-1", kAlerts, Priority::next, "token-ben");
  post("urgent", kAlerts, Priority::now);
  post("dm-1", {DestinationKind::dm, ben_.pubkey});
  EXPECT_EQ(claimed_ids(ben_), "urgent dm-1 b-1 ")
      << "another priority, another destination, another sender; not the lane of a-1";
  EXPECT_EQ(ids_of(claim(ben_, 100, first.owner)), "a-2 ") << "the holder itself continues";
  EXPECT_EQ(ack(ben_, first).acked.size(), 1U);
}

TEST_P(BrokerDelivery, R_02_a_lane_continues_when_its_head_is_acknowledged_or_its_lease_ends) {
  for (const char* id : {"m-1", "m-2", "m-3"}) {
    post(id);
  }
  const ClaimedDeliveries first = claim(ben_, 1);
  EXPECT_EQ(claimed_ids(ben_), "");
  ack(ben_, first);
  EXPECT_EQ(claimed_ids(ben_, 1), "m-2 ");
  clock_.advance_ms(rules_.lease_ms);
  EXPECT_EQ(claimed_ids(ben_), "m-2 m-3 ") << "in order, although m-2 was held before";
}

TEST_P(BrokerDelivery, FO_06_a_receiver_that_does_not_acknowledge_delays_no_other) {
  post("m-1");
  post("m-2");
  EXPECT_EQ(claimed_ids(ben_), "m-1 m-2 ");
  EXPECT_EQ(claimed_ids(ann_), "m-1 m-2 ");
}

TEST_P(BrokerDelivery, FO_07_a_member_cannot_acknowledge_the_delivery_of_another) {
  post("m-1");
  const ClaimedDeliveries bens = claim(ben_);
  const AckOutcome outcome = ack(ann_, bens);
  EXPECT_TRUE(outcome.acked.empty());
  EXPECT_EQ(outcome.fenced.size(), 1U);
  EXPECT_EQ(in_state("delivered"), 0);
  EXPECT_EQ(ack(ben_, bens).acked.size(), 1U);
}

TEST_P(BrokerDelivery, FO_08_after_the_last_attempt_it_is_dead_listed_and_replayed) {
  post("m-1", {DestinationKind::dm, ben_.pubkey});
  for (std::uint32_t attempt = 1; attempt <= rules_.most_attempts; ++attempt) {
    EXPECT_EQ(claim(ben_).deliveries.at(0).attempt, attempt);
    clock_.advance_ms(rules_.lease_ms);
  }
  EXPECT_EQ(claimed_ids(ben_), "") << "no attempt is left";
  EXPECT_EQ(must(deliveries_->end_leases()).dead, 1U);
  EXPECT_EQ(deliveries_->counters().dead, 1U);
  std::vector<DeliveryEntry> dead;
  write([&](SqlSession& s) -> Result<void> {
    HOLDFAST_TRY(dead, list_deliveries(s, {.mesh_id = team_.mesh_id,
                                           .member_id = ben_.member_id,
                                           .state = DeliveryState::dead,
                                           .limit = 10}));
    return {};
  });
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].attempts, rules_.most_attempts);
  EXPECT_EQ(dead[0].recipient_name, "Ben");
  EXPECT_FALSE(dead[0].reason.empty());
  const auto replay = [&](const std::string& member_id) {
    std::uint64_t replayed = 0;
    write([&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(replayed, replay_rows(s, team_.mesh_id, member_id,
                                         std::vector{dead[0].delivery_id}, clock_.now()));
      return {};
    });
    return replayed;
  };
  EXPECT_EQ(replay(ann_.member_id), 0U) << "it is not hers";
  EXPECT_EQ(replay(ben_.member_id), 1U);
  EXPECT_EQ(replay(ben_.member_id), 0U) << "it is not dead any more";
  const ClaimedDeliveries again = claim(ben_);
  EXPECT_EQ(ids_of(again), "m-1 ");
  EXPECT_EQ(again.deliveries.at(0).attempt, 1U);
}

TEST_P(BrokerDelivery, FO_08_H_24_beyond_its_time_it_is_dead_unless_it_is_held) {
  post("m-1");
  post("dm-1", {DestinationKind::dm, ben_.pubkey});
  clock_.advance_ms(rules_.ttl_ms);
  EXPECT_EQ(must(deliveries_->end_overdue()), 0U) << "exactly at its end";
  EXPECT_EQ(ids_of(claim(ben_, 1)), "m-1 ");
  clock_.advance_ms(1);
  EXPECT_EQ(must(deliveries_->end_overdue()), 2U) << "ann's copy and dm-1";
  EXPECT_EQ(in_state("leased"), 1);
  clock_.advance_ms(rules_.lease_ms);
  EXPECT_EQ(must(deliveries_->end_overdue()), 1U);
  EXPECT_EQ(in_state("dead"), 3);
  EXPECT_EQ(must(check_orphans(*store_, clock_.now(), {})).total(), 0U);
}

// Receivers that claim and do not acknowledge, acknowledge too late, in part or not at all, with
// restarts in between: every recipient at the commit has acknowledged the message, or its
// delivery is dead and listed.
TEST_P(BrokerDelivery, G_08_every_recipient_at_the_commit_gets_the_message_or_a_dead_delivery) {
  constexpr int kMessages = 30;
  SeededRandom random(5);
  std::map<std::string, std::set<std::string>> received;  // by member
  const std::vector<const Member*> members{&ann_, &ben_, &cat_};
  for (int i = 0; i < kMessages; ++i) {
    const bool direct = i % 3 == 0;
    post("m-" + std::to_string(i),
         direct ? Destination{DestinationKind::dm, cat_.pubkey} : kAlerts);
  }
  for (int step = 0; step < 400 && in_state("queued") + in_state("leased") > 0; ++step) {
    const Member& member = *members[random.below(members.size())];
    ClaimedDeliveries claimed = claim(member, static_cast<std::uint32_t>(1 + random.below(8)));
    for (const Delivery& delivery : claimed.deliveries) {
      EXPECT_LE(delivery.attempt, rules_.most_attempts);
      received[member.display_name].insert(delivery.client_message_id);
    }
    switch (random.below(4)) {
      case 0:
        clock_.advance_ms(rules_.lease_ms + 1);
        must(deliveries_->end_leases());
        break;
      case 1:
        restart();
        break;
      default:
        claimed.deliveries.resize(random.below(claimed.deliveries.size() + 1));
        ack(member, claimed);
    }
  }
  clock_.advance_ms(rules_.ttl_ms + rules_.lease_ms + 1);
  must(deliveries_->end_leases());
  must(deliveries_->end_overdue());
  EXPECT_EQ(in_state("queued") + in_state("leased"), 0);
  for (const auto& row : query("SELECT r.display_name, d.state, COALESCE(t.client_message_id, "
                               "q.client_message_id) FROM @.delivery_queue d JOIN @.member r "
                               "ON r.member_id = d.recipient_member_id LEFT JOIN @.topic_message t "
                               "ON t.broker_message_id = d.broker_message_id "
                               "LEFT JOIN @.message_queue q "
                               "ON q.broker_message_id = d.broker_message_id")) {
    EXPECT_TRUE(row[1].bytes == "dead" || received[row[0].bytes].contains(row[2].bytes))
        << row[0].bytes << " " << row[1].bytes << " " << row[2].bytes;
  }
  EXPECT_EQ(count("delivery_queue"), kMessages / 3 + 2 * (kMessages - kMessages / 3))
      << "no delivery disappears";
  const auto dead = must([&]() -> Result<std::vector<DeliveryEntry>> {
    std::vector<DeliveryEntry> listed;
    HOLDFAST_CHECK(store_->read([&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(listed,
                   list_deliveries(
                       s, {.mesh_id = team_.mesh_id, .state = DeliveryState::dead, .limit = 1000}));
      return {};
    }));
    return listed;
  }());
  EXPECT_EQ(static_cast<std::int64_t>(dead.size()), in_state("dead"));
  EXPECT_GT(in_state("delivered"), 0);
}

TEST_P(BrokerDelivery, FO_10_what_was_rolled_back_is_never_delivered) {
  BrokerStoreOptions failing;
  failing.fault = [](FaultPoint point) -> Result<void> {
    return point == FaultPoint::before_commit ? Error{ErrorCode::io_error, "the disk is full"}
                                              : Result<void>();
  };
  restart(failing);
  EXPECT_EQ(outcome_of(send(request("m-1", "a"))), "io_error");
  EXPECT_EQ(claimed_ids(ben_), "");
  restart();
  EXPECT_EQ(claimed_ids(ben_), "");
  must(send(request("m-1", "a")));
  EXPECT_EQ(claimed_ids(ben_), "m-1 ");
}

TEST_P(BrokerDelivery, a_claim_is_bounded_in_bytes_and_takes_at_least_one) {
  execute("UPDATE @.mesh SET max_inline_bytes = 1048576");
  const std::string large(1'000'000, 'x');
  for (int i = 0; i < 6; ++i) {
    must(send(request("m-" + std::to_string(i), large)));
  }
  EXPECT_EQ(claimed_ids(ben_), "m-0 m-1 m-2 m-3 m-4 ");
  EXPECT_EQ(claim(ann_, 1).deliveries.size(), 1U);
}

TEST_P(BrokerDelivery, nothing_is_written_when_nothing_waits) {
  post("m-1");
  ack(ben_, claim(ben_));
  const std::string before = all_tables();
  EXPECT_EQ(claimed_ids(ben_), "");
  EXPECT_EQ(must(deliveries_->end_leases()).released, 0U);
  EXPECT_EQ(must(deliveries_->end_overdue()), 0U);
  EXPECT_EQ(all_tables(), before);
  write([&](SqlSession& s) -> Result<void> {
    HOLDFAST_TRY(const auto have,
                 have_claimable(s, {ben_.member_id, ann_.member_id}, clock_.now()));
    EXPECT_EQ(have, (std::vector<bool>{false, true}));
    return {};
  });
}

}  // namespace
}  // namespace holdfast::delivery::broker_delivery_test
