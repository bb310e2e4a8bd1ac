#include "storage/log/postgres_store.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/encoding.h"
#include "storage/log/postgres_reader.h"
#include "storage/log/postgres_schema.h"
#include "storage/log/side_range.h"
#include "storage/postgres/postgres_client.h"
#include "storage/postgres/postgres_listener.h"
#include "storage/postgres/postgres_writer.h"

namespace holdfast {

namespace {

// PostgreSQL holds no value and takes no message of 1 GB or more.
constexpr std::size_t kMaxValueBytes = 512U << 20U;
// What one INSERT of an update carries.
constexpr std::size_t kChunkBytes = 1U << 20U;
constexpr std::size_t kChunkPairs = 1000;

Result<void> check_size(std::size_t bytes) {
  if (bytes > kMaxValueBytes) {
    return Error{ErrorCode::too_large, "a value in PostgreSQL holds at most 512 MB"};
  }
  return {};
}

class PostgresStore final : public Store {
 public:
  PostgresStore(PostgresUrl url, OpenMode mode)
      : url_(std::move(url)), sql_(url_.schema), mode_(mode), reader_(url_, session(), sql_) {}

  Result<void> open(const StoreOrigin& origin_if_new);

  Result<StoreState> state() override;
  Result<void> append(const RowView& row) override;
  Result<void> append_many(std::span<const RowView> rows) override;
  Result<std::vector<Row>> read(Position from, ReadLimit limit) override;
  Result<std::optional<Digest>> chain_at(Position position) override;
  Result<void> update(const SideUpdate& update) override;
  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys) override;
  Result<std::vector<SidePair>> scan(const SideScan& scan) override;
  Result<void> wait_for_change(Position known_head, std::chrono::milliseconds timeout) override;
  void interrupt_waits() override;
  [[nodiscard]] bool can_reconnect() const override { return mode_ != OpenMode::read; }
  Result<void> reconnect() override;
  Result<StoreState> confirm() override;
  Result<void> reclaim() override;
  Result<std::uint64_t> size_bytes() override;
  [[nodiscard]] std::string name() const override { return url_.shown; }

 private:
  using Order = SideScan::Order;

  [[nodiscard]] PgSession session() const {
    return mode_ == OpenMode::read ? PgSession::read : PgSession::write;
  }
  [[nodiscard]] Result<void> check_writable() const;
  Result<void> connect_writer();
  Result<void> detect_notify();

  // A pipeline of the writer that will hold a whole transaction.
  Result<void> begin_write(std::initializer_list<const PgStatement*> statements);
  Result<void> begin_transaction();
  // unavailable when there is no connection for writing.
  Result<void> check_writer();
  void send_row(const RowView& row);
  Result<void> commit();
  // Whether a COMMIT was answered as it should be.
  [[nodiscard]] Result<void> check_commit(const PgRows& answer);
  Result<void> begin_update(const std::optional<Trim>& trim);
  void send_deletes(const std::vector<std::string>& keys);
  void send_puts(const std::vector<SidePair>& puts);
  Result<void> finish_update();
  // Ends any transaction of the writer, if possible, and returns the error.
  Error abandon(Error error);

  [[nodiscard]] Error corrupt(Position position, std::string_view reason,
                              std::string_view what) const;
  [[nodiscard]] Error conflict(std::string_view what) const;
  [[nodiscard]] Error moved_past(Position position) const;
  [[nodiscard]] Error not_committed() const;

  const PostgresUrl url_;
  const PostgresSql sql_;
  const OpenMode mode_;
  std::string channel_;
  bool can_notify_ = false;

