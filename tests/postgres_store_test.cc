// The PostgreSQL store where it differs from the others: opening, refusals, psql, waiting.
// log_contract_test.cc covers what all stores share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "tests/support/postgres_fixture.h"

namespace holdfast::postgres_test::postgres_store_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

using PostgresStore = PostgresTest;

TEST_F(PostgresStore, psql_reads_the_entries) {
  auto log = must(open_log_at(url()));
  must(log->append(Position{0},
                   R"([{"thread":"run:1","seq":1,"kind":"run_started","at":1700000000123,)"
                   R"("data":{"name":"Jürgen","n":1.50}},)"
                   R"({"thread":"dispatch:q","seq":4294967296,"kind":"k","at":-1,"data":null}])"));
  // \u0000 is valid JSON, but not valid PostgreSQL text; "\\u0000" is six ordinary characters.
  must(log->append(Position{1}, R"([{"thread":"run:2","seq":1,"kind":"k","at":0,)"
                                R"("data":"a\u0000b\\u0000c\\\u0000\"d"}])"));
  must(log->append(Position{2}, "[]"));
  EXPECT_EQ(must(cluster_.run_sql("SELECT position, idx, thread, seq, kind, at, data FROM " +
                                  schema() + ".entries ORDER BY position, idx")),
            "1|0|run:1|1|run_started|1700000000123|{\"name\":\"Jürgen\",\"n\":1.50}\n"
            "1|1|dispatch:q|4294967296|k|-1|null\n"
            R"(2|0|run:2|1|k|0|"a\u2400b\\u0000c\\\u2400\"d")");
  EXPECT_EQ(must(cluster_.run_sql("SELECT data->>'name' FROM " + schema() +
                                  ".entries WHERE thread = 'run:1'")),
            "Jürgen");
}

TEST_F(PostgresStore, schema_with_other_tables_is_refused_untouched) {
  for (const std::string sql :
       {"CREATE TABLE %.orders (id int)", "CREATE SEQUENCE %.numbers",
        "CREATE VIEW %.v AS SELECT 1 AS one", "CREATE TABLE %.log_state (name text)"}) {
    const std::string target = schema();
    must(cluster_.run_sql("DROP SCHEMA IF EXISTS " + target + " CASCADE"));
    must(cluster_.run_sql("CREATE SCHEMA " + target));
    std::string filled = sql;
    must(cluster_.run_sql(filled.replace(filled.find('%'), 1, target)));
    const std::string before = relations(target);
    for (const OpenMode mode : {OpenMode::create, OpenMode::write, OpenMode::read}) {
      const auto refused = open_store_at(url(), mode);
      ASSERT_FALSE(refused.ok()) << sql;
      EXPECT_EQ(refused.error().code(), ErrorCode::not_a_journal) << refused.error().text();
    }
    EXPECT_EQ(relations(target), before);
  }
}

TEST_F(PostgresStore, newer_format_is_refused_untouched) {
  must(open_store_at(url()));
  must(cluster_.run_sql("UPDATE " + schema() + ".log_state SET format = 2"));
  const std::string before = relations(schema());
  for (const OpenMode mode : {OpenMode::create, OpenMode::write, OpenMode::read}) {
    const auto refused = open_store_at(url(), mode);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::newer_format) << refused.error().text();
  }
  EXPECT_EQ(relations(schema()), before);
}

TEST_F(PostgresStore, missing_journal_is_not_found_and_not_created) {
  for (const OpenMode mode : {OpenMode::write, OpenMode::read}) {
    const auto refused = open_store_at(url(), mode);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::not_found);
    EXPECT_THAT(refused.error().text(), HasSubstr("holds no journal"));
  }
  EXPECT_EQ(must(cluster_.run_sql("SELECT count(*) FROM pg_namespace WHERE nspname = '" + schema() +
                                  "'")),
            "0");
}

TEST_F(PostgresStore, damage_in_the_tables_is_corrupt_log) {
  const std::string s = schema();
  for (const std::string damage : {
           "DELETE FROM %.batches",
           "DELETE FROM %.log_state",
           "UPDATE %.batches SET chain = 'x' WHERE position = 2",
           "UPDATE %.batches SET body_hash = '' WHERE position = 2",
           "UPDATE %.log_state SET log_id = 'x'",
           "UPDATE %.log_state SET head_chain = 'x'",
           "UPDATE %.log_state SET start = 0",
           "UPDATE %.log_state SET start = 5",
           "UPDATE %.log_state SET head = 4",
           "DROP TABLE %.side",
       }) {
    must(cluster_.run_sql("DROP SCHEMA IF EXISTS " + s + " CASCADE"));
    {
      auto log = must(open_log_at(url()));
      for (std::uint64_t position = 0; position < 3; ++position) {
        must(log->append(Position{position}, "body"));
      }
    }
    std::string filled = damage;
    must(cluster_.run_sql(filled.replace(filled.find('%'), 1, s)));
    const auto read = [&]() -> Result<void> {
      HOLDFAST_TRY(const auto log, open_log_at(url(), OpenMode::read));
      HOLDFAST_TRY(auto reader, log->read(Position{1}));
      while (reader.next_position() <= log->head().position) {
        HOLDFAST_CHECK(reader.next());
      }
      return {};
    }();
    ASSERT_FALSE(read.ok()) << damage;
    EXPECT_EQ(read.error().code(), ErrorCode::corrupt_log) << damage;
  }
}

