// What only PostgreSQL has: several brokers on one database, and a server that dies.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <set>

#include "base/threads.h"
#include "delivery/broker/postgres_commit_link.h"
#include "tests/support/broker_fixture.h"

namespace holdfast::delivery::broker_postgres_test {
namespace {

class BrokerPostgres : public BrokerFixture {
 protected:
  // Waits for a condition, with a deadline.
  static bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      poll(nullptr, 0, 5);  // leaves the processor to what is waited for
    }
    return true;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, BrokerPostgres, ::testing::Values(StoreKind::postgres),
                         store_kind_name);

TEST_P(BrokerPostgres, G_07_two_brokers_accept_each_id_once) {
  const auto second_store = open_store();
  SeededRandom second_random(19);  // one for each broker: it has no lock
  Broker second(*second_store, *limiter_, clock_, second_random);
  constexpr int kThreads = 8;
  constexpr int kMessages = 30;
  std::atomic<int> created{0};
  std::atomic<int> duplicates{0};
  std::vector<std::function<void()>> bodies;
  for (int thread = 0; thread < kThreads; ++thread) {
    bodies.emplace_back([&, thread] {
      Broker& broker = thread % 2 == 0 ? *broker_ : second;
      for (int i = 0; i < kMessages; ++i) {
        const bool queue = i % 3 == 0;
        const auto reply = broker.accept(
            "token-ann", request("m-" + std::to_string(i), "hello",
                                 {queue ? DestinationKind::queue : DestinationKind::topic,
                                  queue ? "jobs" : "alerts"},
                                 {"ben"}));
        EXPECT_TRUE(reply.ok()) << reply.error().text();
        created += outcome_of(reply) == "created" ? 1 : 0;
        duplicates += outcome_of(reply) == "duplicate" ? 1 : 0;
      }
    });
  }
  ThreadGroup group;
  must(group.start(bodies));
  group.join();
  EXPECT_EQ(created, kMessages);
  EXPECT_EQ(duplicates, (kThreads - 1) * kMessages);
  EXPECT_EQ(count("topic_message") + count("message_queue"), kMessages);
  EXPECT_EQ(count("message_history"), kMessages);
  EXPECT_EQ(count("delivery_queue"), 2 * count("topic_message"));
}

TEST_P(BrokerPostgres, a_query_for_many_sets_of_parameters_has_the_rows_of_each) {
  must(store_->read([](SqlSession& s) -> Result<void> {
    const std::string binary("\0\1", 2);
    const std::vector<SqlParams> sets{{std::string_view("a"), std::int64_t{2}, SqlBytes{binary}},
                                      {std::string_view(""), std::int64_t{0}, SqlBytes{""}},
                                      {std::string_view("c"), std::int64_t{1}, SqlBytes{"x"}}};
    HOLDFAST_TRY(const auto rows, s.query_each("SELECT $1t || '!', $2i, $3b, NULL "
                                               "FROM generate_series(1, $2i) ORDER BY 1",
                                               sets));
    EXPECT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].size(), 2U);
    EXPECT_EQ(rows[1].size(), 0U);
    EXPECT_EQ(rows[2].size(), 1U);
    EXPECT_EQ(rows[0][1][0].bytes, "a!");
    EXPECT_EQ(rows[0][1][1].integer, 2);
    EXPECT_EQ(rows[0][1][2].bytes, binary);
    EXPECT_TRUE(rows[0][1][3].null);
    EXPECT_EQ(rows[2][0][0].bytes, "c!");
    return {};
  }));
}

// Statements are planned while the tables are empty.
TEST_P(BrokerPostgres, a_dedupe_row_is_found_by_its_whole_key) {
  const std::vector<LookupKey> keys(2, {"team", sha256("token-ann"), "m-1"});
  must(store_->read_once([&](SqlSession& s) -> Result<void> {
    HOLDFAST_CHECK(look_up(s, keys));
    HOLDFAST_CHECK(look_up(s, std::span(keys).first(1)));
    HOLDFAST_TRY(const SqlRows statements,
                 s.query("SELECT name FROM pg_prepared_statements "
                         "WHERE statement LIKE '%client_message_dedupe%' AND statement NOT LIKE "
                         "'%pg_prepared_statements%'",
                         {}));
    EXPECT_EQ(statements.size(), 2U) << "for one set of parameters, and for many";
    for (const auto& statement : statements) {
      const bool many = statement[0].bytes.starts_with("broker_set");
      HOLDFAST_TRY(const SqlRows plan,
                   s.query("EXPLAIN EXECUTE " + statement[0].bytes +
                               (many ? "(ARRAY['team'], ARRAY['x'::bytea], ARRAY['m-1'])"
                                     : "('team', 'x', 'm-1')"),
                           {}));
      std::string text;
      for (const auto& line : plan) {
        text += line[0].bytes + "\n";
      }
      EXPECT_NE(text.find("Index Cond: ((mesh_id = m.mesh_id) AND (sender_member_id = "
                          "m.member_id) AND (client_message_id = "),
                std::string::npos)
          << text;
    }
    return {};
  }));
}

