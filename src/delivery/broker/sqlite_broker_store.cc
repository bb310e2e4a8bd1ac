#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <mutex>

#include "base/owned_fd.h"
#include "base/text.h"
#include "delivery/broker/broker_schema.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/sqlite_accept.h"
#include "delivery/broker/sqlite_broker_file.h"
#include "storage/sqlite/sqlite_db.h"
#include "storage/sqlite/sqlite_path.h"

namespace holdfast::delivery {

namespace {

// A page that many commits change is moved once per checkpoint, so a long log is cheaper.
constexpr int kWalPages = 4000;
// Pages are kept in memory, 32 MB of them. A group that changes more pages than fit writes them to
// the log before the commit, and some of them again at the commit; and the statements of a group
// write temporary files.
constexpr const char* kWriterSettings =
    "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -32768; "
    "PRAGMA temp_store = MEMORY";

// A connection that only reads.
class Reader {
 public:
  static Result<Reader> open(const std::string& path, std::chrono::milliseconds busy_timeout) {
    HOLDFAST_TRY(auto db, SqliteDb::open(path, SqliteAccess::read_write, "", busy_timeout));
    HOLDFAST_CHECK(db->exec("PRAGMA query_only = ON"));
    return Reader(std::move(db));
  }

  Result<void> run(const BrokerStore::Work& work) {
    HOLDFAST_CHECK(db_->exec("BEGIN"));
    auto done = work(*session_);
    static_cast<void>(db_->exec("ROLLBACK"));
    return done;
  }

 private:
  explicit Reader(std::unique_ptr<SqliteDb> db)
      : db_(std::move(db)), session_(make_sqlite_session(*db_)) {}

  std::unique_ptr<SqliteDb> db_;
  std::unique_ptr<SqlSession> session_;
};

class SqliteBrokerStore final : public BrokerStore {
 public:
  SqliteBrokerStore(OwnedFd lock, std::unique_ptr<SqliteDb> writer,
                    std::unique_ptr<SqliteAccept> accept, Reader reader, Reader scanner,
                    const BrokerStoreOptions& options)
      : BrokerStore(options.fault),
        lock_(std::move(lock)),
        writer_(std::move(writer)),
        accept_(std::move(accept)),
        write_session_(make_sqlite_session(*writer_)),
        reader_(std::move(reader)),
        scanner_(std::move(scanner)) {}

  std::vector<Result<AcceptOutcome>> accept(std::span<const AcceptRow> group) override;

  Result<void> write(const Work& work) override {
    const std::lock_guard lock(write_mutex_);
    HOLDFAST_CHECK(writer_->exec("BEGIN IMMEDIATE"));
    return finish(work(*write_session_));
  }

  Result<void> deliver(const Work& work) override { return write(work); }

  Result<void> read(const Work& work) override {
    const std::lock_guard lock(read_mutex_);
    return reader_.run(work);
  }

  Result<void> scan(const Work& work) override {
    const std::lock_guard lock(scan_mutex_);
    return scanner_.run(work);
  }

 private:
  Result<void> finish(Result<void> done);
  Result<std::vector<Result<AcceptOutcome>>> accept_group(std::span<const AcceptRow> group);

