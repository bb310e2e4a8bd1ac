#include "storage/log/sqlite_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>

#include "base/encoding.h"
#include "storage/log/side_range.h"
#include "storage/log/sqlite_log_file.h"
#include "storage/sqlite/sqlite_db.h"
#include "storage/sqlite/sqlite_path.h"
#include "storage/sqlite/sqlite_watch.h"

namespace holdfast {

namespace {

Position position_column(const SqliteStatement& statement, int index) {
  return Position{static_cast<std::uint64_t>(statement.column_integer(index))};
}

std::int64_t integer(Position position) { return static_cast<std::int64_t>(position.value); }

Error corrupt(std::string_view what) {
  return Error{ErrorCode::corrupt_log, std::string(what)}.with("reason", "damaged_row");
}
// The index refers to the wrong row.
Error damaged_side(std::string_view key) {
  return corrupt(fmt::format("the index of the side table does not fit its row '{}'", key));
}

// The statements of the writing connection.
struct Writer {
  std::unique_ptr<SqliteDb> db;
  SqliteStatement begin;
  SqliteStatement commit;
  SqliteStatement rollback;
  SqliteStatement move_head;
  SqliteStatement insert;
  SqliteStatement move_start;
  SqliteStatement drop_batches;
  SqliteStatement put;
  SqliteStatement erase;

  static Result<Writer> create(std::unique_ptr<SqliteDb> db) {
    // FULL syncs the WAL at every commit. A WAL of 4 MB is overwritten in place again and
    // again, which costs less than growing a file (docs/adr/0001).
    HOLDFAST_CHECK(db->exec("PRAGMA synchronous = FULL"));
    HOLDFAST_TRY(auto begin, db->prepare("BEGIN IMMEDIATE"));
    HOLDFAST_TRY(auto commit, db->prepare("COMMIT"));
    HOLDFAST_TRY(auto rollback, db->prepare("ROLLBACK"));
    HOLDFAST_TRY(auto move_head, db->prepare("UPDATE log_state SET head = ?1, head_chain = ?2 "
                                             "WHERE only_row = 1 AND head = ?1 - 1"));
    HOLDFAST_TRY(auto insert, db->prepare("INSERT INTO batches(position, body, body_hash, chain) "
                                          "VALUES (?1, ?2, ?3, ?4)"));
    HOLDFAST_TRY(auto move_start,
                 db->prepare("UPDATE log_state SET start = ?2, anchor = ?3 WHERE only_row = 1 "
                             "AND start = ?1 AND head >= ?2"));
    HOLDFAST_TRY(auto drop_batches, db->prepare("DELETE FROM batches WHERE position < ?1"));
    HOLDFAST_TRY(auto put, db->prepare("INSERT INTO side VALUES (?1, ?2) "
                                       "ON CONFLICT (key) DO UPDATE SET value = excluded.value"));
    HOLDFAST_TRY(auto erase, db->prepare("DELETE FROM side WHERE key = ?1"));
    return Writer{std::move(db),         std::move(begin),        std::move(commit),
                  std::move(rollback),   std::move(move_head),    std::move(insert),
                  std::move(move_start), std::move(drop_batches), std::move(put),
                  std::move(erase)};
  }
};

// The statements of the reading connection.
struct Reader {
  std::unique_ptr<SqliteDb> db;
  SqliteStatement state;
  SqliteStatement rows;
  SqliteStatement chain;
  SqliteStatement get;
  SqliteStatement scan_up;
  SqliteStatement scan_down;

  static Result<Reader> create(std::unique_ptr<SqliteDb> db) {
    HOLDFAST_TRY(auto state,
                 db->prepare("SELECT log_id, start, anchor, head, head_chain FROM log_state"));
    HOLDFAST_TRY(auto rows, db->prepare("SELECT position, body, body_hash, chain FROM batches "
                                        "WHERE position >= ?1 ORDER BY position LIMIT ?2"));
    HOLDFAST_TRY(auto chain, db->prepare("SELECT chain FROM batches WHERE position = ?1"));
    HOLDFAST_TRY(auto get, db->prepare("SELECT value, key FROM side WHERE key = ?1"));
    // Both bounds as they stand, so that the index knows where to begin and where to end.
    HOLDFAST_TRY(auto scan_up, db->prepare("SELECT key, value FROM side WHERE key >= ?1 AND "
                                           "key < ?2 ORDER BY key ASC LIMIT ?3"));
    HOLDFAST_TRY(auto scan_down, db->prepare("SELECT key, value FROM side WHERE key >= ?1 AND "
                                             "key < ?2 ORDER BY key DESC LIMIT ?3"));
    return Reader{std::move(db),  std::move(state),   std::move(rows),     std::move(chain),
                  std::move(get), std::move(scan_up), std::move(scan_down)};
  }
};

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string path, std::optional<Writer> writer, Reader reader)
      : path_(std::move(path)), writer_(std::move(writer)), reader_(std::move(reader)) {}

