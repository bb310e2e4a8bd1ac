#include "delivery/broker/sqlite_broker_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <mutex>

#include "base/text.h"
#include "delivery/broker/broker_schema.h"
#include "storage/sqlite/sqlite_db.h"
#include "storage/sqlite/sqlite_header.h"

namespace holdfast::delivery {

namespace {

constexpr std::chrono::milliseconds kSnapshotBusyTime{5000};

Error only_for_reading() {
  return Error{ErrorCode::read_only, "the store was opened for reading only"};
}

class SqliteBrokerSnapshot final : public BrokerStore {
 public:
  explicit SqliteBrokerSnapshot(std::unique_ptr<SqliteDb> db)
      : db_(std::move(db)), session_(make_sqlite_session(*db_)) {}

  std::vector<Result<AcceptOutcome>> accept(std::span<const AcceptRow> group) override {
    return std::vector<Result<AcceptOutcome>>(group.size(), only_for_reading());
  }
  Result<void> write(const Work& /*work*/) override { return only_for_reading(); }
  Result<void> deliver(const Work& /*work*/) override { return only_for_reading(); }
  Result<void> read(const Work& work) override {
    const std::lock_guard lock(mutex_);
    HOLDFAST_CHECK(db_->exec("BEGIN"));
    auto done = work(*session_);
    static_cast<void>(db_->exec("ROLLBACK"));
    return done;
  }
  Result<void> scan(const Work& work) override { return read(work); }

 private:
  std::mutex mutex_;
  std::unique_ptr<SqliteDb> db_;
  std::unique_ptr<SqlSession> session_;  // guarded by mutex_
};

}  // namespace

Result<BrokerFileState> check_broker_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || status.st_size == 0) {
    return BrokerFileState::empty;
  }
  HOLDFAST_TRY(const SqliteHeader header,
               SqliteHeader::read(path, static_cast<std::uint64_t>(status.st_size)));
  if (!header.is_database() || header.application_id() != kBrokerApplicationId) {
    return Error{ErrorCode::not_a_journal, path + " is not a file of a Holdfast broker"};
  }
  return BrokerFileState::broker;
}

Result<std::unique_ptr<BrokerStore>> open_sqlite_broker_snapshot(const std::string& path) {
  HOLDFAST_TRY(const BrokerFileState state, check_broker_file(path));
  if (state == BrokerFileState::empty) {
    return Error{ErrorCode::not_found, path + " does not exist or is empty"};
  }
  HOLDFAST_TRY(auto db, SqliteDb::open(path, SqliteAccess::read_write, "", kSnapshotBusyTime));
  HOLDFAST_CHECK(db->exec("PRAGMA query_only = ON"));
  HOLDFAST_TRY(const std::string stored, db->query_text("PRAGMA user_version"));
  const std::uint64_t version = parse_decimal(stored).value_or(0);
  if (version > newest_broker_schema()) {
    return Error{ErrorCode::newer_format,
                 fmt::format("{} has broker tables of version {}; this program knows versions up "
                             "to {}: use a newer holdfast",
                             path, version, newest_broker_schema())};
  }
  if (version < newest_broker_schema()) {
    return Error{
        ErrorCode::conflict,
        fmt::format("{} has broker tables of version {}, and this program uses {}: `holdfast "
                    "broker check` on the store brings them up to date",
                    path, version, newest_broker_schema())};
  }
  return std::unique_ptr<BrokerStore>(std::make_unique<SqliteBrokerSnapshot>(std::move(db)));
}

}  // namespace holdfast::delivery
