#include <fmt/format.h>

#include <variant>

#include "base/encoding.h"
#include "storage/log/postgres_store.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/store_harness.h"
#include "tests/support/test_log.h"

namespace holdfast {

namespace {

// Its own schema in the server of the test process. Damages it with SQL, as a person with psql
// would.
class PostgresHarness final : public StoreHarness {
 public:
  PostgresHarness() {
    static int count = 0;
    schema_ = "contract_" + std::to_string(count++);
    url_ = std::get<PostgresUrl>(must(parse_store_url(cluster_.url(schema_))));
  }

  Result<std::unique_ptr<Store>> open(OpenMode mode) override {
    return open_postgres_store(url_, mode, new_origin(test_uuid(1)));
  }

  void replace_body(Position position, const std::string& body) override {
    sql(fmt::format("UPDATE {}.batches SET body = decode('{}', 'hex') WHERE position = {}", schema_,
                    to_hex(as_bytes(body)), position.value));
  }
  void delete_row(Position position) override {
    sql(fmt::format("DELETE FROM {}.batches WHERE position = {}", schema_, position.value));
  }
  void swap_rows(Position left, Position right) override {
    const auto move = [&](std::int64_t from, std::int64_t to) {
      sql(fmt::format("UPDATE {}.batches SET position = {} WHERE position = {}", schema_, to,
                      from));
    };
    move(static_cast<std::int64_t>(left.value), -1);
    move(static_cast<std::int64_t>(right.value), static_cast<std::int64_t>(left.value));
    move(-1, static_cast<std::int64_t>(right.value));
  }
  void set_format(std::uint32_t format) override {
    sql(fmt::format("UPDATE {}.log_state SET format = {}", schema_, format));
  }

 private:
  void sql(const std::string& statement) { must(cluster_.run_sql(statement)); }

  PostgresCluster& cluster_ = PostgresCluster::shared();
  std::string schema_;
  PostgresUrl url_;
};

}  // namespace

std::unique_ptr<StoreHarness> make_postgres_harness() {
  return std::make_unique<PostgresHarness>();
}

}  // namespace holdfast