  std::mutex writer_mutex_;
  // Made again by reconnect() only: when it is lost, the outcome of its last write is open.
  std::unique_ptr<PgConnection> writer_;
  std::atomic<bool> interrupted_ = false;
  PostgresReader reader_;
  std::optional<PostgresListener> listener_;
};

Result<void> PostgresStore::open(const StoreOrigin& origin_if_new) {
  if (mode_ == OpenMode::read) {
    HOLDFAST_TRY(const auto connection, PgConnection::connect(url_, session()));
    HOLDFAST_CHECK(prepare_postgres_log(*connection, url_, mode_, origin_if_new));
  } else {
    HOLDFAST_CHECK(connect_writer());
    HOLDFAST_CHECK(prepare_postgres_log(*writer_, url_, mode_, origin_if_new));
  }
  HOLDFAST_TRY(const StoreState found, state());
  channel_ = "holdfast_" + to_hex(found.log_id.bytes);
  listener_.emplace(url_, session(), channel_);
  return mode_ == OpenMode::read ? Result<void>() : detect_notify();
}

Result<void> PostgresStore::detect_notify() {
  PgParams params;
  const auto notified = writer_->query(sql_.notify, params.bytes(channel_));
  can_notify_ = notified.ok();
  if (!notified.ok() && writer_->lost()) {
    return notified.error();
  }
  return {};
}

Result<void> PostgresStore::check_writable() const {
  if (mode_ == OpenMode::read) {
    return Error{ErrorCode::read_only, "the log was opened for reading"};
  }
  return {};
}

Result<void> PostgresStore::connect_writer() {
  HOLDFAST_TRY(auto connection, PgConnection::connect(url_, PgSession::write));
  HOLDFAST_CHECK(prepare_postgres_writer(*connection, url_));
  writer_ = std::move(connection);
  return {};
}

// The journal must exist: a missing one is never created again.
Result<void> PostgresStore::reconnect() {
  HOLDFAST_CHECK(check_writable());
  {
    const std::scoped_lock lock(writer_mutex_);
    writer_.reset();
    HOLDFAST_CHECK(connect_writer());
    if (auto there = prepare_postgres_log(*writer_, url_, OpenMode::write, {}); !there.ok()) {
      writer_.reset();
      return there;
    }
    HOLDFAST_CHECK(detect_notify());
  }
  reader_.begin_again();
  return {};
}

Result<StoreState> PostgresStore::confirm() {
  HOLDFAST_CHECK(check_writable());
  constexpr std::size_t kState = 1;
  constexpr std::size_t kCommit = 2;
  const std::scoped_lock lock(writer_mutex_);
  HOLDFAST_CHECK(begin_write({&sql_.confirm}));
  writer_->send(sql_.begin);
  writer_->send(sql_.confirm);
  writer_->send(sql_.commit);
  PgReplies replies = writer_->finish_pipeline();
  if (replies.failure.has_value()) {
    return abandon(*std::move(replies.failure));
  }
  HOLDFAST_CHECK(check_commit(replies.rows[kCommit]));
  HOLDFAST_TRY(const StoreState found, postgres_state(replies.rows[kState], url_));
  reader_.saw(found.head, found.head_chain);
  return found;
}

Error PostgresStore::corrupt(Position position, std::string_view reason,
                             std::string_view what) const {
  return Error{ErrorCode::corrupt_log, url_.shown + ": " + std::string(what)}
      .with("position", position.value)
      .with("reason", reason);
}

Error PostgresStore::conflict(std::string_view what) const {
  return Error{ErrorCode::conflict, url_.shown + ": " + std::string(what)};
}

Error PostgresStore::moved_past(Position position) const {
  return conflict("another writer has appended batch " + std::to_string(position.value));
}

// The server answers ROLLBACK to the COMMIT of a transaction that failed.
Error PostgresStore::not_committed() const {
  return Error{ErrorCode::io_error, url_.shown + ": the server did not commit"};
}

Result<StoreState> PostgresStore::state() {
  HOLDFAST_TRY(const PgRows rows, reader_.query(sql_.state));
  HOLDFAST_TRY(const StoreState found, postgres_state(rows, url_));
  reader_.saw(found.head, found.head_chain);
  return found;
}

Result<void> PostgresStore::begin_write(std::initializer_list<const PgStatement*> statements) {
  HOLDFAST_CHECK(check_writer());
  return writer_->begin_pipeline(statements);
}

Result<void> PostgresStore::begin_transaction() {
  HOLDFAST_CHECK(check_writer());
  return writer_->run("BEGIN");
}

Result<void> PostgresStore::check_writer() {
  if (writer_ == nullptr) {
    return Error{ErrorCode::unavailable, url_.shown + ": the connection is lost"};
  }
  static_cast<void>(writer_->take_warning());
  return {};
}

Result<void> PostgresStore::check_commit(const PgRows& answer) {
  if (answer.command() != "COMMIT") {
    return not_committed();
  }
  if (writer_->take_warning()) {
    return Error{ErrorCode::io_error,
                 url_.shown +
                     ": the server stopped waiting for its standby; the commit may be on no "
                     "other machine"}
        .with(WhatNext::in_doubt);
  }
  return {};
}

Result<void> PostgresStore::append(const RowView& row) {
  HOLDFAST_CHECK(check_writable());
  HOLDFAST_CHECK(check_size(row.body.size()));
  constexpr std::size_t kAppend = 1;
  constexpr std::size_t kCommit = 2;
  const std::scoped_lock lock(writer_mutex_);
  HOLDFAST_CHECK(begin_write({&sql_.append}));
  writer_->send(sql_.begin);
  send_row(row);
  writer_->send(sql_.commit);
  if (can_notify_) {
    // After the commit, in the same round trip: a hint must neither undo the append nor hold
    // the server's notification lock while the append is written to disk.
    PgParams channel;
    writer_->send(sql_.notify, channel.bytes(channel_));
  }
  PgReplies replies = writer_->finish_pipeline();
  if (replies.rows.size() <= kCommit) {
    return abandon(*std::move(replies.failure));
  }
  if (replies.rows[kAppend].affected() != 1) {
    return moved_past(row.position);
  }
  HOLDFAST_CHECK(check_commit(replies.rows[kCommit]));
  reader_.saw(row.position, row.chain);
  return {};
}

void PostgresStore::send_row(const RowView& row) {
  PgParams params;
  params.number(row.position.value).bytes(row.body).bytes(row.body_hash).bytes(row.chain);
  writer_->send(sql_.append, params);
}

Result<void> PostgresStore::append_many(std::span<const RowView> rows) {
  HOLDFAST_CHECK(check_writable());
  for (const RowView& row : rows) {
    HOLDFAST_CHECK(check_size(row.body.size()));
  }
  const std::scoped_lock lock(writer_mutex_);
  HOLDFAST_CHECK(begin_transaction());
  if (auto ready = writer_->begin_pipeline({&sql_.append}); !ready.ok()) {
    return abandon(std::move(ready).error());
  }
  for (const RowView& row : rows) {
    send_row(row);
  }
  PgReplies replies = writer_->finish_pipeline();
  if (replies.failure.has_value()) {
    return abandon(*std::move(replies.failure));
  }
  // Checked before the commit: if one row lost against another writer, the next one could have
  // found that writer's row as its predecessor.
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (replies.rows[at].affected() != 1) {
      return abandon(moved_past(rows[at].position));
    }
  }
  HOLDFAST_CHECK(commit());
  if (can_notify_) {
    PgParams channel;
    static_cast<void>(writer_->query(sql_.notify, channel.bytes(channel_)));  // only a hint
  }
  return {};
}