  Result<StoreState> state() override;
  Result<void> append(const RowView& row) override { return append_many(std::span(&row, 1)); }
  Result<void> append_many(std::span<const RowView> rows) override;
  Result<std::vector<Row>> read(Position from, ReadLimit limit) override;
  Result<std::optional<Digest>> chain_at(Position position) override;
  Result<void> update(const SideUpdate& update) override;
  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys) override;
  Result<std::vector<SidePair>> scan(const SideScan& scan) override;
  Result<void> wait_for_change(Position known_head, std::chrono::milliseconds timeout) override;
  void interrupt_waits() override {
    interrupted_ = true;
    announce_sqlite_commit(path_);
  }
  Result<void> reclaim() override;
  Result<std::uint64_t> size_bytes() override;
  [[nodiscard]] std::string name() const override { return "sqlite:" + path_; }

 private:
  Result<void> check_writable() const;
  // Moves the WAL into the file if it is long. A failure fails no commit: what was committed is
  // durable in the WAL. The next write reports it, before it writes anything.
  void checkpoint();
  Result<void> check_checkpoint();
  // Runs the changes in one transaction; on any error nothing of it stays.
  template <typename Changes>
  Result<void> transaction(Changes changes);
  Result<void> append_row(const RowView& row);
  Result<void> apply_trim(const Trim& trim);

  std::string path_;
  std::mutex writer_mutex_;
  std::optional<Writer> writer_;
  std::optional<Error> checkpoint_failure_;
  std::mutex reader_mutex_;
  Reader reader_;
  std::mutex watch_mutex_;
  std::unique_ptr<SqliteFileWatch> watch_;
  std::atomic<bool> interrupted_ = false;
};

Result<void> SqliteStore::check_writable() const {
  if (!writer_.has_value()) {
    return Error{ErrorCode::read_only, path_ + " was opened for reading"};
  }
  return {};
}

Result<StoreState> SqliteStore::state() {
  const std::scoped_lock lock(reader_mutex_);
  SqliteStatement& statement = reader_.state;
  HOLDFAST_TRY(const bool found, statement.step());
  StoreState state{};
  const bool whole = found && copy_exactly(statement.column_bytes(0), state.log_id.bytes) &&
                     copy_exactly(statement.column_bytes(2), state.anchor) &&
                     copy_exactly(statement.column_bytes(4), state.head_chain);
  if (whole) {
    state.start = position_column(statement, 1);
    state.head = position_column(statement, 3);
  }
  statement.reset();
  if (!whole || state.start.value == 0 || state.head.value + 1 < state.start.value) {
    return corrupt("the state row of the log is damaged");
  }
  return state;
}

void SqliteStore::checkpoint() {
  constexpr int kWalPages = 512;  // 4 MB
  auto moved = writer_->db->checkpoint_if_longer(kWalPages);
  checkpoint_failure_.reset();
  if (!moved.ok()) {
    checkpoint_failure_ =
        std::move(moved).error().in("cannot move the write-ahead log into the file");
  }
}

// Space may have been freed since. Every other failure stays until the store is opened again.
Result<void> SqliteStore::check_checkpoint() {
  if (checkpoint_failure_.has_value() && checkpoint_failure_->code() == ErrorCode::disk_full) {
    checkpoint();
  }
  if (checkpoint_failure_.has_value()) {
    return *checkpoint_failure_;
  }
  return {};
}

