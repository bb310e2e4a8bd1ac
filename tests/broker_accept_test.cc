// Accepting messages, on both stores. The numbers in the names are those of
// docs/delivery-tests.md.
#include <atomic>
#include <set>
#include <thread>

#include "base/threads.h"
#include "tests/support/broker_fixture.h"

namespace holdfast::delivery::broker_accept_test {
namespace {

class BrokerAccept : public BrokerFixture {};

INSTANTIATE_TEST_SUITE_P(Stores, BrokerAccept,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         store_kind_name);

const Destination kQueue{DestinationKind::queue, "jobs"};

Destination to_topic(const std::string& name) { return {DestinationKind::topic, name}; }

TEST_P(BrokerAccept, BR_05_G_05_an_accept_writes_every_row_once_and_answers_with_its_ids) {
  const auto reply = must(send(request("m-1", "hello", to_topic("alerts"), {"ben"})));
  EXPECT_FALSE(reply.duplicate);
  EXPECT_EQ(reply.client_message_id, "m-1");
  EXPECT_EQ(reply.fanout_count, 2U);
  EXPECT_EQ(reply.first_seen_at, clock_.now());
  const std::string mine = " WHERE broker_message_id = '" + reply.broker_message_id + "'";
  EXPECT_EQ(count("client_message_dedupe" + mine + " AND history_id = '" + reply.history_id + "'"),
            1);
  EXPECT_EQ(count("topic_message" + mine + " AND fanout_count = 2"), 1);
  EXPECT_EQ(count("message_history" + mine + " AND history_seq = 1"), 1);
  EXPECT_EQ(count("delivery_queue" + mine + " AND state = 'queued'"), 2);
  EXPECT_EQ(count("mention_index" + mine + " AND mentioned_pubkey = '" + ben_.pubkey + "'"), 1);
  EXPECT_EQ(count("topic_message"), 1);
  EXPECT_EQ(count("message_queue"), 0);
  const auto body = query("SELECT body, client_message_id FROM @.topic_message")[0];
  EXPECT_EQ(body[0].bytes, "hello");
  EXPECT_EQ(body[1].bytes, "m-1");
}

TEST_P(BrokerAccept, BR_11_a_duplicate_gets_the_same_ids_each_time) {
  const auto first = must(send(request("m-1", "hello")));
  const std::string before = all_tables();
  for (int i = 0; i < 3; ++i) {
    clock_.advance_ms(1000);
    const auto again = must(send(request("m-1", "hello")));
    EXPECT_TRUE(again.duplicate);
    EXPECT_EQ(again.broker_message_id, first.broker_message_id);
    EXPECT_EQ(again.history_id, first.history_id);
    EXPECT_EQ(again.first_seen_at, first.first_seen_at);
    EXPECT_TRUE(again.history_available);
  }
  EXPECT_EQ(all_tables(), before);
}

TEST_P(BrokerAccept,
       BR_12_H_41_other_content_under_a_consumed_id_is_a_conflict_with_the_stored_prefix) {
  must(send(request("m-1", "hello")));
  const std::string before = all_tables();
  const auto conflict = send(request("m-1", "other"));
  EXPECT_EQ(outcome_of(conflict), "idempotency_key_reused");
  EXPECT_EQ(conflict.error().field("conflict"), "request_fingerprint_mismatch");
  EXPECT_EQ(conflict.error().field("broker_fingerprint_prefix"),
            fingerprint_prefix(request("m-1", "hello").request_fingerprint));
  EXPECT_EQ(all_tables(), before);
}

TEST_P(BrokerAccept, R_26_MI_03_a_retry_with_other_mentions_is_a_duplicate_and_adds_nothing) {
  must(send(request("m-1", "hello", to_topic("alerts"), {"ben"})));
  const std::string before = all_tables();
  EXPECT_EQ(outcome_of(send(request("m-1", "hello", to_topic("alerts"), {"cat"}))), "duplicate");
  EXPECT_EQ(all_tables(), before);
}

TEST_P(BrokerAccept, BR_01_a_rejection_before_the_transaction_changes_nothing_and_frees_the_id) {
  write([&](SqlSession& s) -> Result<void> {
    const Member gone{ulid(), team_.mesh_id, std::string(64, 'e'), "gone", sha256("token-gone")};
    HOLDFAST_CHECK(create_member(s, gone, clock_.now()));
    return revoke_member(s, gone.member_id, clock_.now());
  });
  const Workspace other = add_workspace("other");
  add_member(other.mesh_id, "eve");
  const std::string before = all_tables();
  MessageRequest nowhere = request("m-1", "hello");
  nowhere.mesh = "nowhere";
  EXPECT_EQ(outcome_of(send(nowhere)), "unknown_workspace");
  nowhere.mesh = std::string("te\0am", 5);
  EXPECT_EQ(outcome_of(send(nowhere)), "unknown_workspace");
  EXPECT_EQ(outcome_of(send("nonsense", request("m-1", "hello"))), "unauthenticated");
  EXPECT_EQ(outcome_of(send("", request("m-1", "hello"))), "unauthenticated");
  EXPECT_EQ(outcome_of(send("token-gone", request("m-1", "hello"))), "member_revoked");
  EXPECT_EQ(outcome_of(send("token-eve", request("m-1", "hello"))), "not_a_member");
  EXPECT_EQ(outcome_of(send(request("m 1", "hello"))), "invalid_idempotency_key");
  EXPECT_EQ(outcome_of(send(request(std::string("m\0", 2), "hello"))), "invalid_idempotency_key");
  EXPECT_EQ(outcome_of(send(request("m-1", "hello", to_topic("a b")))), "invalid_request");
  MessageRequest drift = request("m-1", "hello");
  drift.body = "other";
  EXPECT_EQ(outcome_of(send(drift)), "canonical_form_drift");
  EXPECT_EQ(outcome_of(send(request("m-1", std::string(65'537, 'x')))), "too_large");
  MessageRequest stale = request("m-1", "hello");
  stale.first_sent_at = TimeMs{kStartMs - 365 * kDayMs};
  EXPECT_EQ(outcome_of(send(stale)), "stale_retry");
  EXPECT_EQ(all_tables(), before);
  EXPECT_EQ(outcome_of(send(request("m-1", "hello"))), "created");
}

TEST_P(BrokerAccept, BR_02_a_body_of_exactly_the_limit_passes) {
  EXPECT_EQ(outcome_of(send(request("m-1", std::string(65'536, 'x')))), "created");
  EXPECT_EQ(outcome_of(send(request("m-2", std::string(65'537, 'x')))), "too_large");
}

TEST_P(BrokerAccept, H_01_the_size_limit_is_lowered_and_a_retry_is_still_answered) {
  must(send(request("m-1", std::string(2000, 'x'))));
  execute("UPDATE @.mesh SET max_inline_bytes = 1024");
  EXPECT_EQ(outcome_of(send(request("m-1", std::string(2000, 'x')))), "duplicate");
  EXPECT_EQ(outcome_of(send(request("m-2", std::string(2000, 'x')))), "too_large");
}

TEST_P(BrokerAccept, BR_03_BR_06_R_13_a_rejection_inside_the_transaction_leaves_nothing) {
  const Member dan = add_member(team_.mesh_id, "dan");
  write([&](SqlSession& s) -> Result<void> {
    HOLDFAST_CHECK(create_topic(s, {team_.mesh_id, "old", {}, {}}, clock_.now()));
    HOLDFAST_CHECK(archive_topic(s, team_.mesh_id, "old", clock_.now()));
    HOLDFAST_CHECK(subscribe(s, {team_.mesh_id, "inner", cat_.member_id, SubscriptionRole::reader},
                             clock_.now()));
    return revoke_member(s, dan.member_id, clock_.now());
  });
  const std::string before = all_tables();
  const auto sent = [&](const Destination& to, const std::string& token = "token-ann") {
    return outcome_of(send(token, request("m-1", "hello", to)));
  };
  EXPECT_EQ(sent(to_topic("missing")), "unknown_destination");
  EXPECT_EQ(sent(to_topic("old")), "destination_closed");
  EXPECT_EQ(sent({DestinationKind::dm, std::string(64, '0')}), "unknown_destination");
  EXPECT_EQ(sent({DestinationKind::dm, dan.pubkey}), "destination_closed");
  EXPECT_EQ(sent({DestinationKind::queue, "missing"}), "unknown_destination");
  EXPECT_EQ(sent(to_topic("inner")), "not_allowed") << "not subscribed to a closed topic";
  EXPECT_EQ(sent(to_topic("inner"), "token-cat"), "not_allowed") << "a reader";
  EXPECT_EQ(all_tables(), before);
  EXPECT_EQ(broker_->counters().b2_rejected, 7U);
  EXPECT_EQ(sent(to_topic("alerts")), "created");
}

// Existence is judged in the transaction, not when the message is read.
TEST_P(BrokerAccept, H_34_a_destination_that_ends_before_the_transaction_refuses) {
  BrokerStoreOptions options;
  bool ended = false;
  options.fault = [&](FaultPoint point) -> Result<void> {
    if (point == FaultPoint::budget_consumed && !ended) {
      ended = true;
      write([&](SqlSession& s) { return archive_topic(s, team_.mesh_id, "alerts", clock_.now()); });
    }
    return {};
  };
  open(options);
  EXPECT_EQ(outcome_of(send(request("m-1", "hello"))), "destination_closed");
  EXPECT_EQ(count("client_message_dedupe"), 0);
  EXPECT_EQ(count("message_history"), 0);
  EXPECT_EQ(outcome_of(send(request("m-1", "hello", to_topic("empty")))), "created");
}

TEST_P(BrokerAccept, R_30_a_consumed_id_is_answered_also_when_its_destination_has_ended) {
  const Destination to_ben{DestinationKind::dm, ben_.pubkey};
  must(send(request("m-1", "hello")));
  must(send(request("m-2", "hello", to_ben)));
  write([&](SqlSession& s) -> Result<void> {
    HOLDFAST_CHECK(archive_topic(s, team_.mesh_id, "alerts", clock_.now()));
    return revoke_member(s, ben_.member_id, clock_.now());
  });
  EXPECT_EQ(outcome_of(send(request("m-1", "hello"))), "duplicate");
  EXPECT_EQ(outcome_of(send(request("m-2", "hello", to_ben))), "duplicate");
  EXPECT_EQ(outcome_of(send(request("m-1", "hello", to_topic("missing")))),
            "idempotency_key_reused");
  EXPECT_EQ(outcome_of(send(request("m-3", "hello"))), "destination_closed");
}

TEST_P(BrokerAccept, H_29_a_topic_has_at_most_ten_thousand_subscriptions_and_all_get_a_message) {
  const std::string numbers =
      GetParam() == StoreKind::sqlite
          ? "(WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9999) "
            "SELECT n FROM r) x"
          : "generate_series(1, 9999) AS x(n)";
  execute("INSERT INTO @.topic_subscription(mesh_id, topic, member_id, role, joined_at) SELECT '" +
          team_.mesh_id + "', 'empty', 'member-' || CAST(x.n AS TEXT), 'writer', 1 FROM " +
          numbers);
  const auto join = [&](const Member& member, SubscriptionRole role) {
    return code_of(store_->write([&](SqlSession& s) {
      return subscribe(s, {team_.mesh_id, "empty", member.member_id, role}, clock_.now());
    }));
  };
  EXPECT_EQ(join(ann_, SubscriptionRole::writer), "ok");
  EXPECT_EQ(join(ben_, SubscriptionRole::writer), "invalid_argument");
  EXPECT_EQ(join(ann_, SubscriptionRole::writer), "ok") << "she is subscribed already";
  EXPECT_EQ(must(send(request("m-1", "hello", to_topic("empty")))).fanout_count, 10'000U);
  EXPECT_EQ(count("delivery_queue"), 10'000);
}

TEST_P(BrokerAccept, G_09_what_waits_is_woken_after_the_commit_and_only_then) {
  std::vector<std::int64_t> visible;
  CommitWatcher watcher(store_->commits(),
                        [&](CommitOrigin) { visible.push_back(count("delivery_queue")); });
  must(send(request("m-1", "hello")));
  EXPECT_EQ(outcome_of(send(request("m-2", "hello", to_topic("missing")))), "unknown_destination");
  EXPECT_EQ(outcome_of(send(request("m-1", "hello"))), "duplicate");
  must(send(request("m-3", "hello", {DestinationKind::dm, ben_.pubkey})));
  EXPECT_EQ(visible, (std::vector<std::int64_t>{2, 3}))
      << "each notification follows a commit that can be read";
}

TEST_P(BrokerAccept, G_09_a_message_whose_commit_fails_wakes_nothing) {
  BrokerStoreOptions options;
  options.fault = [](FaultPoint point) -> Result<void> {
    return point == FaultPoint::before_commit ? Result<void>(Error{ErrorCode::io_error, "planted"})
                                              : Result<void>();
  };
  open(options);
  int woken = 0;
  CommitWatcher watcher(store_->commits(), [&](CommitOrigin) { ++woken; });
  EXPECT_EQ(code_of(send(request("m-1", "hello"))), "io_error");
  EXPECT_EQ(woken, 0);
}

TEST_P(BrokerAccept, BR_04_RL_12_a_unit_stays_spent_when_the_transaction_refuses) {
  execute("UPDATE @.mesh SET rate_limit_per_window = 2");
  EXPECT_EQ(outcome_of(send(request("m-1", "hello", to_topic("missing")))), "unknown_destination");
  EXPECT_EQ(broker_->counters().consumed_then_b2_rejected, 1U);
  EXPECT_EQ(outcome_of(send(request("m-2", "hello"))), "created");
  EXPECT_EQ(outcome_of(send(request("m-3", "hello"))), "rate_limited");
}

TEST_P(BrokerAccept, BR_07_BR_08_a_consumed_id_is_answered_in_a_saturated_window_at_no_cost) {
  execute("UPDATE @.mesh SET rate_limit_per_window = 1");
  must(send(request("m-1", "hello")));
  const auto denied = send(request("m-2", "hello"));
  EXPECT_EQ(outcome_of(denied), "rate_limited");
  EXPECT_GT(denied.error().field("retry_after_ms").size(), 0U);
  EXPECT_EQ(outcome_of(send(request("m-1", "hello"))), "duplicate");
  EXPECT_EQ(outcome_of(send(request("m-1", "other"))), "idempotency_key_reused");
  EXPECT_EQ(broker_->counters().b0_hit, 2U);
  clock_.advance_ms(60'000);
  EXPECT_EQ(outcome_of(send(request("m-2", "hello"))), "created") << "the next window is open";
  EXPECT_EQ(outcome_of(send(request("m-3", "hello"))), "rate_limited");
}

TEST_P(BrokerAccept, BR_09_H_10_a_stranger_cannot_find_out_whether_an_id_exists) {
  const Workspace other = add_workspace("other");
  add_member(other.mesh_id, "eve");
  must(send(request("m-1", "hello")));
  for (const char* id : {"m-1", "m-2"}) {
    EXPECT_EQ(outcome_of(send("token-eve", request(id, "hello"))), "not_a_member");
    EXPECT_EQ(outcome_of(send("guess", request(id, "hello"))), "unauthenticated");
  }
}

TEST_P(BrokerAccept, BR_15_H_05_the_same_id_of_two_members_or_workspaces_is_two_messages) {
  const Workspace other = add_workspace("other");
  add_member(other.mesh_id, "eve");
  write([&](SqlSession& s) {
    return create_topic(s, {other.mesh_id, "alerts", {}, {}}, clock_.now());
  });
  const auto ann = must(send(request("m-1", "hello")));
  const auto ben = must(send("token-ben", request("m-1", "hello")));
  MessageRequest elsewhere = request("m-1", "hello");
  elsewhere.mesh = "other";
  const auto eve = must(send("token-eve", elsewhere));
  EXPECT_FALSE(ben.duplicate);
  EXPECT_FALSE(eve.duplicate);
  EXPECT_EQ((std::set{ann.broker_message_id, ben.broker_message_id, eve.broker_message_id}.size()),
            3U);
  EXPECT_EQ(outcome_of(send("token-ben", request("m-1", "other"))), "idempotency_key_reused");
}

TEST_P(BrokerAccept, TX_08_R_12_deliveries_are_the_subscriptions_at_the_commit) {
  EXPECT_EQ(must(send(request("m-1", "a"))).fanout_count, 2U) << "the sender's own included";
  write([&](SqlSession& s) -> Result<void> {
    HOLDFAST_CHECK(subscribe(s, {team_.mesh_id, "alerts", cat_.member_id, {}}, clock_.now()));
    HOLDFAST_CHECK(
        create_topic(s, {team_.mesh_id, "quiet", {}, SenderCopy::exclude}, clock_.now()));
    HOLDFAST_CHECK(subscribe(s, {team_.mesh_id, "quiet", ann_.member_id, {}}, clock_.now()));
    return subscribe(s, {team_.mesh_id, "quiet", ben_.member_id, {}}, clock_.now());
  });
  EXPECT_EQ(count("delivery_queue WHERE recipient_member_id = '" + cat_.member_id + "'"), 0);
  EXPECT_EQ(must(send(request("m-2", "a"))).fanout_count, 3U);
  EXPECT_EQ(must(send(request("m-3", "a", to_topic("empty")))).fanout_count, 0U);
  EXPECT_EQ(must(send(request("m-4", "a", to_topic("quiet")))).fanout_count, 1U);
  write([&](SqlSession& s) { return revoke_member(s, ben_.member_id, clock_.now()); });
  EXPECT_EQ(must(send(request("m-5", "a"))).fanout_count, 2U) << "a revoked member has none";
}

TEST_P(BrokerAccept, TX_11_R_25_H_28_dm_and_queue_follow_the_same_contract) {
  const Destination to_ben{DestinationKind::dm, ben_.pubkey};
  EXPECT_EQ(must(send(request("m-1", "a", to_ben))).fanout_count, 1U);
  EXPECT_EQ(must(send(request("m-2", "a", kQueue))).fanout_count, 0U);
  EXPECT_EQ(count("message_queue WHERE destination_kind = 'dm' AND fanout_count = 1"), 1);
  EXPECT_EQ(count("message_queue WHERE destination_kind = 'queue' AND fanout_count = 0"), 1);
  EXPECT_EQ(count("delivery_queue WHERE recipient_member_id = '" + ben_.member_id + "'"), 1);
  EXPECT_EQ(count("delivery_queue"), 1);
  EXPECT_EQ(count("message_history"), 2);
  EXPECT_EQ(outcome_of(send(request("m-1", "a", to_ben))), "duplicate");
  EXPECT_EQ(outcome_of(send(request("m-2", "a", kQueue))), "duplicate");
  EXPECT_EQ(outcome_of(send(request("m-1", "a", kQueue))), "idempotency_key_reused");
}

TEST_P(BrokerAccept, TX_09_mentions_are_members_once_each_without_the_sender) {
  must(send(request("m-1", "a", to_topic("alerts"),
                    {"BEN", "ben", ben_.pubkey, "unknown", "ann", ann_.pubkey, "cat"})));
  const SqlRows rows =
      query("SELECT mentioned_pubkey FROM @.mention_index ORDER BY mentioned_pubkey");
  std::set<std::string> found;
  for (const auto& row : rows) {
    found.insert(row[0].bytes);
  }
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_EQ(found, (std::set{ben_.pubkey, cat_.pubkey}));
}

TEST_P(BrokerAccept, TX_10_MI_01_a_mention_is_there_as_soon_as_its_message_is) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    const auto reply =
        must(send(request("m-" + std::to_string(i), "a", to_topic("alerts"), {"ben"})));
    ids.push_back(reply.broker_message_id);
    std::vector<MentionEntry> mentions;
    must(store_->read([&](SqlSession& s) -> Result<void> {
      HOLDFAST_TRY(mentions, read_mentions(s, team_.mesh_id, ben_.pubkey, "", 10));
      return {};
    }));
    ASSERT_EQ(mentions.size(), ids.size());
    EXPECT_EQ(mentions.back().broker_message_id, ids.back());
    EXPECT_EQ(mentions.back().history_seq, ids.size());
  }
}

TEST_P(BrokerAccept, TX_01_G_06_MI_02_a_fault_at_any_point_leaves_nothing_and_a_retry_succeeds) {
  for (int at = 0; at <= static_cast<int>(FaultPoint::before_commit); ++at) {
    int hits = 0;
    BrokerStoreOptions options;
    options.fault = [&](FaultPoint point) -> Result<void> {
      return static_cast<int>(point) == at && ++hits == 1
                 ? Result<void>(Error{ErrorCode::io_error, "planted"})
                 : Result<void>();
    };
    open(options);
    for (const Destination& to :
         {to_topic("alerts"), Destination{DestinationKind::dm, ben_.pubkey}}) {
      const auto message =
          request("m-" + std::to_string(at) + std::string(to_text(to.kind)), "a", to, {"cat"});
      const std::string before = all_tables();
      const auto reply = send(message);
      if (hits == 1 && !reply.ok()) {
        EXPECT_EQ(code_of(reply), "io_error") << at;
        EXPECT_EQ(all_tables(), before) << at;
        EXPECT_EQ(outcome_of(send(message)), "created") << at;
      } else {
        EXPECT_EQ(outcome_of(reply), "created") << at;
      }
    }
    EXPECT_GE(hits, 1) << "the point was not reached: " << at;
  }
}

TEST_P(BrokerAccept, TX_02_a_commit_whose_answer_was_lost_is_a_duplicate_on_retry) {
  BrokerStoreOptions options;
  options.fault = [](FaultPoint point) -> Result<void> {
    return point == FaultPoint::after_commit
               ? Result<void>(Error{ErrorCode::io_error, "the answer is lost"})
               : Result<void>();
  };
  open(options);
  EXPECT_EQ(code_of(send(request("m-1", "hello"))), "io_error");
  open();
  EXPECT_EQ(outcome_of(send(request("m-1", "hello"))), "duplicate");
  EXPECT_EQ(count("topic_message"), 1);
}

TEST_P(BrokerAccept, H_02_what_a_store_cannot_do_is_never_a_fault_of_the_message) {
  for (const ErrorCode code : {ErrorCode::permission_denied, ErrorCode::not_found,
                               ErrorCode::conflict, ErrorCode::too_large, ErrorCode::busy}) {
    BrokerStoreOptions options;
    options.fault = [code](FaultPoint) -> Result<void> { return Error{code, "planted"}; };
    open(options);
    const auto failed = send(request("m-1", "hello"));
    ASSERT_FALSE(failed.ok());
    const auto rejection = rejection_of(failed.error());
    EXPECT_GE(rejection.has_value() ? rejection_info(*rejection).http_status
                                    : error_info(failed.error().code()).http_status,
              500);
    EXPECT_EQ(broker_->counters().error, 1U);
  }
  open();
  EXPECT_EQ(outcome_of(send(request("m-1", "hello"))), "created");
}

TEST_P(BrokerAccept, TX_07_an_expired_row_counts_until_it_is_swept) {
  const auto first = must(send(request("m-1", "hello")));
  clock_.advance_ms(400 * kDayMs);
  const auto again = must(send(request("m-1", "hello")));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.broker_message_id, first.broker_message_id);
}

// Runs the body on so many threads, each with its number.
void in_parallel(int threads, const std::function<void(int)>& body) {
  std::vector<std::function<void()>> bodies;
  for (int i = 0; i < threads; ++i) {
    bodies.emplace_back([&body, i] { body(i); });
  }
  ThreadGroup group;
  must(group.start(bodies));
  group.join();
}

TEST_P(BrokerAccept, TX_03_R_20_concurrent_equal_requests_are_one_message_and_one_unit) {
  execute("UPDATE @.mesh SET rate_limit_per_window = 2");
  std::atomic<int> created{0};
  std::atomic<int> duplicates{0};
  in_parallel(100, [&](int) {
    const auto reply = send(request("m-1", "hello"));
    created += outcome_of(reply) == "created" ? 1 : 0;
    duplicates += outcome_of(reply) == "duplicate" ? 1 : 0;
  });
  EXPECT_EQ(created, 1);
  EXPECT_EQ(duplicates, 99);
  EXPECT_EQ(count("topic_message"), 1);
  EXPECT_EQ(outcome_of(send(request("m-2", "hello"))), "created") << "one unit was left";
  EXPECT_EQ(outcome_of(send(request("m-3", "hello"))), "rate_limited");
}

TEST_P(BrokerAccept, TX_04_of_concurrent_different_contents_one_wins) {
  std::atomic<int> created{0};
  std::atomic<int> conflicts{0};
  in_parallel(16, [&](int i) {
    const auto reply = send(request("m-1", "content " + std::to_string(i)));
    created += outcome_of(reply) == "created" ? 1 : 0;
    conflicts += outcome_of(reply) == "idempotency_key_reused" ? 1 : 0;
  });
  EXPECT_EQ(created, 1);
  EXPECT_EQ(conflicts, 15);
  EXPECT_EQ(count("topic_message"), 1);
}

TEST_P(BrokerAccept, TX_03_TX_04_equal_ids_in_one_group_are_examined_in_their_order) {
  execute("UPDATE @.mesh SET rate_limit_per_window = 4");
  const std::vector<MessageRequest> requests{request("m-1", "hello", to_topic("missing")),
                                             request("m-1", "hello"),
                                             request("m-2", "hello"),
                                             request("m-1", "hello"),
                                             request("m-1", "other"),
                                             request("m-2", "hello")};
  std::vector<AcceptCall> calls;
  for (const MessageRequest& one : requests) {
    calls.push_back({"token-ann", &one});
  }
  calls.push_back({"token-ben", &requests[1]});  // an id of its own
  std::vector<std::string> outcomes;
  for (const auto& reply : broker_->accept_group(calls)) {
    outcomes.push_back(outcome_of(reply));
  }
  EXPECT_EQ(outcomes,
            (std::vector<std::string>{"unknown_destination", "created", "created", "duplicate",
                                      "idempotency_key_reused", "duplicate", "created"}));
  EXPECT_EQ(count("topic_message"), 3);
  EXPECT_EQ(broker_->counters().b0_hit, 3U);
  EXPECT_EQ(outcome_of(send(request("m-3", "hello"))), "rate_limited") << "four units are spent";
}

TEST_P(BrokerAccept, HI_01_H_27_sequences_follow_commits_and_a_reader_misses_none) {
  std::atomic<bool> done{false};
  std::vector<std::string> seen;
  ThreadGroup reader;
  must(reader.start([&] {
    std::uint64_t after = 0;
    for (bool last = false; !last;) {
      last = done;
      std::vector<HistoryEntry> entries;
      must(store_->read([&](SqlSession& s) -> Result<void> {
        HOLDFAST_TRY(entries, read_history(s, team_.mesh_id, to_topic("alerts"), after, 50));
        return {};
      }));
      for (const HistoryEntry& entry : entries) {
        EXPECT_EQ(entry.history_seq, ++after);
        seen.push_back(entry.broker_message_id);
      }
    }
  }));
  constexpr int kWriters = 20;
  constexpr int kEach = 10;
  in_parallel(kWriters, [&](int writer) {
    for (int i = 0; i < kEach; ++i) {
      const std::string id = "m-" + std::to_string(writer) + "-" + std::to_string(i);
      const bool topic = i % 3 != 2;
      EXPECT_EQ(outcome_of(send(request(id, "hello", topic ? to_topic("alerts") : kQueue))),
                "created");
    }
  });
  done = true;
  reader.join();
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(count("topic_message")));
  EXPECT_EQ((std::set(seen.begin(), seen.end()).size()), seen.size());
  EXPECT_EQ(query("SELECT max(history_seq) FROM @.message_history "
                  "WHERE destination_kind = 'queue'")[0][0]
                .integer,
            count("message_queue"));
}

TEST_P(BrokerAccept, HI_04_history_is_the_same_after_a_restart) {
  for (int i = 0; i < 5; ++i) {
    must(send(request("m-" + std::to_string(i), "hello")));
  }
  const std::string before = all_tables();
  open();
  EXPECT_EQ(all_tables(), before);
  must(send(request("m-5", "hello")));
  EXPECT_EQ(query("SELECT max(history_seq) FROM @.message_history")[0][0].integer, 6);
}

AcceptRow row_for(const MessageRequest& message, const Workspace& team, const Member& sender,
                  const std::string& id) {
  AcceptKnowledge knowledge;
  knowledge.caller = CallerState::member;
  knowledge.request = std::optional<Rejection>();
  knowledge.known = KnownState::absent;
  knowledge.size = SizeState::fits;
  knowledge.age = AgeState::fresh;
  knowledge.budget = BudgetState::admitted;
  return {team.mesh_id,
          sender.member_id,
          id,
          id,
          TimeMs{kStartMs},
          TimeMs{kStartMs + kDayMs},
          must(check_message(message, BodyForm::plain)),
          knowledge};
}

TEST_P(BrokerAccept, R_19_one_rejected_or_failing_message_does_not_fail_its_group) {
  const auto first = must(send(request("m-0", "hello")));
  std::vector<AcceptRow> group;
  group.push_back(row_for(request("m-1", "a"), team_, ann_, ulid()));
  group.push_back(row_for(request("m-2", "a", to_topic("missing")), team_, ann_, ulid()));
  group.push_back(row_for(request("m-0", "other"), team_, ann_, ulid()));
  group.push_back(row_for(request("m-0", "hello"), team_, ann_, ulid()));
  group.back().message.id = must(ClientMessageId::parse("m-4"));
  group.back().broker_message_id = first.broker_message_id;  // the message row is there already
  group.push_back(row_for(request("m-5", "a"), team_, ben_, ulid()));
  group.push_back(row_for(request("m-6", "a", kQueue), team_, ben_, ulid()));
  const auto outcomes = store_->accept(group);
  ASSERT_EQ(outcomes.size(), group.size());
  const auto refused = [&](std::size_t i) {
    const auto* refusal = std::get_if<Refused>(&outcomes[i].value().answer.answer);
    return refusal == nullptr ? "not refused" : rejection_info(refusal->rejection).name;
  };
  const auto is_accepted = [&](std::size_t i) {
    return outcomes[i].ok() && std::holds_alternative<Accepted>(outcomes[i].value().answer.answer);
  };
  EXPECT_TRUE(is_accepted(0));
  EXPECT_EQ(refused(1), "unknown_destination");
  EXPECT_EQ(refused(2), "idempotency_key_reused");
  EXPECT_FALSE(outcomes[3].ok());
  EXPECT_TRUE(is_accepted(4));
  EXPECT_TRUE(is_accepted(5));
  EXPECT_EQ(outcomes[0].value().history_seq, 2U);
  EXPECT_EQ(outcomes[4].value().history_seq, 3U) << "no gap where a message was refused";
  EXPECT_EQ(outcomes[5].value().history_seq, 1U);
  EXPECT_EQ(count("client_message_dedupe"), 4);
  EXPECT_EQ(count("delivery_queue"), 6);
}

TEST_P(BrokerAccept, dedupe_rows_are_looked_up_by_their_sender_only) {
  const auto reply = must(send(request("m-1", "hello")));
  const ClientMessageId id = must(ClientMessageId::parse("m-1"));
  must(store_->read([&](SqlSession& s) -> Result<void> {
    HOLDFAST_TRY(const auto own, find_dedupe(s, team_.mesh_id, ann_.member_id, id));
    EXPECT_EQ(own.value().broker_message_id, reply.broker_message_id);
    HOLDFAST_TRY(const auto foreign, find_dedupe(s, team_.mesh_id, ben_.member_id, id));
    EXPECT_FALSE(foreign.has_value());
    return {};
  }));
}

}  // namespace
}  // namespace holdfast::delivery::broker_accept_test
