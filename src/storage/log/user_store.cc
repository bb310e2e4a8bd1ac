#include "storage/log/user_store.h"

#include <algorithm>
#include <mutex>

#include "base/encoding.h"
#include "base/text.h"
#include "storage/log/hash_chain.h"

namespace holdfast {

namespace {

// Sorts before every key of a journal, so that only the first page of a scan can contain it.
const std::string kAnchorKey = "!anchor";
constexpr int kMaxStateReads = 20;

Error damaged(const std::string& name, std::string_view what) {
  return Error{ErrorCode::corrupt_log, name + ": " + std::string(what)}
      .with("position", std::uint64_t{0})
      .with("reason", "damaged_state");
}

class UserStore final : public Store {
 public:
  explicit UserStore(std::unique_ptr<LogStore> log) : log_(std::move(log)) {}

  Result<StoreState> state() override;
  Result<void> append(const RowView& row) override;
  Result<std::vector<Row>> read(Position from, ReadLimit limit) override;
  Result<std::optional<Digest>> chain_at(Position position) override;
  Result<void> update(const SideUpdate& update) override;
  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys) override {
    return log_->get(keys);
  }
  Result<std::vector<SidePair>> scan(const SideScan& scan) override;
  Result<void> wait_for_change(Position known_head, std::chrono::milliseconds timeout) override {
    return log_->wait_for_change(known_head.value, timeout);
  }
  void interrupt_waits() override { log_->interrupt_waits(); }
  [[nodiscard]] bool can_reconnect() const override { return log_->can_reconnect(); }
  Result<void> reconnect() override;
  Result<void> reclaim() override { return log_->reclaim(); }
  Result<std::uint64_t> size_bytes() override { return log_->size_bytes(); }
  [[nodiscard]] std::string name() const override { return log_->name(); }

 private:
  struct Newest {
    Position position;
    Digest chain;
  };

  // The chain value before the oldest record; empty when a trim has moved the start since.
  Result<std::optional<Digest>> anchor_of(const LogState& state);
  Result<std::optional<Digest>> newest_chain(Position head);

