#include "lab/bench/postgres_probe.h"

#include <fmt/format.h>

#include <string>

#include "lab/bench/bench_run.h"
#include "storage/postgres/postgres_client.h"
#include "storage/postgres/postgres_writer.h"

namespace holdfast {

namespace {

constexpr std::size_t kRowBytes = 250;

Result<double> time_inserts(PgConnection& connection, const std::string& table,
                            std::uint64_t count) {
  const PgStatement insert{"holdfast_probe_insert",
                           fmt::format("INSERT INTO {} VALUES ($1::bigint, $2::bytea)", table)};
  const std::string body(kRowBytes, 'x');
  const auto insert_row = [&](std::uint64_t number) -> Result<void> {
    PgParams params;
    params.number(number).bytes(body);
    HOLDFAST_CHECK(connection.query(insert, params));
    return {};
  };
  HOLDFAST_CHECK(insert_row(0));  // prepares the statement
  const Stopwatch watch;
  for (std::uint64_t number = 1; number <= count; ++number) {
    HOLDFAST_CHECK(insert_row(number));
  }
  return watch.rate(count);
}

}  // namespace

Result<double> postgres_single_row_inserts_per_second(const PostgresUrl& url, std::uint64_t count) {
  HOLDFAST_TRY(const auto connection, PgConnection::connect(url, PgSession::write));
  HOLDFAST_CHECK(prepare_postgres_writer(*connection, url));
  const std::string table = fmt::format("\"{}\".holdfast_insert_probe", url.schema);
  HOLDFAST_CHECK(connection->run(
      fmt::format("CREATE TABLE {} (position bigint PRIMARY KEY, body bytea NOT NULL)", table)));
  auto rate = time_inserts(*connection, table, count);
  auto dropped = connection->run(fmt::format("DROP TABLE {}", table));
  if (rate.ok() && !dropped.ok()) {
    return std::move(dropped).error();
  }
  return rate;
}

}  // namespace holdfast
