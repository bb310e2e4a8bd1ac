// Queues: each message is given to one consumer at a time. Claims, leases, acknowledgements,
// delays, expiry, order, dead messages; on both stores.
#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "delivery/broker/orphan_check.h"
#include "delivery/broker/queues.h"
#include "delivery/broker/retention.h"
#include "tests/support/broker_fixture.h"

namespace holdfast::delivery::broker_queue_test {
namespace {

using Kind = QueueSettlement::Kind;

class BrokerQueue : public BrokerFixture {
 protected:
  void SetUp() override {
    BrokerFixture::SetUp();
    write([&](SqlSession& s) -> Result<void> {
      const TimeMs now = clock_.now();
      HOLDFAST_CHECK(create_queue(s, team_.mesh_id, "tries", now,
                                  {.max_deliveries = 2, .lease_ms = kLeaseMs}));
      HOLDFAST_CHECK(create_queue(s, team_.mesh_id, "lanes", now,
                                  {.order = QueueOrder::lanes, .lease_ms = kLeaseMs}));
      return create_queue(s, team_.mesh_id, "closed", now, {.access = QueueAccess::closed});
    });
    restart();
  }

  // As a new process has it.
  void restart(const BrokerStoreOptions& options = {}) {
    queues_.reset();
    open(options);
    queues_ = std::make_unique<Queues>(*store_, clock_, random_);
  }

  struct Post {
    std::string queue = "jobs";
    Priority priority = Priority::next;
    std::string token = "token-ann";
    std::string key = {};
    std::int64_t delay_ms = 0;
    std::int64_t expires_ms = 0;
  };
  void post(const std::string& id, const Post& how) {
    const Destination to{DestinationKind::queue, how.queue};
    MessageRequest message = request(id, "body of " + id, to);
    message.priority = how.priority;
    message.ordering_key = how.key;
    if (how.delay_ms > 0) {
      message.not_before = TimeMs{clock_.now().value + how.delay_ms};
    }
    if (how.expires_ms > 0) {
      message.expires_at = TimeMs{clock_.now().value + how.expires_ms};
    }
    message.request_fingerprint = fingerprint_of({.destination = to,
                                                  .reply_to = {},
                                                  .priority = how.priority,
                                                  .meta = {},
                                                  .body = "body of " + id});
    must(send(how.token, message));
  }
  void post(const std::string& id) { post(id, Post{}); }

  QueueKey queue(const std::string& name) const { return {team_.mesh_id, name}; }

  Result<QueueClaimed> try_claim(const Member& member, const std::string& name = "jobs",
                                 std::uint32_t limit = 100, const std::string& key = "",
                                 const std::string& lease = "") {
    return queues_->claim({.queue = queue(name),
                           .member_id = member.member_id,
                           .limit = limit,
                           .key = key,
                           .lease = lease});
  }
  QueueClaimed claim(const Member& member, const std::string& name = "jobs",
                     std::uint32_t limit = 100, const std::string& key = "",
                     const std::string& lease = "") {
    return must(try_claim(member, name, limit, key, lease));
  }
  static std::string ids_of(const QueueClaimed& claimed) {
    std::string text;
    for (const QueueMessage& message : claimed.messages) {
      text += message.client_message_id + " ";
    }
    return text;
  }
  QueueSettled settle(const Member& member, const QueueClaimed& claimed, Kind kind = Kind::ack,
                      std::int64_t delay_ms = 0, const std::string& reason = "") {
    QueueSettle settle{.queue = queue(claimed.messages.at(0).envelope.destination.ref),
                       .member_id = member.member_id,
                       .lease = claimed.lease,
                       .kind = kind,
                       .delay_ms = delay_ms,
                       .reason = reason};
    for (const QueueMessage& message : claimed.messages) {
      settle.broker_message_ids.push_back(message.broker_message_id);
    }
    return must(queues_->settle(settle));
  }
  std::int64_t in_state(const std::string& state) {
    return count("queue_entry WHERE state = '" + state + "'");
  }
  std::vector<QueueListEntry> dead(const std::string& name) {
    std::vector<QueueListEntry> entries;
    must(store_->read([&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(entries, list_dead(s, {.queue = queue(name), .limit = 100}));
      return {};
    }));
    return entries;
  }

