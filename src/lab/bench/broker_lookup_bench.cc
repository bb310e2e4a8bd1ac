// How long the lookup of a dedupe row takes with many rows, against few.
#include <fmt/format.h>

#include "delivery/broker/broker_lookup.h"
#include "holdfast/assert.h"
#include "lab/bench/bench_run.h"
#include "lab/bench/broker_run.h"
#include "lab/bench/broker_sample.h"
#include "storage/sqlite/sqlite_db.h"

namespace holdfast {

namespace {

constexpr std::uint64_t kFewRows = 10'000;
constexpr std::uint64_t kManyRows = 10'000'000;
constexpr std::uint64_t kQuickRows = 50'000;
constexpr std::uint64_t kRowsInStatement = 500'000;
constexpr std::uint64_t kLookups = 5'000;  // in a slice
constexpr int kLookupSlices = 9;

std::string client_id(std::uint64_t number) { return fmt::format("{:026}", number); }

// Rows as the accepts of one sender leave them, with the numbers first to last.
std::string insert_sql(BrokerStoreKind kind, const BrokerSample& sample, std::uint64_t first,
                       std::uint64_t last) {
  const bool sqlite = kind == BrokerStoreKind::sqlite;
  const std::string numbers =
      sqlite ? fmt::format(
                   "WITH RECURSIVE n(i) AS (SELECT {} UNION ALL SELECT i + 1 FROM n WHERE "
                   "i < {}) ",
                   first, last)
             : std::string();
  const std::string id = sqlite ? "printf('%026d', i)" : "lpad(i::text, 26, '0')";
  return fmt::format(
      "{0}INSERT INTO client_message_dedupe(mesh_id, sender_member_id, client_message_id, "
      "broker_message_id, history_id, request_fingerprint, destination_kind, destination_ref, "
      "first_seen_at, expires_at, history_available) SELECT '{1}', '{2}', {3}, {3}, {3}, {4}, "
      "'topic', 'fan-out-1', 1700000000000, 1800000000000, 1 FROM {5}",
      numbers, sample.mesh_id(), sample.sender_id(), id,
      sqlite ? "zeroblob(32)" : "decode(repeat('00', 32), 'hex')",
      sqlite ? std::string("n") : fmt::format("generate_series({}::bigint, {}) AS i", first, last));
}

// Without a journal, syncs and checks of references: a benchmark that is killed starts again.
Result<void> fill(BrokerRun& run, BrokerStoreKind kind, const std::string& name,
                  const BrokerSample& sample, std::uint64_t rows) {
  std::unique_ptr<SqliteDb> file;
  std::unique_ptr<PgConnection> connection;
  if (kind == BrokerStoreKind::sqlite) {
    const std::string path = fmt::format("{}/{}.db", run.folder.path(), name);
    HOLDFAST_TRY(
        file, SqliteDb::open(path, SqliteAccess::read_write, "", std::chrono::milliseconds(5000)));
    HOLDFAST_CHECK(
        file->exec("PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; "
                   "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000"));
  } else {
    HOLDFAST_TRY(connection, run.connect(name));
    HOLDFAST_CHECK(connection->run(fmt::format(
        "SET session_replication_role = replica; SET synchronous_commit = off; SET search_path = "
        "\"{}\"",
        name)));
  }
  for (std::uint64_t first = 1; first <= rows; first += kRowsInStatement) {
    const std::uint64_t last = std::min(first + kRowsInStatement - 1, rows);
    run.note(fmt::format("{} of {} dedupe rows, {}", last, rows, store_name(kind)));
    const std::string sql = insert_sql(kind, sample, first, last);
    HOLDFAST_CHECK(file != nullptr ? file->exec(sql.c_str()) : connection->run(sql));
  }
  return connection == nullptr ? Result<void>()
                               : connection->run("VACUUM ANALYZE client_message_dedupe");
}

struct Filled {
  std::uint64_t rows;
  std::unique_ptr<delivery::BrokerStore> store = {};
  std::vector<double> us = {};  // per lookup, by slice

  Result<void> open(BrokerRun& run, BrokerStoreKind kind) {
    const std::string name = fmt::format("rows_{}", rows);
    BrokerSample sample(run.context.clock, run.context.random);
    {
      HOLDFAST_TRY(const auto empty, run.open(kind, name));
      HOLDFAST_CHECK(sample.populate(*empty));
    }
    HOLDFAST_CHECK(fill(run, kind, name, sample, rows));
    HOLDFAST_TRY(store, run.open(kind, name));
    return {};
  }

  // One at a time, as a broker does for one client.
  Result<void> measure(Random& random, std::uint64_t lookups) {
    delivery::LookupKey key{std::string(kBenchMesh), sha256(kBenchToken), {}};
    const Stopwatch watch;
    for (std::uint64_t i = 0; i < lookups; ++i) {
      key.client_message_id = client_id(1 + random.below(rows));
      HOLDFAST_CHECK(store->read_once([&](delivery::SqlSession& session) -> Result<void> {
        HOLDFAST_TRY(const auto found, look_up(session, std::span(&key, 1)));
        HOLDFAST_ASSERT(found.front().dedupe.has_value());
        return {};
      }));
    }
    us.push_back(watch.seconds() * 1e6 / static_cast<double>(lookups));
    return {};
  }
};

}  // namespace

Result<void> bench_dedupe_lookups(BrokerRun& run) {
  const std::uint64_t wanted = run.options.entries;
  const std::uint64_t many_rows = wanted != 0 ? wanted : run.quick() ? kQuickRows : kManyRows;
  const std::uint64_t lookups = run.quick() ? 200 : kLookups;
  for (const BrokerStoreKind kind : kBrokerStoreKinds) {
    Filled few{kFewRows};
    Filled many{many_rows};
    HOLDFAST_CHECK(few.open(run, kind));
    HOLDFAST_CHECK(many.open(run, kind));
    for (int slice = -1; slice < (run.quick() ? 2 : kLookupSlices); ++slice) {
      HOLDFAST_CHECK(few.measure(run.context.random, lookups));
      HOLDFAST_CHECK(many.measure(run.context.random, lookups));
      if (slice < 0) {  // the first reads what is not in memory yet
        few.us.clear();
        many.us.clear();
      }
    }
    run.add(fmt::format("{}_lookup_with_{}_rows", store_name(kind), many_rows), median(many.us),
            "us", median(few.us));
  }
  return {};
}

}  // namespace holdfast