TEST_F(PostgresStore, rows_of_two_writers_never_mix_in_append_many) {
  auto first = must(open_store_at(url()));
  auto second = must(open_store_at(url()));
  const Digest digest{};
  must(first->append({Position{1}, "first", digest, digest}));
  // The second writer has not seen batch 1, so its batch 2 must not follow that batch.
  const std::vector<RowView> rows{{Position{1}, "second", digest, digest},
                                  {Position{2}, "second", digest, digest}};
  const auto refused = second->append_many(rows);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::conflict);
  EXPECT_EQ(must(first->state()).head, Position{1});
  const std::vector<RowView> later{{Position{2}, "second", digest, digest},
                                   {Position{3}, "second", digest, digest}};
  must(second->append_many(later));
  EXPECT_EQ(must(first->read(Position{1}, {})).size(), 3U);
}

TEST_F(PostgresStore, connection_errors_are_clear_and_contain_no_password) {
  must(cluster_.run_sql("DROP ROLE IF EXISTS locked"));
  must(cluster_.run_sql("CREATE ROLE locked LOGIN PASSWORD 'open-sesame'"));
  const std::string place = "127.0.0.1:" + std::to_string(cluster_.port());
  struct Case {
    std::string url;
    ErrorCode code;
    std::string says;
  };
  const std::vector<Case> cases{
      {"postgres://locked:hunter2@" + place + "/postgres", ErrorCode::permission_denied,
       "password authentication failed for user \"locked\""},
      {"postgres://locked@" + place + "/postgres", ErrorCode::permission_denied, "password"},
      {"postgres://no_such_user:hunter2@" + place + "/postgres", ErrorCode::permission_denied,
       "no_such_user"},
      {"postgres://postgres:hunter2@" + place + "/no_such_db", ErrorCode::not_found,
       "\"no_such_db\" does not exist"},
      {"postgres://postgres:hunter2@127.0.0.1:1/postgres", ErrorCode::unavailable, "refused"},
      {"postgres://postgres:hunter2@host.invalid/postgres", ErrorCode::unavailable, "host.invalid"},
      {"postgres:///postgres?host=/nowhere&password=hunter2", ErrorCode::unavailable, "/nowhere"},
      {"postgres://" + place + "/postgres?hunger=1&password=hunter2", ErrorCode::invalid_url,
       "hunger"},
      {"postgres://u:%zzhunter2@" + place + "/postgres", ErrorCode::invalid_url, "parse"},
      // Without permission to create a schema.
      {"postgres://locked:open-sesame@" + place + "/postgres?schema=mine",
       ErrorCode::permission_denied, "permission denied"},
  };
  for (const Case& one : cases) {
    const auto refused = open_store_at(one.url);
    ASSERT_FALSE(refused.ok()) << one.url;
    const std::string text = refused.error().text() + refused.error().json();
    EXPECT_EQ(refused.error().code(), one.code) << text;
    EXPECT_THAT(text, HasSubstr(one.says));
    EXPECT_THAT(text, Not(AnyOf(HasSubstr("hunter2"), HasSubstr("open-sesame"))));
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST_F(PostgresStore, journal_of_another_role_is_permission_denied) {
  must(open_store_at(url()));
  must(cluster_.run_sql("DROP ROLE IF EXISTS guest"));
  must(cluster_.run_sql("CREATE ROLE guest LOGIN"));
  const std::string as_guest = "postgres://guest@127.0.0.1:" + std::to_string(cluster_.port()) +
                               "/postgres?schema=" + schema();
  EXPECT_EQ(open_store_at(as_guest).error().code(), ErrorCode::permission_denied);
  // With permission to read it can be read but not written.
  must(cluster_.run_sql("GRANT USAGE ON SCHEMA " + schema() + " TO guest; GRANT SELECT ON ALL " +
                        "TABLES IN SCHEMA " + schema() + " TO guest"));
  EXPECT_TRUE(open_log_at(as_guest, OpenMode::read).ok());
  auto log = must(open_log_at(as_guest, OpenMode::write));
  EXPECT_EQ(log->append(Position{0}, "x").error().code(), ErrorCode::permission_denied);
}

TEST_F(PostgresStore, works_over_a_unix_socket_and_with_names_that_are_sql_words) {
  auto log = must(open_log_at(cluster_.url("user", PostgresCluster::Via::unix_socket)));
  must(log->append(Position{0}, "body"));
  EXPECT_EQ(read_all(*log).size(), 1U);
  must(log->reclaim());
  EXPECT_GT(must(log->size_bytes()), 0U);
}

TEST_F(PostgresStore, large_update_is_one_transaction) {
  auto store = must(open_store_at(url()));
  SeededRandom random(3);
  SideUpdate update;
  for (int index = 0; index < 5000; ++index) {
    update.puts.push_back({"key" + std::to_string(index), random_text(random, 8'000)});
    update.deletes.push_back("gone" + std::to_string(index));
  }
  update.puts.push_back({"huge", random_text(random, 30U << 20U)});
  update.puts.push_back({"key7", "the last put of a key counts"});
  must(store->update(update));
  const std::vector<std::string> keys{"key7", "huge", "none", "key4999", "key7"};
  const auto values = must(store->get(keys));
  EXPECT_EQ(values[0], "the last put of a key counts");
  EXPECT_EQ(values[1], update.puts[5000].value);
  EXPECT_EQ(values[2], std::nullopt);
  EXPECT_EQ(values[3], update.puts[4999].value);
  EXPECT_EQ(values[4], values[0]);

  // A trim that lost the race rolls back the whole update.
  update.trim = Trim{Position{2}, Position{3}, {}};
  update.puts = {{"new", "x"}};
  update.deletes = {"key7"};
  const auto refused = store->update(update);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::conflict);
  const std::vector<std::string> both{"new", "key7"};
  const auto after = must(store->get(both));
  EXPECT_EQ(after[0], std::nullopt);
  EXPECT_EQ(after[1], values[0]);
  // The writer remains usable after a conflict.
  must(store->update({.puts = {{"new", "y"}}, .deletes = {}, .trim = {}}));
}

TEST_F(PostgresStore, reads_stop_at_their_limits) {
  auto store = must(open_store_at(url()));
  const Digest digest{};
  const std::string body(100'000, 'x');
  for (std::uint64_t position = 1; position <= 10; ++position) {
    must(store->append({Position{position}, body, digest, digest}));
  }
  const auto count = [&](ReadLimit limit) { return must(store->read(Position{1}, limit)).size(); };
  EXPECT_EQ(count({}), 10U);
  EXPECT_EQ(count({.max_rows = 3}), 3U);
  EXPECT_EQ(count({.max_rows = 0}), 0U);
  EXPECT_EQ(count({.max_rows = 10, .max_bytes = 1}), 1U);
  EXPECT_EQ(count({.max_rows = 10, .max_bytes = 200'000}), 2U);
  EXPECT_EQ(count({.max_rows = 10, .max_bytes = 200'001}), 3U);
  EXPECT_EQ(must(store->read(Position{10}, {})).size(), 1U);
  EXPECT_EQ(must(store->read(Position{11}, {})).size(), 0U);
  EXPECT_EQ(must(store->read(Position{~std::uint64_t{0}}, {})).size(), 0U);
}

TEST_F(PostgresStore, waiting_ends_when_another_process_appends) {
  auto waiting = must(open_store_at(url()));
  auto writing = must(open_log_at(url()));
  // Several threads wait at once; each of a thousand batches must wake them.
  std::vector<std::thread> threads;
  for (int index = 0; index < 3; ++index) {
    threads.emplace_back([&] {
      for (Position seen{0}; seen.value < 1000;) {
        const auto begin = std::chrono::steady_clock::now();
        must(waiting->wait_for_change(seen, seconds(60)));
        ASSERT_LT(std::chrono::steady_clock::now() - begin, seconds(30));
        const Position now = must(waiting->state()).head;
        ASSERT_GT(now, seen);
        seen = now;
      }
    });
  }
  for (std::uint64_t position = 0; position < 1000; ++position) {
    must(writing->append(Position{position}, "body"));
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST_F(PostgresStore, waiting_ends_at_its_timeout_and_does_not_block_readers) {
  auto store = must(open_store_at(url()));
  const auto begin = std::chrono::steady_clock::now();
  must(store->wait_for_change(Position{0}, milliseconds(50)));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(50));
  std::thread waiter([&] { must(store->wait_for_change(Position{0}, seconds(60))); });
  for (int count = 0; count < 100; ++count) {
    must(store->state());
  }
  const Digest digest{};
  must(store->append({Position{1}, "body", digest, digest}));
  waiter.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(30));
}

TEST_F(PostgresStore, server_without_notifications_supports_a_log) {
  // A role without permission to notify stands for a server that cannot.
  must(cluster_.run_sql("DROP ROLE IF EXISTS silent"));
  must(
      cluster_.run_sql("CREATE ROLE silent LOGIN; GRANT CREATE ON DATABASE postgres TO silent; "
                       "REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC"));
  auto log = must(open_log_at("postgres://silent@127.0.0.1:" + std::to_string(cluster_.port()) +
                              "/postgres?schema=" + schema()));
  must(log->append(Position{0}, "body"));
  must(log->append(Position{1}, "body"));
  EXPECT_EQ(read_all(*log).size(), 2U);
  must(cluster_.run_sql("GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO PUBLIC"));
}

}  // namespace
}  // namespace holdfast::postgres_test::postgres_store_test
