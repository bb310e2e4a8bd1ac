// What the tests of the PostgreSQL store share: a server, and a schema for each test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "storage/log/hash_chain.h"
#include "storage/log/log.h"
#include "storage/log/postgres_store.h"
#include "tests/support/postgres_cluster.h"
#include "tests/support/test_log.h"

namespace holdfast::postgres_test {

inline StoreOrigin new_origin() {
  SystemRandom random;
  const Uuid id = make_uuid(TimeMs{1'700'000'000'000}, random);
  return StoreOrigin{id, Position{1}, genesis_chain(id)};
}

inline Result<std::unique_ptr<Store>> open_store_at(const std::string& url,
                                                    OpenMode mode = OpenMode::create) {
  HOLDFAST_TRY(const StoreUrl parsed, parse_store_url(url));
  return open_postgres_store(std::get<PostgresUrl>(parsed), mode, new_origin());
}

inline Result<std::unique_ptr<Log>> open_log_at(const std::string& url,
                                                OpenMode mode = OpenMode::create) {
  HOLDFAST_TRY(auto store, open_store_at(url, mode));
  return Log::open(std::move(store));
}

inline std::string random_text(SeededRandom& random, std::size_t size) {
  std::string text(size, '\0');
  random.fill(std::as_writable_bytes(std::span(text)));
  return text;
}

// Every batch of the log from the beginning, verified.
inline std::vector<Batch> read_all(Log& log) {
  std::vector<Batch> all;
  auto reader = must(log.read(Position{1}));
  while (true) {
    auto some = must(reader.next());
    if (some.empty()) {
      return all;
    }
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
}

class PostgresTest : public ::testing::Test {
 protected:
  // The last test may have left the server in any state.
  void SetUp() override {
    cluster_.set_settings({});
    must(cluster_.start());
  }

  std::string schema() const {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    return "t_" + name.substr(0, 50);
  }
  std::string url() const { return cluster_.url(schema()); }
  std::string relations(const std::string& of) const {
    return must(cluster_.run_sql(
        "SELECT string_agg(relname || relkind::text || relfilenode::text, ',' ORDER BY relname) "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = '" +
        of + "'"));
  }

  PostgresCluster& cluster_ = PostgresCluster::shared();
};

}  // namespace holdfast::postgres_test