  OwnedFd lock_;
  std::unique_ptr<SqliteDb> writer_;
  std::unique_ptr<SqliteAccept> accept_;       // guarded by write_mutex_
  std::unique_ptr<SqlSession> write_session_;  // guarded by write_mutex_
  Reader reader_;                              // guarded by read_mutex_
  Reader scanner_;                             // guarded by scan_mutex_
  std::mutex write_mutex_;
  std::mutex read_mutex_;
  std::mutex scan_mutex_;
};

Result<void> SqliteBrokerStore::finish(Result<void> done) {
  if (done.ok()) {
    done = writer_->exec("COMMIT");
  }
  if (!done.ok()) {
    static_cast<void>(writer_->exec("ROLLBACK"));  // fails when SQLite has rolled back already
    return done;
  }
  // What is left in the WAL is durable; the next commit tries again.
  static_cast<void>(writer_->checkpoint_if_longer(kWalPages));
  return {};
}

// Savepoints cost as much as an insert, and hardly a message fails. After a failure the group is
// accepted once more, with savepoints.
Result<std::vector<Result<AcceptOutcome>>> SqliteBrokerStore::accept_group(
    std::span<const AcceptRow> group) {
  HOLDFAST_CHECK(writer_->exec("BEGIN IMMEDIATE"));
  auto together = accept_->together(group);
  if (together.ok()) {
    return std::vector<Result<AcceptOutcome>>(std::make_move_iterator(together.value().begin()),
                                              std::make_move_iterator(together.value().end()));
  }
  if (group.size() == 1) {
    return std::move(together).error();
  }
  static_cast<void>(writer_->exec("ROLLBACK"));  // fails when SQLite has rolled back already
  HOLDFAST_CHECK(writer_->exec("BEGIN IMMEDIATE"));
  return accept_->apart(group);
}

std::vector<Result<AcceptOutcome>> SqliteBrokerStore::accept(std::span<const AcceptRow> group) {
  const std::lock_guard lock(write_mutex_);
  auto outcomes = accept_group(group);
  auto done = outcomes.ok() ? reach(FaultPoint::before_commit) : Result<void>(outcomes.error());
  done = finish(std::move(done));
  if (done.ok()) {
    const auto committed = [](const Result<AcceptOutcome>& outcome) {
      return outcome.ok() && is_accepted(outcome.value());
    };
    if (std::ranges::any_of(outcomes.value(), committed)) {
      commits().notify();
    }
    done = reach(FaultPoint::after_commit);
  }
  return done.ok() ? std::move(outcomes).value()
                   : std::vector<Result<AcceptOutcome>>(group.size(), done.error());
}

// One broker process at a time: the limits of a workspace are counted in it.
Result<OwnedFd> lock_file(const std::string& path) {
  const std::string name = path + "-lock";
  OwnedFd file(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) {
    return file_error(name, errno);
  }
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::busy, path +
                                      " is in use by another broker; stop it, or use "
                                      "PostgreSQL for several brokers"};
  }
  return file;
}

Result<void> migrate(SqliteDb& db, const std::string& path) {
  HOLDFAST_CHECK(db.exec("BEGIN IMMEDIATE"));
  HOLDFAST_TRY(const std::string stored, db.query_text("PRAGMA user_version"));
  const std::uint64_t version = parse_decimal(stored).value_or(0);
  if (version > newest_broker_schema()) {
    return Error{ErrorCode::newer_format,
                 fmt::format("{} has broker tables of version {}; this program knows versions up "
                             "to {}: use a newer holdfast",
                             path, version, newest_broker_schema())};
  }
  if (version == newest_broker_schema()) {
    return db.exec("ROLLBACK");  // nothing is written to a store that is up to date
  }
  for (const Migration& migration : broker_migrations()) {
    if (migration.version > version) {
      HOLDFAST_CHECK(db.exec(migration_sql(migration, SqlDialect::sqlite, "").c_str()));
    }
  }
  HOLDFAST_CHECK(db.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT",
                                     kBrokerApplicationId, newest_broker_schema())
                             .c_str()));
  return {};
}

}  // namespace

Result<std::unique_ptr<BrokerStore>> open_sqlite_broker_store(const std::string& path,
                                                              const BrokerStoreOptions& options) {
  HOLDFAST_TRY(OwnedFd lock, lock_file(path));
  HOLDFAST_TRY(const BrokerFileState state, check_broker_file(path));
  HOLDFAST_TRY(auto writer, SqliteDb::open(path, SqliteAccess::create, "", options.busy_timeout));
  if (state == BrokerFileState::empty) {
    // Before there is a write-ahead log: check_broker_file reads the file alone, also after a kill.
    HOLDFAST_CHECK(
        writer->exec(fmt::format("PRAGMA application_id = {}", kBrokerApplicationId).c_str()));
  }
  HOLDFAST_TRY(const std::string mode, writer->query_text("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return Error{ErrorCode::io_error, "SQLite cannot use a write-ahead log on this file system"};
  }
  HOLDFAST_CHECK(writer->exec(kWriterSettings));
  HOLDFAST_CHECK(migrate(*writer, path));
  HOLDFAST_TRY(auto accept, SqliteAccept::prepare(*writer, options.fault));
  HOLDFAST_TRY(auto reader, Reader::open(path, options.busy_timeout));
  HOLDFAST_TRY(auto scanner, Reader::open(path, options.busy_timeout));
  return std::unique_ptr<BrokerStore>(
      std::make_unique<SqliteBrokerStore>(std::move(lock), std::move(writer), std::move(accept),
                                          std::move(reader), std::move(scanner), options));
}

}  // namespace holdfast::delivery