  std::unique_ptr<LogStore> log_;
  std::mutex mutex_;  // guards what follows
  std::optional<Newest> newest_;
};

Row row_of(LogRecord&& record) {
  Row row{Position{record.position}, {}, {}, {}};
  // Hashes of a record that is too short stay zero: the log above finds the mismatch.
  if (record.bytes.size() >= row.body_hash.size() + row.chain.size()) {
    const std::string_view bytes = record.bytes;
    copy_exactly(bytes.substr(0, row.body_hash.size()), row.body_hash);
    copy_exactly(bytes.substr(row.body_hash.size(), row.chain.size()), row.chain);
    record.bytes.erase(0, row.body_hash.size() + row.chain.size());
  }
  row.body = std::move(record.bytes);
  return row;
}

Result<std::optional<Digest>> UserStore::anchor_of(const LogState& state) {
  if (state.start == 1) {
    Uuid id;
    id.bytes = state.id;
    return std::optional(genesis_chain(id));
  }
  HOLDFAST_TRY(const auto values, log_->get(std::span(&kAnchorKey, 1)));
  const std::string start = sortable_hex(state.start);
  Digest anchor{};
  if (values.size() != 1 || !values.front().has_value() ||
      values.front()->size() != start.size() + anchor.size()) {
    return damaged(name(), "the chain value before the oldest record is missing or damaged");
  }
  if (!values.front()->starts_with(start)) {
    return std::optional<Digest>();
  }
  copy_exactly(std::string_view(*values.front()).substr(start.size()), anchor);
  return std::optional(anchor);
}

Result<std::optional<Digest>> UserStore::newest_chain(Position head) {
  {
    const std::scoped_lock lock(mutex_);
    if (newest_.has_value() && newest_->position == head) {
      return std::optional(newest_->chain);
    }
  }
  HOLDFAST_TRY(const auto chain, chain_at(head));
  if (chain.has_value()) {
    const std::scoped_lock lock(mutex_);
    newest_ = Newest{head, *chain};
  }
  return chain;
}

// Start, anchor and newest record are read one after the other. When another process trims in
// between, they do not fit together and are read again.
Result<StoreState> UserStore::state() {
  for (int tries = 0; tries < kMaxStateReads; ++tries) {
    HOLDFAST_TRY(const LogState state, log_->state());
    if (state.start == 0 || state.head + 1 < state.start) {
      return damaged(name(), "the start of the log is behind its head");
    }
    HOLDFAST_TRY(const auto anchor, anchor_of(state));
    if (!anchor.has_value()) {
      continue;
    }
    StoreState found;
    found.log_id.bytes = state.id;
    found.start = Position{state.start};
    found.anchor = *anchor;
    found.head = Position{state.head};
    found.head_chain = *anchor;
    if (state.start <= state.head) {
      HOLDFAST_TRY(const auto chain, newest_chain(found.head));
      if (!chain.has_value() && tries + 1 < kMaxStateReads) {
        continue;
      }
      found.head_chain = chain.value_or(Digest{});  // the log above reports the missing record
    }
    return found;
  }
  return Error{ErrorCode::busy, name() + ": other processes trim the log again and again"};
}

Result<void> UserStore::append(const RowView& row) {
  std::string bytes;
  bytes.reserve(row.body_hash.size() + row.chain.size() + row.body.size());
  bytes += as_text(row.body_hash);
  bytes += as_text(row.chain);
  bytes += row.body;
  HOLDFAST_CHECK(log_->append(row.position.value, bytes));
  const std::scoped_lock lock(mutex_);
  if (!newest_.has_value() || newest_->position < row.position) {
    newest_ = Newest{row.position, row.chain};
  }
  return {};
}

Result<std::vector<Row>> UserStore::read(Position from, ReadLimit limit) {
  HOLDFAST_TRY(auto records, log_->read(from.value, LogReadLimit{.max_records = limit.max_rows,
                                                                 .max_bytes = limit.max_bytes}));
  std::vector<Row> rows;
  rows.reserve(records.size());
  for (LogRecord& record : records) {
    rows.push_back(row_of(std::move(record)));
  }
  return rows;
}

Result<std::optional<Digest>> UserStore::chain_at(Position position) {
  HOLDFAST_TRY(auto rows, read(position, ReadLimit{.max_rows = 1}));
  return rows.empty() || rows.front().position != position ? std::nullopt
                                                           : std::optional(rows.front().chain);
}

Result<void> UserStore::update(const SideUpdate& update) {
  LogUpdate change;
  change.deletes = update.deletes;
  for (const SidePair& pair : update.puts) {
    change.puts.push_back(LogPair{pair.key, pair.value});
  }
  if (update.trim.has_value()) {
    const Trim& trim = *update.trim;
    change.trim = LogTrim{trim.expected_start.value, trim.start.value};
    change.puts.push_back(
        LogPair{kAnchorKey, sortable_hex(trim.start.value) + std::string(as_text(trim.anchor))});
  }
  return log_->update(change);
}

Result<std::vector<SidePair>> UserStore::scan(const SideScan& scan) {
  const bool ascending = scan.order == SideScan::Order::ascending;
  LogScan request{.prefix = scan.prefix,
                  .from = scan.from,
                  .order = ascending ? LogScan::Order::ascending : LogScan::Order::descending,
                  .max_pairs = scan.max_pairs,
                  .max_bytes = scan.max_bytes};
  if (ascending && kAnchorKey.starts_with(scan.prefix)) {
    request.from = std::max(request.from.value_or(""), kAnchorKey + '\0');
  }
  HOLDFAST_TRY(auto found, log_->scan(request));
  std::vector<SidePair> pairs;
  pairs.reserve(found.size());
  for (LogPair& pair : found) {
    if (pair.key != kAnchorKey) {
      pairs.push_back(SidePair{std::move(pair.key), std::move(pair.value)});
    }
  }
  return pairs;
}

Result<void> UserStore::reconnect() {
  HOLDFAST_CHECK(log_->reconnect());
  const std::scoped_lock lock(mutex_);
  newest_.reset();  // the append whose outcome is unknown may have been stored
  return {};
}

}  // namespace

std::unique_ptr<Store> adapt_log_store(std::unique_ptr<LogStore> log) {
  return std::make_unique<UserStore>(std::move(log));
}

}  // namespace holdfast
