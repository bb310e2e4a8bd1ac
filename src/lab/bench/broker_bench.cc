// The benchmark of a broker: its cases, and the services that they share.
#include <fmt/format.h>

#include <array>

#include "apps/broker/broker_host.h"
#include "lab/bench/bench_cases.h"
#include "lab/bench/broker_run.h"
#include "storage/postgres/postgres_writer.h"

namespace holdfast {

namespace {

constexpr std::array<BenchCase<BrokerRun>, 7> kBrokerCases{{
    {"accept", "groups of messages against multi-row inserts", bench_accept_groups},
    {"http", "messages over HTTP", bench_wire_accepts},
    {"peers", "messages over HTTP beside Redis and a PostgreSQL table", bench_peers},
    {"queue", "messages of a queue beside Redis streams and a PostgreSQL table", bench_queues},
    {"nats", "messages over HTTP beside NATS JetStream", bench_nats},
    {"duplicate", "duplicates", bench_duplicates},
    {"dedupe_lookup", "dedupe lookups with many rows", bench_dedupe_lookups},
}};

std::string postgres_place(const PeerServer& server, std::string_view schema) {
  return fmt::format("postgres@127.0.0.1:{}/postgres?schema={}", server.port, schema);
}

}  // namespace

std::string_view store_name(BrokerStoreKind kind) {
  return kind == BrokerStoreKind::sqlite ? "sqlite" : "postgres";
}

Result<std::string> BrokerRun::url(BrokerStoreKind kind, std::string_view name) {
  if (kind == BrokerStoreKind::sqlite) {
    return fmt::format("sqlite:{}/{}.db", folder.path(), name);
  }
  if (postgres.process == nullptr) {
    note("starting PostgreSQL");
    HOLDFAST_TRY(postgres, start_postgres(folder.path()));
  }
  return "postgres://" + postgres_place(postgres, name);
}

Result<std::uint16_t> BrokerRun::redis_port() {
  if (redis.process == nullptr) {
    HOLDFAST_TRY(redis, start_redis(folder.path()));
  }
  return redis.port;
}

Result<std::unique_ptr<delivery::BrokerStore>> BrokerRun::open(BrokerStoreKind kind,
                                                               std::string_view name) {
  HOLDFAST_TRY(const std::string store, url(kind, name));
  return delivery::open_broker_store(store);
}

Result<std::unique_ptr<PgConnection>> BrokerRun::connect(std::string_view name) {
  HOLDFAST_CHECK(url(BrokerStoreKind::postgres, name));
  HOLDFAST_TRY(const PostgresUrl parsed, parse_postgres_url(postgres_place(postgres, name)));
  HOLDFAST_TRY(auto connection, PgConnection::connect(parsed, PgSession::write));
  HOLDFAST_CHECK(prepare_postgres_writer(*connection, parsed));
  return connection;
}

Result<std::string> run_broker_bench(const BenchmarkOptions& options, BenchContext& context) {
  HOLDFAST_TRY(BenchFolder folder, BenchFolder::create());
  BrokerRun run{options, context, std::move(folder)};
  HOLDFAST_CHECK(run_cases(kBrokerCases, options.only, run));
  return std::string();
}

}  // namespace holdfast
