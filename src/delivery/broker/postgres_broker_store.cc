#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>

#include "base/retry_pause.h"
#include "delivery/broker/accept_facts.h"
#include "delivery/broker/broker_schema.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/postgres_accept.h"
#include "storage/postgres/postgres_client.h"
#include "storage/postgres/postgres_writer.h"

namespace holdfast::delivery {

namespace {

constexpr int kAttempts = 5;  // at a group that met a deadlock
constexpr std::string_view kSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

// Every statement of an accept finds its rows by keys. PostgreSQL plans a statement once, perhaps
// while its table is still empty, and would then read the whole table for each message until the
// statistics are collected again.
constexpr std::string_view kByKeys =
    "; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "
    "SET enable_material = off; SET plan_cache_mode = force_generic_plan";

std::string prefix_of(const PostgresUrl& url) { return "\"" + url.schema + "\"."; }

// A connection that is made again after it was lost. Guarded by its mutex.
struct Link {
  std::mutex mutex;
  SystemRandom random;
  RetryPause pause{random, std::chrono::milliseconds(50), std::chrono::milliseconds(1000)};
  std::chrono::steady_clock::time_point pause_until = {};  // after a failed attempt
  std::unique_ptr<PgConnection> connection;
  std::unique_ptr<SqlSession> session;
  bool by_keys = false;  // its statements are planned for single rows
};

class PostgresBrokerStore final : public BrokerStore {
 public:
  PostgresBrokerStore(PostgresUrl url, BrokerStoreOptions options)
      : BrokerStore(options.fault),
        url_(std::move(url)),
        options_(std::move(options)),
        accept_(prefix_of(url_), options_.fault) {
    writer_.by_keys = true;
    finder_.by_keys = true;
    consumer_.by_keys = true;
  }

  Result<void> open();
  std::vector<Result<AcceptOutcome>> accept(std::span<const AcceptRow> group) override;
  Result<void> write(const Work& work) override { return transact(writer_, "BEGIN", work); }
  Result<void> deliver(const Work& work) override { return transact(deliverer_, "BEGIN", work); }
  Result<void> consume(const Work& work) override { return transact(consumer_, "BEGIN", work); }
  Result<void> read(const Work& work) override { return transact(reader_, kSnapshot, work); }
  Result<void> scan(const Work& work) override { return transact(scanner_, kSnapshot, work); }
  Result<void> read_once(const Work& work) override {
    const std::lock_guard lock(finder_.mutex);
    return on_live(finder_, [&] { return work(*finder_.session); });
  }

 private:
  Result<void> connect(Link& link);
  Result<void> on_live(Link& link, const std::function<Result<void>()>& step);
  Result<void> migrate();
  Result<void> transact(Link& link, std::string_view begin, const Work& work);
  Result<std::vector<AcceptOutcome>> accept_group(std::span<const AcceptRow> group);

