// The log contract, run against every store of this project, and the additional guarantees of these
// stores: open modes, formats, and detection of damage.
#include <gtest/gtest.h>

#include "tests/support/store_contract.h"
#include "tests/support/store_harness.h"
#include "tests/support/test_log.h"

namespace holdfast::log_contract_test {
namespace {

[[maybe_unused]] const bool kAdded =
    add_store_contract("Memory", LogLifetime::process, &make_memory_harness) &&
    add_store_contract("Sqlite", LogLifetime::durable, &make_sqlite_harness) &&
    add_store_contract("Postgres", LogLifetime::durable, &make_postgres_harness);

using HarnessMaker = std::unique_ptr<StoreHarness> (*)();

class StoreContract : public testing::TestWithParam<HarnessMaker> {
 protected:
  std::unique_ptr<Log> open(OpenMode mode = OpenMode::create) {
    return must(Log::open(must(harness_->open(mode))));
  }

  void append_some(Log& log, int count) {
    for (int i = 0; i < count; ++i) {
      const Position at = log.head().position;
      must(log.append(at, "[" + std::to_string(at.value + 1) + "]"));
    }
  }

  // Reads all intact batches and returns the error that ended the read.
  Error read_until_damage(Log& log, std::size_t& good) {
    auto reader = log.read(Position{1});
    good = 0;
    while (reader.ok()) {
      auto batches = reader.value().next();
      if (!batches.ok()) {
        const auto again = reader.value().next();
        EXPECT_FALSE(again.ok()) << "a reader must return nothing after damage";
        return std::move(batches).error();
      }
      if (batches.value().empty()) {
        return Error{ErrorCode::invalid_argument, "no damage was found"};
      }
      good += batches.value().size();
    }
    return std::move(reader).error();
  }

  std::unique_ptr<StoreHarness> harness_ = GetParam()();
};

TEST_P(StoreContract, reading_does_not_create_a_missing_log) {
  EXPECT_EQ(code_of(harness_->open(OpenMode::read)), "not_found");
  EXPECT_EQ(code_of(harness_->open(OpenMode::write)), "not_found");
  EXPECT_EQ(code_of(harness_->open(OpenMode::read)), "not_found");
}

TEST_P(StoreContract, a_log_opened_for_reading_refuses_writes) {
  append_some(*open(), 2);
  const auto log = open(OpenMode::read);
  EXPECT_EQ(code_of(log->append(Position{2}, "[3]")), "read_only");
  EXPECT_EQ(code_of(log->trim(Position{2})), "read_only");
  EXPECT_EQ(bodies_from(*log, Position{1}).size(), 2U);
}

TEST_P(StoreContract, a_newer_format_is_refused) {
  append_some(*open(), 1);
  harness_->set_format(kLogFormat + 1);
  for (const OpenMode mode : {OpenMode::create, OpenMode::write, OpenMode::read}) {
    EXPECT_EQ(code_of(harness_->open(mode)), "newer_format");
  }
}

TEST_P(StoreContract, a_changed_byte_is_detected_at_its_position) {
  append_some(*open(), 5);
  harness_->replace_body(Position{3}, "[4]");
  const auto log = open(OpenMode::read);
  std::size_t good = 0;
  const Error error = read_until_damage(*log, good);
  EXPECT_EQ(good, 2U);
  EXPECT_EQ(error_info(error.code()).name, "corrupt_log");
  EXPECT_EQ(error.field("position"), "3");
  EXPECT_EQ(error.field("reason"), "body_hash_mismatch");
}

TEST_P(StoreContract, a_missing_row_is_detected_at_its_position) {
  for (const std::uint64_t missing : {1U, 3U, 5U}) {
    SCOPED_TRACE(missing);
    harness_ = GetParam()();
    append_some(*open(), 5);
    harness_->delete_row(Position{missing});
    std::size_t good = 0;
    const auto log = open(OpenMode::read);
    const Error error = read_until_damage(*log, good);
    EXPECT_EQ(good, missing - 1);
    EXPECT_EQ(error.field("position"), std::to_string(missing));
    EXPECT_EQ(error.field("reason"), "missing_batch");
  }
}

TEST_P(StoreContract, swapped_rows_are_detected_at_their_position) {
  append_some(*open(), 5);
  harness_->swap_rows(Position{2}, Position{4});
  std::size_t good = 0;
  const auto log = open(OpenMode::read);
  const Error error = read_until_damage(*log, good);
  EXPECT_EQ(good, 1U);
  EXPECT_EQ(error.field("position"), "2");
  EXPECT_EQ(error.field("reason"), "chain_mismatch");
}

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(&make_memory_harness));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, testing::Values(&make_sqlite_harness));
INSTANTIATE_TEST_SUITE_P(Postgres, StoreContract, testing::Values(&make_postgres_harness));

}  // namespace
}  // namespace holdfast::log_contract_test