  static constexpr std::int64_t kLeaseMs = 1000;
  std::unique_ptr<Queues> queues_;
};

INSTANTIATE_TEST_SUITE_P(Stores, BrokerQueue,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         store_kind_name);

TEST_P(BrokerQueue, QU_01_a_message_goes_to_one_consumer_and_ends_with_its_ack) {
  post("m-1");
  post("m-2");
  const QueueClaimed first = claim(ben_, "jobs", 1);
  EXPECT_EQ(ids_of(first), "m-1 ");
  const QueueMessage& message = first.messages.front();
  EXPECT_EQ(message.delivery, 1U);
  EXPECT_EQ(message.history_seq, 1U);
  EXPECT_EQ(message.sender_name, "ann");
  EXPECT_EQ(message.envelope.body, "body of m-1");
  EXPECT_EQ(message.envelope.destination, (Destination{DestinationKind::queue, "jobs"}));
  EXPECT_EQ(first.lease_until.value, clock_.now().value + 30'000);
  EXPECT_EQ(ids_of(claim(cat_)), "m-2 ");
  EXPECT_EQ(ids_of(claim(ben_)), "");
  EXPECT_EQ(settle(ben_, first).settled.size(), 1U);
  EXPECT_EQ(settle(ben_, first).settled.size(), 1U) << "an ack whose answer was lost is repeated";
  clock_.advance_ms(60'000);
  EXPECT_EQ(ids_of(claim(ben_)), "m-2 ") << "the other lease has ended";
  EXPECT_EQ(in_state("done"), 1);
  EXPECT_EQ(must(check_orphans(*store_, clock_.now(), {})).total(), 0U);
}

TEST_P(BrokerQueue, QU_02_a_late_ack_is_fenced_and_says_why) {
  post("m-1", {.queue = "tries"});
  const QueueClaimed old = claim(ben_, "tries");
  clock_.advance_ms(kLeaseMs);
  const QueueClaimed current = claim(cat_, "tries");
  EXPECT_EQ(current.messages.at(0).delivery, 2U);
  const QueueSettled late = settle(ben_, old);
  EXPECT_TRUE(late.settled.empty());
  ASSERT_EQ(late.fenced.size(), 1U);
  EXPECT_EQ(late.fenced[0].second, QueueFence::other_lease);
  EXPECT_EQ(settle(ben_, current).fenced.at(0).second, QueueFence::other_lease)
      << "the lease of another member";
  EXPECT_EQ(settle(cat_, current).settled.size(), 1U);
  EXPECT_EQ(settle(ben_, old).fenced.at(0).second, QueueFence::already_ended);
  EXPECT_EQ(queues_->counters().fenced, 3U);
  const auto unknown = must(queues_->settle({.queue = queue("jobs"),
                                             .member_id = ben_.member_id,
                                             .lease = "x",
                                             .broker_message_ids = {"nothing"}}));
  EXPECT_EQ(unknown.fenced.at(0).second, QueueFence::unknown_message);
}

TEST_P(BrokerQueue, QU_02_an_ack_after_the_lease_ended_counts_until_someone_ends_it) {
  post("m-1", {.queue = "tries"});
  const QueueClaimed first = claim(ben_, "tries");
  clock_.advance_ms(kLeaseMs + 1);
  EXPECT_EQ(settle(ben_, first).settled.size(), 1U);
  post("m-2", {.queue = "tries"});
  const QueueClaimed second = claim(ben_, "tries");
  clock_.advance_ms(kLeaseMs + 1);
  EXPECT_TRUE(must(queues_->advance_all()).more_ready);
  EXPECT_EQ(settle(ben_, second).fenced.at(0).second, QueueFence::lease_ended);
}

TEST_P(BrokerQueue, QU_03_a_nack_gives_it_back_now_or_later_and_counts) {
  post("m-1", {.queue = "tries"});
  EXPECT_EQ(settle(ben_, claim(ben_, "tries"), Kind::nack, 500).settled.size(), 1U);
  EXPECT_EQ(ids_of(claim(ben_, "tries")), "");
  const QueueClaimed nothing = claim(ben_, "tries");
  EXPECT_EQ(nothing.next_at, TimeMs{clock_.now().value + 500});
  clock_.advance_ms(500);
  const QueueClaimed last = claim(ben_, "tries");
  EXPECT_EQ(last.messages.at(0).delivery, 2U);
  EXPECT_EQ(settle(ben_, last, Kind::nack, 0, "bad input").dead.size(), 1U);
  const auto entries = dead("tries");
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].place.reason, "bad input");
  EXPECT_EQ(entries[0].sender_name, "ann");
  EXPECT_EQ(entries[0].place.deliveries, 2U);
}

TEST_P(BrokerQueue, QU_04_an_extended_lease_lasts) {
  post("m-1", {.queue = "tries"});
  const QueueClaimed held = claim(ben_, "tries");
  clock_.advance_ms(kLeaseMs - 1);
  EXPECT_EQ(settle(ben_, held, Kind::extend).settled.size(), 1U);
  clock_.advance_ms(kLeaseMs - 1);
  EXPECT_EQ(ids_of(claim(cat_, "tries")), "");
  clock_.advance_ms(1);
  EXPECT_EQ(ids_of(claim(cat_, "tries")), "m-1 ");
  EXPECT_EQ(settle(ben_, held, Kind::extend).fenced.size(), 1U);
}

TEST_P(BrokerQueue, QU_05_a_message_is_not_taken_before_its_time_nor_after_its_end) {
  post("later", {.delay_ms = 500});
  post("short", {.expires_ms = 300});
  post("held", {.queue = "tries", .expires_ms = 300});
  const QueueClaimed held = claim(ben_, "tries");
  EXPECT_EQ(in_state("delayed"), 1);
  clock_.advance_ms(300);
  EXPECT_EQ(ids_of(claim(ben_)), "");
  EXPECT_EQ(dead("jobs").at(0).place.reason, "expired");
  EXPECT_EQ(settle(ben_, held).settled.size(), 1U) << "its consumer may still end it";
  clock_.advance_ms(200);
  EXPECT_EQ(ids_of(claim(ben_)), "later ");
}

TEST_P(BrokerQueue, QU_06_after_the_last_delivery_it_is_dead_listed_redriven_and_discarded) {
  for (const char* id : {"m-1", "m-2", "m-3"}) {
    post(id, {.queue = "tries"});
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ids_of(claim(ben_, "tries")), "m-1 m-2 m-3 ");
    clock_.advance_ms(kLeaseMs);
  }
  EXPECT_EQ(ids_of(claim(ben_, "tries")), "");
  const auto entries = dead("tries");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_FALSE(entries[0].place.reason.empty());
  EXPECT_EQ(queues_->counters().dead, 3U);
  const DeadSelection all{.queue = queue("tries"), .limit = 100};
  EXPECT_EQ(must(queues_->redrive(all, 0, Queues::Preview::yes)).size(), 3U);
  EXPECT_EQ(in_state("dead"), 3) << "a preview changes nothing";
  const DeadSelection one{.queue = queue("tries"),
                          .broker_message_ids = {entries[1].broker_message_id}};
  EXPECT_EQ(must(queues_->redrive(one, 0, Queues::Preview::no)).size(), 1U);
  EXPECT_EQ(must(queues_->redrive(one, 0, Queues::Preview::no)).size(), 0U) << "not dead now";
  const QueueClaimed again = claim(ben_, "tries");
  EXPECT_EQ(ids_of(again), "m-2 ");
  EXPECT_EQ(again.messages.at(0).delivery, 1U) << "counted from the beginning";
  const DeadSelection wrong{.queue = queue("tries"), .reason = "another", .limit = 100};
  EXPECT_EQ(must(queues_->discard(wrong, Queues::Preview::no)).size(), 0U);
  EXPECT_EQ(must(queues_->discard(all, Queues::Preview::no)).size(), 2U);
  EXPECT_EQ(in_state("discarded"), 2);
  EXPECT_EQ(code_of(queues_->redrive({.queue = queue("none"), .limit = 1}, 0, Queues::Preview::no)),
            "not_found");
}

TEST_P(BrokerQueue, R_02_in_the_order_of_priority_and_accept_also_while_another_is_held) {
  post("low", {.priority = Priority::low});
  post("a-1");
  post("a-2");
  post("now", {.priority = Priority::now});
  EXPECT_EQ(ids_of(claim(ben_, "jobs", 2)), "now a-1 ");
  EXPECT_EQ(ids_of(claim(cat_, "jobs", 1)), "a-2 ") << "a shared queue blocks nothing";
  EXPECT_EQ(ids_of(claim(ben_)), "low ");
}

TEST_P(BrokerQueue, R_02_in_a_queue_of_lanes_a_held_head_blocks_its_lane_only) {
  const auto in = [](const std::string& token, const std::string& key) {
    return Post{.queue = "lanes", .token = token, .key = key};
  };
  post("a-1", in("token-ann", ""));
  post("a-2", in("token-ann", ""));
  post("k-1", in("token-ann", "k"));
  post("b-1", in("token-ben", ""));
  const QueueClaimed first = claim(ben_, "lanes", 1);
  EXPECT_EQ(ids_of(first), "a-1 ");
  EXPECT_EQ(ids_of(claim(cat_, "lanes")), "k-1 b-1 ") << "another key, another sender";
  EXPECT_EQ(ids_of(claim(cat_, "lanes")), "");
  EXPECT_EQ(ids_of(claim(ben_, "lanes", 1, "", first.lease)), "a-2 ") << "the holder continues";
  settle(ben_, first, Kind::nack, 100);
  EXPECT_EQ(ids_of(claim(cat_, "lanes")), "") << "a-1 waits, and a-2 is held";
  clock_.advance_ms(kLeaseMs);
  EXPECT_EQ(ids_of(claim(cat_, "lanes", 3)), "a-1 a-2 k-1 ");
  EXPECT_EQ(code_of(try_claim(ben_, "lanes", 1, "k")), "invalid_argument");
}

TEST_P(BrokerQueue, R_02_a_lane_continues_when_its_head_is_dead) {
  write([&](SqlSession& s) {
    return configure_queue(s, team_.mesh_id, "lanes", {.max_deliveries = 1, .lease_ms = kLeaseMs});
  });
  post("a-1", {.queue = "lanes"});
  post("a-2", {.queue = "lanes"});
  EXPECT_EQ(ids_of(claim(ben_, "lanes", 1)), "a-1 ");
  EXPECT_EQ(ids_of(claim(ben_, "lanes", 1)), "");
  clock_.advance_ms(kLeaseMs);
  EXPECT_EQ(ids_of(claim(ben_, "lanes", 1)), "a-2 ");
}

TEST_P(BrokerQueue, QU_07_a_claim_of_a_key_takes_only_its_messages) {
  post("x-1", {.key = "x"});
  post("y-1", {.key = "y"});
  post("x-2", {.key = "x"});
  EXPECT_EQ(ids_of(claim(ben_, "jobs", 10, "x")), "x-1 x-2 ");
  EXPECT_EQ(ids_of(claim(ben_, "jobs", 10, "x")), "");
  EXPECT_EQ(ids_of(claim(ben_)), "y-1 ");
}

TEST_P(BrokerQueue, QU_08_only_members_that_were_granted_a_closed_queue_claim_from_it) {
  post("m-1", {.queue = "closed"});
  const auto outcome = [&](const Member& member) {
    const auto claimed = try_claim(member, "closed");
    return claimed.ok() ? ids_of(claimed.value())
                        : std::string(rejection_info(*rejection_of(claimed.error())).name);
  };
  EXPECT_EQ(outcome(ben_), "not_allowed");
  write([&](SqlSession& s) {
    return grant_queue(s, team_.mesh_id, "closed", ben_.member_id, clock_.now());
  });
  EXPECT_EQ(outcome(cat_), "not_allowed");
  EXPECT_EQ(outcome(ben_), "m-1 ");
  write([&](SqlSession& s) { return withdraw_queue(s, team_.mesh_id, "closed", ben_.member_id); });
  EXPECT_EQ(outcome(ben_), "not_allowed");
  EXPECT_EQ(code_of(try_claim(ben_, "missing")), "not_found");
  const Member stranger = add_member(add_workspace("other").mesh_id, "eve");
  EXPECT_EQ(rejection_of(try_claim(stranger).error()), Rejection::member_revoked)
      << "of another workspace";
  write([&](SqlSession& s) { return revoke_member(s, cat_.member_id, clock_.now()); });
  EXPECT_EQ(rejection_of(try_claim(cat_).error()), Rejection::member_revoked);
}

TEST_P(BrokerQueue, QU_09_a_sender_finds_and_withdraws_its_messages) {
  post("m-1");
  post("m-2");
  post("m-3");
  const QueueClaimed held = claim(ben_, "jobs", 1);
  settle(cat_, claim(cat_, "jobs", 1));
  const auto states = [&](const std::vector<Queues::Sent>& sent) {
    std::string text;
    for (const Queues::Sent& one : sent) {
      text += one.place.has_value() ? std::string(to_text(one.place->state)) + " " : "unknown ";
    }
    return text;
  };
  const std::vector<std::string> ids{"m-1", "m-2", "m-3", "m-9"};
  EXPECT_EQ(states(must(queues_->find(queue("jobs"), ann_.member_id, ids))),
            "leased done ready unknown ");
  EXPECT_EQ(states(must(queues_->withdraw(queue("jobs"), cat_.member_id, ids))),
            "unknown unknown unknown unknown ")
      << "they are not hers";
  EXPECT_EQ(states(must(queues_->withdraw(queue("jobs"), ann_.member_id, ids))),
            "leased done ready unknown ");
  EXPECT_EQ(states(must(queues_->find(queue("jobs"), ann_.member_id, ids))),
            "discarded done discarded unknown ");
  EXPECT_EQ(settle(ben_, held).fenced.at(0).second, QueueFence::already_ended);
}

TEST_P(BrokerQueue, QU_10_parallel_consumers_take_each_message_once) {
  constexpr int kMessages = 60;
  for (int i = 0; i < kMessages; ++i) {
    post("m-" + std::to_string(i));
  }
  std::vector<std::vector<std::string>> taken(4);
  {
    std::vector<std::jthread> workers;
    for (auto& mine : taken) {
      workers.emplace_back([&] {
        for (;;) {
          const QueueClaimed claimed = claim(ben_, "jobs", 3);
          if (claimed.messages.empty()) {
            return;
          }
          for (const QueueMessage& message : claimed.messages) {
            mine.push_back(message.client_message_id);
          }
          EXPECT_EQ(settle(ben_, claimed).settled.size(), claimed.messages.size());
        }
      });
    }
  }
  std::multiset<std::string> all;
  for (const auto& mine : taken) {
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), std::size_t{kMessages});
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), std::size_t{kMessages});
  EXPECT_EQ(in_state("done"), kMessages);
}