  const PostgresUrl url_;
  const BrokerStoreOptions options_;
  const PostgresAccept accept_;
  Link writer_;
  Link deliverer_;
  Link consumer_;
  Link reader_;
  Link scanner_;
  Link finder_;  // of single queries
};

// Lock and statement times end below the timeouts of clients, so that retries do not pile up. A
// broker that stops inside a transaction loses it, and so its locks. Scans take as long as they do.
Result<void> PostgresBrokerStore::connect(Link& link) {
  if (link.session != nullptr && !link.connection->lost()) {
    return {};
  }
  if (std::chrono::steady_clock::now() < link.pause_until) {
    return Error{ErrorCode::unavailable, url_.shown + " could not be reached a moment ago"};
  }
  link.session.reset();
  link.connection.reset();
  link.pause_until = std::chrono::steady_clock::now() + link.pause.next();
  HOLDFAST_TRY(link.connection, PgConnection::connect(url_, PgSession::write));
  HOLDFAST_CHECK(prepare_postgres_writer(*link.connection, url_));
  if (&link != &scanner_) {
    HOLDFAST_CHECK(link.connection->run(
        fmt::format("SET lock_timeout = {0}; SET statement_timeout = {1}; "
                    "SET idle_in_transaction_session_timeout = {1}{2}",
                    options_.busy_timeout.count(), 2 * options_.busy_timeout.count(),
                    link.by_keys ? kByKeys : "")));
  }
  link.session = make_postgres_session(*link.connection, prefix_of(url_));
  link.pause_until = {};
  link.pause.reset();
  return {};
}

// A step that may be repeated: a connection that was lost while it was idle is noticed only now.
Result<void> PostgresBrokerStore::on_live(Link& link, const std::function<Result<void>()>& step) {
  HOLDFAST_CHECK(connect(link));
  auto done = step();
  if (done.ok() || !link.connection->lost()) {
    return done;
  }
  HOLDFAST_CHECK(connect(link));
  return step();
}

Result<void> PostgresBrokerStore::open() {
  HOLDFAST_CHECK(connect(writer_));
  HOLDFAST_CHECK(migrate());
  return connect(reader_);
}

// Brokers that start together take turns: the lock is held to the end of the transaction.
Result<void> PostgresBrokerStore::migrate() {
  PgConnection& connection = *writer_.connection;
  const std::string s = prefix_of(url_);
  const auto steps = [&]() -> Result<void> {
    HOLDFAST_CHECK(connection.run(
        fmt::format("BEGIN; SELECT pg_advisory_xact_lock(hashtext('{}')); "
                    "CREATE SCHEMA IF NOT EXISTS \"{}\"; "
                    "CREATE TABLE IF NOT EXISTS {}broker_schema("
                    "only_row bigint PRIMARY KEY CHECK (only_row = 1), version bigint NOT NULL); "
                    "INSERT INTO {}broker_schema VALUES (1, 0) ON CONFLICT DO NOTHING",
                    url_.schema, url_.schema, s, s)));
    HOLDFAST_TRY(const PgRows stored,
                 connection.query({"", fmt::format("SELECT version FROM {}broker_schema", s)}));
    HOLDFAST_ASSERT(stored.size() == 1);
    if (stored.number(0, 0) > newest_broker_schema()) {
      return Error{ErrorCode::newer_format,
                   fmt::format("{} has broker tables of version {}; this program knows versions "
                               "up to {}: use a newer holdfast",
                               url_.shown, stored.number(0, 0), newest_broker_schema())};
    }
    for (const Migration& migration : broker_migrations()) {
      if (migration.version > stored.number(0, 0)) {
        HOLDFAST_CHECK(connection.run(migration_sql(migration, SqlDialect::postgres, s)));
      }
    }
    return connection.run(
        fmt::format("UPDATE {}broker_schema SET version = {}; COMMIT", s, newest_broker_schema()));
  };
  auto done = steps();
  if (!done.ok() && !connection.lost()) {
    static_cast<void>(connection.roll_back());
  }
  return done;
}

Result<void> PostgresBrokerStore::transact(Link& link, std::string_view begin, const Work& work) {
  const std::lock_guard lock(link.mutex);
  for (int attempt = 1;; ++attempt) {
    HOLDFAST_CHECK(on_live(link, [&] { return link.session->run(begin); }));
    auto done = work(*link.session);
    if (done.ok()) {
      done = link.session->run("COMMIT");
    }
    if (done.ok()) {
      return {};
    }
    if (!link.connection->lost()) {
      static_cast<void>(link.connection->roll_back());
    }
    const std::string_view state = done.error().field("sqlstate");
    if ((state != "40P01" && state != "40001") || attempt == kAttempts) {
      return done;
    }
  }
}

Result<std::vector<AcceptOutcome>> PostgresBrokerStore::accept_group(
    std::span<const AcceptRow> group) {
  for (int attempt = 1;; ++attempt) {
    HOLDFAST_CHECK(connect(writer_));
    auto outcomes = accept_.run(*writer_.connection, group);
    if (outcomes.ok()) {
      if (std::ranges::any_of(outcomes.value(), is_accepted)) {
        commits().notify();
      }
      return outcomes;
    }
    if (!writer_.connection->lost()) {
      HOLDFAST_CHECK(writer_.connection->roll_back());
    }
    if (outcomes.error().code() != ErrorCode::conflict || attempt == kAttempts) {
      return outcomes;
    }
  }
}

// A statement over a set fails as a whole. So that one message does not fail its neighbours, each
// is then tried alone. A lost connection is not the fault of a message, and the outcome is unknown;
// neither is a lock that was not released in time, for which each of them would wait again.
std::vector<Result<AcceptOutcome>> PostgresBrokerStore::accept(std::span<const AcceptRow> group) {
  const std::lock_guard lock(writer_.mutex);
  auto all = accept_group(group);
  std::vector<Result<AcceptOutcome>> outcomes;
  if (all.ok()) {
    for (AcceptOutcome& outcome : all.value()) {
      outcomes.emplace_back(std::move(outcome));
    }
    return outcomes;
  }
  const bool lost = writer_.connection == nullptr || writer_.connection->lost();
  if (lost || all.error().code() == ErrorCode::busy || group.size() == 1) {
    outcomes.assign(group.size(), all.error());
    return outcomes;
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    auto alone = accept_group(group.subspan(i, 1));
    if (alone.ok()) {
      outcomes.emplace_back(std::move(alone.value().front()));
    } else {
      outcomes.emplace_back(std::move(alone).error());
    }
  }
  return outcomes;
}

}  // namespace

Result<std::unique_ptr<BrokerStore>> open_postgres_broker_store(const PostgresUrl& url,
                                                                const BrokerStoreOptions& options) {
  auto store = std::make_unique<PostgresBrokerStore>(url, options);
  HOLDFAST_CHECK(store->open());
  return std::unique_ptr<BrokerStore>(std::move(store));
}

}  // namespace holdfast::delivery