Result<void> PostgresStore::commit() {
  HOLDFAST_TRY(const PgRows done, writer_->query(sql_.commit));
  return check_commit(done);
}

Error PostgresStore::abandon(Error error) {
  if (!writer_->lost()) {
    if (auto ended = writer_->roll_back(); !ended.ok()) {
      return std::move(ended).error();
    }
  }
  return error;
}

Result<std::vector<Row>> PostgresStore::read(Position from, ReadLimit limit) {
  PgParams params;
  params.number(from.value).number(limit.max_rows).number(limit.max_bytes);
  HOLDFAST_TRY(const PgRows found, reader_.query(sql_.read, params));
  std::vector<Row> rows(found.size());
  for (std::size_t at = 0; at < rows.size(); ++at) {
    Row& row = rows[at];
    row.position.value = found.number(at, 0);
    row.body = found.bytes(at, 1);
    if (!copy_exactly(found.bytes(at, 2), row.body_hash) ||
        !copy_exactly(found.bytes(at, 3), row.chain)) {
      // Zeros match nothing: verification finds the row damaged.
      row.body_hash = Digest{};
    }
  }
  if (!rows.empty()) {
    reader_.saw(rows.back().position, rows.back().chain);
  }
  return rows;
}

Result<std::optional<Digest>> PostgresStore::chain_at(Position position) {
  PgParams params;
  HOLDFAST_TRY(const PgRows rows, reader_.query(sql_.chain_at, params.number(position.value)));
  if (rows.size() == 0) {
    return std::optional<Digest>();
  }
  Digest chain{};
  if (!copy_exactly(rows.bytes(0, 0), chain)) {
    return corrupt(position, "chain_mismatch", "a chain value is damaged");
  }
  return std::optional(chain);
}