TEST_P(BrokerPostgres, TX_05_the_waiter_behind_a_refused_claim_gets_its_own_result) {
  std::atomic<bool> claimed{false};
  std::atomic<bool> released{false};
  BrokerStoreOptions options;
  options.fault = [&](FaultPoint point) -> Result<void> {
    if (point == FaultPoint::claimed) {
      claimed = true;
      EXPECT_TRUE(eventually([&] { return released.load(); }));
    }
    return {};
  };
  const auto slow_store = open_store(options);
  SeededRandom slow_random(19);
  Broker slow(*slow_store, *limiter_, clock_, slow_random);
  ThreadGroup holder;
  must(holder.start([&] {
    EXPECT_EQ(outcome_of(slow.accept("token-ann",
                                     request("m-1", "lost", {DestinationKind::topic, "missing"}))),
              "unknown_destination");
  }));
  EXPECT_TRUE(eventually([&] { return claimed.load(); }));
  ThreadGroup waiter;
  must(waiter.start([&] { EXPECT_EQ(outcome_of(send(request("m-1", "kept"))), "created"); }));
  EXPECT_TRUE(eventually([&] {
    return must(cluster().run_sql("SELECT count(*) FROM pg_stat_activity "
                                  "WHERE wait_event_type = 'Lock'")) != "0";
  }));
  released = true;
  holder.join();
  waiter.join();
  EXPECT_EQ(count("topic_message"), 1);
}

// The row of another broker is in the way of the claim, and gone when it is read.
TEST_P(BrokerPostgres, TX_06_a_row_that_is_swept_between_claim_and_read_is_claimed_again) {
  enum class Stage { before, accepted_elsewhere, swept };
  Stage stage = Stage::before;
  BrokerStoreOptions options;
  options.fault = [&](FaultPoint point) -> Result<void> {
    if (point == FaultPoint::budget_consumed && stage == Stage::before) {
      stage = Stage::accepted_elsewhere;
      EXPECT_EQ(outcome_of(send(request("m-1", "hello"))), "created");
    } else if (point == FaultPoint::claimed && stage == Stage::accepted_elsewhere) {
      stage = Stage::swept;
      execute("DELETE FROM @.client_message_dedupe");
    }
    return {};
  };
  const auto slow_store = open_store(options);
  SeededRandom slow_random(19);
  Broker slow(*slow_store, *limiter_, clock_, slow_random);
  EXPECT_EQ(outcome_of(slow.accept("token-ann", request("m-1", "hello"))), "created");
  EXPECT_EQ(stage, Stage::swept);
  EXPECT_EQ(count("client_message_dedupe"), 1);
  EXPECT_EQ(count("topic_message"), 2) << "the first outlived its row";
}

TEST_P(BrokerPostgres, H_35_a_lock_that_is_not_released_is_a_failure_for_all_within_one_wait) {
  BrokerStoreOptions options;
  options.busy_timeout = std::chrono::milliseconds(200);
  open(options);
  const std::string schema = postgres_url().schema;
  std::atomic<bool> holds{false};
  std::atomic<bool> done{false};
  ThreadGroup holder;
  must(holder.start([&] {
    const auto other = open_store();
    must(other->write([&](SqlSession& s) -> Result<void> {
      HOLDFAST_CHECK(s.execute("UPDATE @.destination SET last_seq = last_seq", {}));
      holds = true;
      EXPECT_TRUE(eventually([&] { return done.load(); }));
      return {};
    }));
  }));
  EXPECT_TRUE(eventually([&] { return holds.load(); }));
  constexpr std::size_t kMessages = 40;
  std::vector<MessageRequest> messages;
  for (std::size_t i = 0; i < kMessages; ++i) {
    messages.push_back(request("m-" + std::to_string(i), "hello"));
  }
  std::vector<AcceptCall> calls;
  for (const MessageRequest& message : messages) {
    calls.push_back({"token-ann", &message});
  }
  const auto began = std::chrono::steady_clock::now();
  const auto replies = broker_->accept_group(calls);
  EXPECT_LT(std::chrono::steady_clock::now() - began, kMessages * options.busy_timeout / 2)
      << "they do not wait one after the other";
  ASSERT_EQ(replies.size(), kMessages);
  for (const Result<AcceptReply>& failed : replies) {
    EXPECT_EQ(outcome_of(failed), "busy");
    EXPECT_EQ(failed.ok() ? 0 : error_info(failed.error().code()).http_status, 503);
  }
  done = true;
  holder.join();
  EXPECT_EQ(outcome_of(send(request("m-0", "hello"))), "created");
}