template <typename Changes>
Result<void> SqliteStore::transaction(Changes changes) {
  HOLDFAST_CHECK(check_checkpoint());
  HOLDFAST_CHECK(writer_->begin.run());
  Result<void> done = changes();
  if (done.ok()) {
    done = writer_->commit.run();
  }
  if (!done.ok()) {
    // When the failure has ended the transaction already, there is nothing to roll back.
    [[maybe_unused]] const auto ignored = writer_->rollback.run();
    return done;
  }
  checkpoint();
  return {};
}

Result<void> SqliteStore::append_row(const RowView& row) {
  writer_->move_head.bind(1, integer(row.position)).bind_blob(2, as_text(row.chain));
  HOLDFAST_CHECK(writer_->move_head.run());
  if (writer_->db->changes() == 0) {
    return Error{ErrorCode::conflict,
                 fmt::format("another writer has appended batch {}", row.position.value)};
  }
  writer_->insert.bind(1, integer(row.position))
      .bind_text(2, row.body)
      .bind_blob(3, as_text(row.body_hash))
      .bind_blob(4, as_text(row.chain));
  return writer_->insert.run();
}

Result<void> SqliteStore::append_many(std::span<const RowView> rows) {
  HOLDFAST_CHECK(check_writable());
  const std::scoped_lock lock(writer_mutex_);
  HOLDFAST_CHECK(transaction([&]() -> Result<void> {
    for (const RowView& row : rows) {
      HOLDFAST_CHECK(append_row(row));
    }
    return {};
  }));
  announce_sqlite_commit(path_);
  return {};
}

Result<std::vector<Row>> SqliteStore::read(Position from, ReadLimit limit) {
  const std::scoped_lock lock(reader_mutex_);
  SqliteStatement& statement = reader_.rows;
  statement.bind(1, integer(from)).bind(2, static_cast<std::int64_t>(limit.max_rows));
  std::vector<Row> rows;
  std::size_t bytes = 0;
  while (bytes < limit.max_bytes) {
    HOLDFAST_TRY(const bool more, statement.step());
    if (!more) {
      break;
    }
    Row row{position_column(statement, 0), std::string(statement.column_bytes(1)), {}, {}};
    // A hash of the wrong size stays all zero and is found as a mismatch above.
    copy_exactly(statement.column_bytes(2), row.body_hash);
    copy_exactly(statement.column_bytes(3), row.chain);
    bytes += row.body.size();
    rows.push_back(std::move(row));
  }
  statement.reset();
  return rows;
}

Result<std::optional<Digest>> SqliteStore::chain_at(Position position) {
  const std::scoped_lock lock(reader_mutex_);
  SqliteStatement& statement = reader_.chain;
  statement.bind(1, integer(position));
  HOLDFAST_TRY(const bool found, statement.step());
  std::optional<Digest> chain;
  if (found) {
    chain.emplace();
    copy_exactly(statement.column_bytes(0), *chain);
  }
  statement.reset();
  return chain;
}

Result<void> SqliteStore::apply_trim(const Trim& trim) {
  writer_->move_start.bind(1, integer(trim.expected_start))
      .bind(2, integer(trim.start))
      .bind_blob(3, as_text(trim.anchor));
  HOLDFAST_CHECK(writer_->move_start.run());
  if (writer_->db->changes() == 0) {
    return Error{ErrorCode::conflict, "the log was trimmed by another process"};
  }
  writer_->drop_batches.bind(1, integer(trim.start));
  return writer_->drop_batches.run();
}

Result<void> SqliteStore::update(const SideUpdate& update) {
  HOLDFAST_CHECK(check_writable());
  const std::scoped_lock lock(writer_mutex_);
  return transaction([&]() -> Result<void> {
    if (update.trim.has_value()) {
      HOLDFAST_CHECK(apply_trim(*update.trim));
    }
    for (const std::string& key : update.deletes) {
      writer_->erase.bind_text(1, key);
      HOLDFAST_CHECK(writer_->erase.run());
    }
    for (const SidePair& pair : update.puts) {
      writer_->put.bind_text(1, pair.key).bind_blob(2, pair.value);
      HOLDFAST_CHECK(writer_->put.run());
    }
    return {};
  });
}