TEST_P(BrokerQueue, QU_11_what_was_rolled_back_is_not_leased) {
  post("m-1");
  BrokerStoreOptions failing;
  failing.fault = [](FaultPoint point) -> Result<void> {
    return point == FaultPoint::queue_written ? Error{ErrorCode::io_error, "the disk is full"}
                                              : Result<void>();
  };
  restart(failing);
  EXPECT_EQ(code_of(try_claim(ben_)), "io_error");
  restart();
  const QueueClaimed claimed = claim(ben_);
  EXPECT_EQ(claimed.messages.at(0).delivery, 1U);
  restart();
  EXPECT_EQ(ids_of(claim(ben_)), "") << "a lease survives the broker";
  EXPECT_EQ(settle(ben_, claimed).settled.size(), 1U);
}

TEST_P(BrokerQueue, QU_12_messages_that_wait_are_not_pruned) {
  execute("UPDATE @.mesh SET message_retention_days = 30");
  post("open");
  post("dead", {.expires_ms = 10});
  clock_.advance_ms(20);
  must(queues_->advance_all());
  clock_.advance_ms(31 * kDayMs);
  EXPECT_EQ(must(prune_messages(*store_, clock_.now(), 10)).messages, 1U);
  EXPECT_EQ(ids_of(claim(ben_)), "open ");
  EXPECT_EQ(count("queue_entry"), 1);
  EXPECT_EQ(must(check_orphans(*store_, clock_.now(), {})).total(), 0U);
  execute("DELETE FROM @.queue_entry");
  EXPECT_EQ(must(check_orphans(*store_, clock_.now(), {})).total(), 1U) << "O7";
}