TEST_P(BrokerPostgres, H_35_a_broker_that_stops_inside_its_transaction_loses_it) {
  std::atomic<bool> claimed{false};
  std::atomic<bool> accepted{false};
  BrokerStoreOptions options;
  options.busy_timeout = std::chrono::milliseconds(500);
  options.fault = [&](FaultPoint point) -> Result<void> {
    if (point == FaultPoint::destination_checked && !claimed.exchange(true)) {
      EXPECT_TRUE(eventually([&] { return accepted.load(); }));
    }
    return {};
  };
  const auto stopped_store = open_store(options);
  SeededRandom stopped_random(19);
  Broker stopped(*stopped_store, *limiter_, clock_, stopped_random);
  ThreadGroup holder;
  must(holder.start([&] {
    const auto lost = stopped.accept("token-ann", request("m-1", "hello"));
    EXPECT_FALSE(lost.ok());
    EXPECT_FALSE(rejection_of(lost.error()).has_value()) << "not the fault of the message";
  }));
  EXPECT_TRUE(eventually([&] { return claimed.load(); }));
  EXPECT_TRUE(eventually([&] { return outcome_of(send(request("m-1", "hello"))) == "created"; }));
  accepted = true;
  holder.join();
  EXPECT_EQ(outcome_of(stopped.accept("token-ann", request("m-1", "hello"))), "duplicate");
  EXPECT_EQ(count("topic_message"), 1);
}

TEST_P(BrokerPostgres, H_02_a_server_that_died_is_a_failure_of_the_store_and_not_of_the_message) {
  must(send(request("m-1", "hello")));
  cluster().kill_9();
  const auto failed = send(request("m-2", "hello"));
  ASSERT_FALSE(failed.ok());
  EXPECT_FALSE(rejection_of(failed.error()).has_value());
  EXPECT_GE(error_info(failed.error().code()).http_status, 500);
  must(cluster().start());
  EXPECT_TRUE(eventually([&] { return send(request("m-2", "hello")).ok(); }));
  EXPECT_EQ(outcome_of(send(request("m-1", "hello"))), "duplicate");
  EXPECT_EQ(count("topic_message"), 2);
}

TEST_P(BrokerPostgres, connections_that_were_lost_while_they_were_not_used_are_made_again) {
  const auto nothing = [](SqlSession&) -> Result<void> { return {}; };
  const auto use_all = [&] {
    EXPECT_EQ(code_of(store_->read(nothing)), "ok");
    EXPECT_EQ(code_of(store_->scan(nothing)), "ok");
    EXPECT_EQ(code_of(store_->write(nothing)), "ok");
    EXPECT_EQ(code_of(store_->deliver(nothing)), "ok");
  };
  use_all();
  cluster().kill_9();
  must(cluster().start());
  use_all();
}

// Two processes would have a notifier each.
TEST_P(BrokerPostgres, a_commit_of_one_broker_wakes_what_waits_at_another) {
  CommitNotifier elsewhere;
  const auto here = must(PostgresCommitLink::start(postgres_url(), store_->commits()));
  const auto there = must(PostgresCommitLink::start(postgres_url(), elsewhere));
  EXPECT_TRUE(eventually([&] { return store_->commits().count() > 0 && elsewhere.count() > 0; }))
      << "both are connected";
  const auto woken_by = [&](const std::string& id) {
    const std::uint64_t seen = elsewhere.count();
    must(send(request(id, "hello")));
    return elsewhere.wait_beyond(
               seen, std::chrono::steady_clock::now() + std::chrono::seconds(120)) > seen;
  };
  EXPECT_TRUE(woken_by("m-1"));
  const std::uint64_t seen = elsewhere.count();
  EXPECT_EQ(outcome_of(send(request("m-2", "hello", {DestinationKind::topic, "missing"}))),
            "unknown_destination");
  must(
      cluster().run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE query LIKE 'LISTEN%' OR query LIKE 'NOTIFY%'"));
  EXPECT_GT(
      elsewhere.wait_beyond(seen, std::chrono::steady_clock::now() + std::chrono::seconds(120)),
      seen)
      << "a new connection may have missed something";
  EXPECT_TRUE(woken_by("m-3"));
}

TEST_P(BrokerPostgres, brokers_that_start_together_create_the_tables_once) {
  std::string name = cluster().url("t_start_together");
  const PostgresUrl url =
      must(parse_postgres_url(std::string_view(name).substr(name.find("//") + 2)));
  std::atomic<int> opened{0};
  ThreadGroup group;
  must(group.start(4, [&] {
    const auto store = open_postgres_broker_store(url, {});
    EXPECT_TRUE(store.ok()) << store.error().text();
    opened += store.ok() ? 1 : 0;
  }));
  group.join();
  EXPECT_EQ(opened, 4);
}

}  // namespace
}  // namespace holdfast::delivery::broker_postgres_test