Result<std::vector<std::optional<std::string>>> SqliteStore::get(
    std::span<const std::string> keys) {
  const std::scoped_lock lock(reader_mutex_);
  std::vector<std::optional<std::string>> values;
  values.reserve(keys.size());
  for (const std::string& key : keys) {
    reader_.get.bind_text(1, key);
    HOLDFAST_TRY(const bool found, reader_.get.step());
    const bool right = !found || reader_.get.column_bytes(1) == key;
    values.push_back(found ? std::optional<std::string>(reader_.get.column_bytes(0))
                           : std::nullopt);
    reader_.get.reset();
    if (!right) {
      return damaged_side(key);
    }
  }
  return values;
}

Result<std::vector<SidePair>> SqliteStore::scan(const SideScan& scan) {
  const std::scoped_lock lock(reader_mutex_);
  const SideRange range = range_of(scan);
  SqliteStatement& statement =
      scan.order == SideScan::Order::ascending ? reader_.scan_up : reader_.scan_down;
  statement.bind_text(1, range.low).bind(3, static_cast<std::int64_t>(scan.max_pairs));
  if (range.high.has_value()) {
    statement.bind_text(2, *range.high);
  } else {
    statement.bind_blob(2, "");  // every text comes before every blob
  }
  std::vector<SidePair> pairs;
  std::size_t bytes = 0;
  while (bytes < scan.max_bytes) {
    HOLDFAST_TRY(const bool more, statement.step());
    if (!more) {
      break;
    }
    SidePair pair{std::string(statement.column_bytes(0)), std::string(statement.column_bytes(1))};
    const bool in_range =
        range.low <= pair.key && (!range.high.has_value() || pair.key < *range.high);
    const bool in_order =
        pairs.empty() || (scan.order == SideScan::Order::ascending ? pairs.back().key < pair.key
                                                                   : pair.key < pairs.back().key);
    if (!in_range || !in_order) {
      statement.reset();
      return damaged_side(pair.key);
    }
    bytes += pair.value.size();
    pairs.push_back(std::move(pair));
  }
  statement.reset();
  return pairs;
}

Result<void> SqliteStore::wait_for_change(Position known_head, std::chrono::milliseconds timeout) {
  const std::scoped_lock lock(watch_mutex_);
  // Watch first, look second: a change between the two is then not missed.
  if (watch_ == nullptr) {
    HOLDFAST_TRY(watch_, SqliteFileWatch::create(path_));
  }
  // A writer that dies between its commit and the announcement is noticed by a look now and then.
  constexpr std::chrono::milliseconds kLookAgain{2000};
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    HOLDFAST_TRY(const auto now, state());
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (interrupted_ || now.head > known_head || left.count() <= 0) {
      return {};
    }
    HOLDFAST_CHECK(watch_->wait(std::min(left, kLookAgain)));
  }
}

Result<void> SqliteStore::reclaim() {
  HOLDFAST_CHECK(check_writable());
  const std::scoped_lock lock(writer_mutex_);
  return writer_->db->exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
}

Result<std::uint64_t> SqliteStore::size_bytes() {
  std::uint64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    struct stat status {};
    if (stat((path_ + suffix).c_str(), &status) == 0) {
      bytes += static_cast<std::uint64_t>(status.st_size);
    }
  }
  return bytes;
}

bool is_writable(const std::string& path) { return euidaccess(path.c_str(), W_OK) == 0; }

// SQLite needs a WAL and a shared-memory file beside the journal even to read it, once it is in WAL
// mode.
// - No process has it open and they can be made: the last one to close removes them again, but only
//   if it was opened for writing.
// - A process has it open, or had when it died: read what is there and leave all files alone.
// - They cannot be made, as on a read-only medium: then no process can be writing either.
Result<Reader> open_reader_only(const std::string& path, SqliteFileKind kind,
                                const SqliteOptions& options) {
  const auto try_open = [&](SqliteAccess how) -> Result<Reader> {
    HOLDFAST_TRY(auto db, SqliteDb::open(path, how, options.vfs, options.busy_timeout));
    HOLDFAST_CHECK(db->exec("PRAGMA query_only = ON"));
    return Reader::create(std::move(db));
  };
  if (file_exists(path + "-wal")) {
    return try_open(SqliteAccess::read_only);
  }
  if (is_writable(path) && is_writable(folder_of(path))) {
    return try_open(SqliteAccess::read_write);
  }
  return try_open(kind == SqliteFileKind::unfinished ? SqliteAccess::read_only
                                                     : SqliteAccess::immutable);
}