Result<void> PostgresStore::update(const SideUpdate& update) {
  HOLDFAST_CHECK(check_writable());
  for (const SidePair& pair : update.puts) {
    HOLDFAST_CHECK(check_size(pair.key.size() + pair.value.size()));
  }
  const std::scoped_lock lock(writer_mutex_);
  HOLDFAST_CHECK(begin_update(update.trim));
  if (auto ready = writer_->begin_pipeline({&sql_.drop, &sql_.remove, &sql_.put}); !ready.ok()) {
    return abandon(std::move(ready).error());
  }
  if (update.trim.has_value()) {
    PgParams start;
    writer_->send(sql_.drop, start.number(update.trim->start.value));
  }
  send_deletes(update.deletes);
  send_puts(update.puts);
  writer_->send(sql_.commit);
  return finish_update();
}

// A trim is conditional, so its answer is awaited before anything else is sent.
Result<void> PostgresStore::begin_update(const std::optional<Trim>& trim) {
  HOLDFAST_CHECK(begin_transaction());
  if (!trim.has_value()) {
    return {};
  }
  PgParams params;
  params.number(trim->start.value).bytes(trim->anchor).number(trim->expected_start.value);
  const auto trimmed = writer_->query(sql_.trim, params);
  if (!trimmed.ok()) {
    return abandon(trimmed.error());
  }
  if (trimmed.value().affected() != 1) {
    return abandon(conflict("the log was trimmed by another process"));
  }
  return {};
}

void PostgresStore::send_deletes(const std::vector<std::string>& keys) {
  std::vector<std::string_view> sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t at = 0; at < sorted.size(); at += kChunkPairs) {
    const std::size_t count = std::min(kChunkPairs, sorted.size() - at);
    PgParams params;
    writer_->send(sql_.remove, params.list(std::span(sorted).subspan(at, count)));
  }
}

// In the order of the keys, so that two updates wait for each other instead of deadlocking; of
// several puts of one key only the last, because one INSERT may touch a row once only.
void PostgresStore::send_puts(const std::vector<SidePair>& puts) {
  std::map<std::string_view, std::string_view> last;
  for (const SidePair& pair : puts) {
    last.insert_or_assign(pair.key, pair.value);
  }
  std::vector<std::string_view> keys;
  std::vector<std::string_view> values;
  std::size_t bytes = 0;
  const auto flush = [&] {
    PgParams params;
    writer_->send(sql_.put, params.list(keys).list(values));
    keys.clear();
    values.clear();
    bytes = 0;
  };
  for (const auto& [key, value] : last) {
    keys.push_back(key);
    values.push_back(value);
    bytes += key.size() + value.size();
    if (bytes >= kChunkBytes || keys.size() == kChunkPairs) {
      flush();
    }
  }
  if (!keys.empty()) {
    flush();
  }
}