TEST_P(BrokerQueue, a_claim_is_bounded_in_bytes_and_nothing_is_written_when_nothing_waits) {
  execute("UPDATE @.mesh SET max_inline_bytes = 1048576");
  const std::string large(1'000'000, 'x');
  for (int i = 0; i < 6; ++i) {
    must(send(request("m-" + std::to_string(i), large, {DestinationKind::queue, "jobs"})));
  }
  EXPECT_EQ(ids_of(claim(ben_)), "m-0 m-1 m-2 m-3 ");
  EXPECT_EQ(ids_of(claim(ben_)), "m-4 m-5 ");
  const std::string before = all_tables();
  EXPECT_EQ(ids_of(claim(ben_)), "");
  EXPECT_FALSE(must(queues_->advance_all()).more_ready);
  EXPECT_EQ(all_tables(), before);
}

// Consumers that acknowledge, give back, come too late or crash: in the end each message was
// acknowledged once, or is dead, and what was acknowledged was never given to anyone again.
TEST_P(BrokerQueue, QU_13_each_message_ends_once) {
  constexpr int kMessages = 40;
  SeededRandom random(7);
  for (int i = 0; i < kMessages; ++i) {
    post("m-" + std::to_string(i), {.queue = i % 2 == 0 ? "tries" : "lanes"});
  }
  std::set<std::string> ended;
  const auto open = [&] { return in_state("ready") + in_state("delayed") + in_state("leased"); };
  for (int step = 0; step < 600 && open() > 0; ++step) {
    const Member& member = random.below(2) == 0 ? ben_ : cat_;
    QueueClaimed claimed = claim(member, random.below(2) == 0 ? "tries" : "lanes",
                                 static_cast<std::uint32_t>(1 + random.below(5)));
    for (const QueueMessage& message : claimed.messages) {
      EXPECT_FALSE(ended.contains(message.broker_message_id)) << "given out after its end";
    }
    if (claimed.messages.empty() || random.below(5) == 0) {
      clock_.advance_ms(static_cast<std::int64_t>(random.below(2 * kLeaseMs)));
      continue;
    }
    if (random.below(6) == 0) {
      restart();
    }
    const Kind kind = random.below(3) == 0 ? Kind::nack : Kind::ack;
    const QueueSettled settled =
        settle(member, claimed, kind, static_cast<std::int64_t>(random.below(300)));
    const auto& over = kind == Kind::ack ? settled.settled : settled.dead;
    for (const std::string& id : over) {
      EXPECT_TRUE(ended.insert(id).second) << "ended twice";
    }
  }
  EXPECT_EQ(open(), 0);
  EXPECT_EQ(in_state("done") + in_state("dead"), kMessages) << "none is lost";
  EXPECT_EQ(must(check_orphans(*store_, clock_.now(), {})).total(), 0U);
}

}  // namespace
}  // namespace holdfast::delivery::broker_queue_test