Result<std::unique_ptr<Store>> open_to_read(const std::string& path, SqliteFileKind kind,
                                            const SqliteOptions& options) {
  HOLDFAST_TRY(auto reader, open_reader_only(path, kind, options));
  return std::unique_ptr<Store>(
      std::make_unique<SqliteStore>(path, std::nullopt, std::move(reader)));
}

Result<std::unique_ptr<Store>> open_to_write(const std::string& path,
                                             const SqliteOptions& options) {
  const auto open_db = [&] {
    return SqliteDb::open(path, SqliteAccess::read_write, options.vfs, options.busy_timeout);
  };
  if (!is_writable(path)) {
    return Error{ErrorCode::permission_denied, "the file is not writable"};
  }
  HOLDFAST_TRY(auto reader_db, open_db());
  HOLDFAST_TRY(auto reader, Reader::create(std::move(reader_db)));
  HOLDFAST_TRY(const std::string mode, reader.db->query_text("PRAGMA journal_mode"));
  if (mode != "wal") {
    return Error{ErrorCode::busy, "another process is creating the store"};
  }
  HOLDFAST_TRY(auto writer_db, open_db());
  HOLDFAST_TRY(auto writer, Writer::create(std::move(writer_db)));
  return std::unique_ptr<Store>(
      std::make_unique<SqliteStore>(path, std::move(writer), std::move(reader)));
}

// Whether a file exists at the path or can be created there. The message says what to do.
Result<void> check_folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return {};
  }
  const auto refused = [&](ErrorCode code, const std::string& why) {
    return Error{code, "cannot create " + path + ": " + why}.with("path", path);
  };
  if (std::filesystem::is_directory(folder, error)) {
    return euidaccess(folder.c_str(), W_OK | X_OK) == 0
               ? Result<void>()
               : refused(ErrorCode::permission_denied,
                         "the folder " + folder + " is not writable; choose another folder");
  }
  if (std::filesystem::exists(folder, error)) {
    return refused(ErrorCode::invalid_argument,
                   folder + " is not a folder; choose a path inside a folder");
  }
  return refused(ErrorCode::not_found, "the folder " + folder +
                                           " does not exist; create it (mkdir -p " + folder +
                                           "), or choose another folder");
}

// What the file is when no process is creating it. A journal that is not there is not_found.
Result<SqliteFileKind> find_journal(const std::string& path, OpenMode mode,
                                    const SqliteOptions& options) {
  if (mode == OpenMode::create) {
    HOLDFAST_CHECK(check_folder_of(path));
  }
  HOLDFAST_TRY(SqliteFileKind kind, inspect_sqlite_file(path));
  if (mode == OpenMode::create) {
    return kind;
  }
  if (kind == SqliteFileKind::empty || kind == SqliteFileKind::unfinished) {
    HOLDFAST_TRY(kind, settle_sqlite_file(path, options.vfs, options.busy_timeout));
  }
  if (kind == SqliteFileKind::missing) {
    return Error{ErrorCode::not_found, path + " does not exist"};
  }
  if (kind == SqliteFileKind::empty) {
    return Error{ErrorCode::not_found,
                 path +
                     " holds no journal yet: its creation was interrupted or has just begun; "
                     "the next program that opens it for writing completes it"}
        .with("reason", "unfinished")
        .with(WhatNext::retry);
  }
  return kind;
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& given_path, OpenMode mode,
                                                 const StoreOrigin& origin_if_new,
                                                 const SqliteOptions& options) {
  const std::string path = real_file(given_path);
  HOLDFAST_TRY(const SqliteFileKind kind, find_journal(path, mode, options));
  if (mode != OpenMode::read && kind != SqliteFileKind::journal) {
    auto created = create_sqlite_log(path, mode == OpenMode::create ? &origin_if_new : nullptr,
                                     options.vfs, options.busy_timeout);
    if (!created.ok()) {
      return std::move(created).error().in("cannot create " + path);
    }
  }
  auto store =
      mode == OpenMode::read ? open_to_read(path, kind, options) : open_to_write(path, options);
  if (!store.ok()) {
    return std::move(store).error().in("cannot open " + path);
  }
  return store;
}

}  // namespace holdfast