Result<void> PostgresStore::finish_update() {
  PgReplies replies = writer_->finish_pipeline();
  if (replies.failure.has_value()) {
    return abandon(*std::move(replies.failure));
  }
  return check_commit(replies.rows.back());
}

Result<std::vector<std::optional<std::string>>> PostgresStore::get(
    std::span<const std::string> keys) {
  const std::vector<std::string_view> wanted(keys.begin(), keys.end());
  PgParams params;
  HOLDFAST_TRY(const PgRows rows, reader_.query(sql_.get, params.list(wanted)));
  std::unordered_map<std::string_view, std::string_view> found;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    found.emplace(rows.bytes(row, 0), rows.bytes(row, 1));
  }
  std::vector<std::optional<std::string>> values(keys.size());
  for (std::size_t at = 0; at < keys.size(); ++at) {
    if (const auto value = found.find(keys[at]); value != found.end()) {
      values[at].emplace(value->second);
    }
  }
  return values;
}

Result<std::vector<SidePair>> PostgresStore::scan(const SideScan& scan) {
  const SideRange range = range_of(scan);
  PgParams params;
  params.bytes(range.low).number(scan.max_pairs).number(scan.max_bytes);
  if (range.high.has_value()) {
    params.bytes(*range.high);
  }
  const bool up = scan.order == Order::ascending;
  const PgStatement& statement = range.high.has_value()
                                     ? (up ? sql_.scan_up_below : sql_.scan_down_below)
                                     : (up ? sql_.scan_up : sql_.scan_down);
  HOLDFAST_TRY(const PgRows rows, reader_.query(statement, params));
  std::vector<SidePair> pairs(rows.size());
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    pairs[at].key = rows.bytes(at, 0);
    pairs[at].value = rows.bytes(at, 1);
  }
  return pairs;
}

Result<void> PostgresStore::wait_for_change(Position known_head,
                                            std::chrono::milliseconds timeout) {
  const auto moved = [&]() -> Result<bool> {
    if (interrupted_) {
      return true;
    }
    HOLDFAST_TRY(const PgRows rows, reader_.query(sql_.head));
    return rows.size() != 1 || rows.number(0, 0) > known_head.value;
  };
  return listener_->wait(moved, std::chrono::steady_clock::now() + timeout);
}

// A listener checks again when notified, and finds that it need not wait. Without NOTIFY, or
// without a server, the wait ends by itself within a second.
void PostgresStore::interrupt_waits() {
  interrupted_ = true;
  reader_.try_to_run("NOTIFY \"" + channel_ + "\"");
}

// On a connection of its own: a VACUUM can take long and must hold up neither reads nor
// appends.
Result<void> PostgresStore::reclaim() {
  HOLDFAST_CHECK(check_writable());
  HOLDFAST_TRY(const auto connection, PgConnection::connect(url_, PgSession::write));
  for (const char* table : {"batches", "side"}) {
    auto done = connection->run("VACUUM \"" + url_.schema + "\"." + table);
    // feature_not_supported, syntax_error: a server that cleans up in its own way.
    const std::string_view state = done.ok() ? "" : done.error().field("sqlstate");
    if (!done.ok() && state != "0A000" && state != "42601") {
      return done;
    }
  }
  return {};
}

Result<std::uint64_t> PostgresStore::size_bytes() {
  auto rows = reader_.query(sql_.size);
  if (!rows.ok()) {
    // undefined_function, feature_not_supported: a server that does not measure.
    const std::string_view state = rows.error().field("sqlstate");
    if (state == "42883" || state == "0A000") {
      return std::uint64_t{0};
    }
    return std::move(rows).error();
  }
  return rows.value().number(0, 0);
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(const PostgresUrl& url, OpenMode mode,
                                                   const StoreOrigin& origin_if_new) {
  auto store = std::make_unique<PostgresStore>(url, mode);
  HOLDFAST_CHECK(store->open(origin_if_new));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace holdfast
