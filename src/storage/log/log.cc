#include "storage/log/log.h"

#include "storage/log/hash_chain.h"

namespace holdfast {

namespace {

Error corrupt(Position position, std::string_view reason, std::string_view what) {
  return Error{ErrorCode::corrupt_log,
               "batch " + std::to_string(position.value) + ": " + std::string(what)}
      .with("position", position.value)
      .with("reason", reason);
}

// What the rules say about one stored row that follows a verified batch.
std::optional<Error> check_row(const Row& row, Position expected, const Digest& previous) {
  if (row.position != expected) {
    return corrupt(expected, "missing_batch", "the batch is missing");
  }
  if (sha256(row.body) != row.body_hash) {
    return corrupt(expected, "body_hash_mismatch", "the body does not match its hash");
  }
  if (next_chain(previous, expected, row.body_hash) != row.chain) {
    return corrupt(expected, "chain_mismatch", "the batch does not follow the one before it");
  }
  return std::nullopt;
}

}  // namespace

Log::Log(std::unique_ptr<Store> store, const StoreState& state)
    : store_(std::move(store)), log_id_(state.log_id), head_{state.head, state.head_chain} {}

Result<std::unique_ptr<Log>> Log::open(std::unique_ptr<Store> store) {
  auto state = store->state();
  if (!state.ok()) {
    return std::move(state).error().in(store->name());
  }
  return std::unique_ptr<Log>(new Log(std::move(store), state.value()));
}

LogHead Log::head() const {
  const std::scoped_lock lock(mutex_);
  return head_;
}

Result<StoreState> Log::refresh() {
  // An append may finish while the state is read, so the result is compared with what was known
  // before.
  const LogHead known = head();
  HOLDFAST_TRY(auto state, store_->state());
  if (state.log_id != log_id_ || state.head < known.position ||
      (state.head == known.position && state.head_chain != known.chain)) {
    return corrupt(known.position, "history_changed",
                   "the log was replaced or cut while it was open");
  }
  const std::scoped_lock lock(mutex_);
  if (head_.position < state.head) {
    head_ = LogHead{state.head, state.head_chain};
  }
  return state;
}

Result<void> Log::check_running() const {
  const std::scoped_lock lock(mutex_);
  if (stopped_.has_value()) {
    return Error{ErrorCode::log_stopped,
                 "the log stopped after a failure and must be opened again: " + *stopped_};
  }
  return {};
}

Error Log::stopped_by(Error error) {
  if (error.code() != ErrorCode::conflict && error.code() != ErrorCode::busy &&
      error.code() != ErrorCode::read_only) {
    const std::scoped_lock lock(mutex_);
    stopped_ = error.text();
  }
  return error;
}

Result<LogHead> Log::append(Position expected_head, std::string_view body) {
  const LogHead known = head();
  if (expected_head != known.position) {
    return Error{ErrorCode::conflict, "the log is at position " +
                                          std::to_string(known.position.value) + ", not at " +
                                          std::to_string(expected_head.value)};
  }
  const Position position = expected_head.next();
  const Digest body_hash = sha256(body);
  const Digest chain = next_chain(known.chain, position, body_hash);
  auto written = check_running();
  written = written.ok() ? store_->append(RowView{position, body, body_hash, chain}) : written;
  if (!written.ok()) {
    Error error = stopped_by(std::move(written).error());
    const std::scoped_lock lock(mutex_);
    if (stopped_.has_value() && can_recover() && !open_.has_value()) {
      open_ = OpenAppend{position, std::string(body), body_hash, chain, known.chain};
    }
    return error;
  }
  const std::scoped_lock lock(mutex_);
  acknowledged_ = LogHead{position, chain};
  // A refresh may already have seen this batch, and later ones.
  if (head_.position < position) {
    head_ = LogHead{position, chain};
  }
  return LogHead{position, chain};
}

Result<LogHead> Log::append_copies(Position expected_head, std::span<const Batch> batches) {
  HOLDFAST_CHECK(check_running());
  LogHead at = head();
  if (expected_head != at.position) {
    return Error{ErrorCode::conflict, "the log has moved while it was copied to"};
  }
  std::vector<Digest> hashes(batches.size());
  std::vector<Digest> chains(batches.size());
  std::vector<RowView> rows;
  rows.reserve(batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    hashes[i] = sha256(batches[i].body);
    chains[i] = next_chain(at.chain, at.position.next(), hashes[i]);
    at = LogHead{at.position.next(), chains[i]};
    rows.push_back(RowView{at.position, batches[i].body, hashes[i], chains[i]});
  }
  auto written = store_->append_many(rows);
  if (!written.ok()) {
    return stopped_by(std::move(written).error());
  }
  const std::scoped_lock lock(mutex_);
  head_ = at;
  return at;
}

Result<LogReader> Log::read(Position from) {
  HOLDFAST_TRY(const auto state, refresh());
  if (from < state.start) {
    return Error{ErrorCode::not_found, "batch " + std::to_string(from.value) +
                                           " was trimmed; the log starts at " +
                                           std::to_string(state.start.value)}
        .with("start", state.start.value);
  }
  if (from == state.start) {
    return LogReader(this, from, state.anchor);
  }
  if (state.head.next() < from) {
    return Error{ErrorCode::not_found, "the log ends at position " +
                                           std::to_string(state.head.value) + ", before " +
                                           std::to_string(from.value)};
  }
  const Position before{from.value - 1};
  HOLDFAST_TRY(const auto previous, store_->chain_at(before));
  if (!previous.has_value()) {
    // Another process may have trimmed it since.
    HOLDFAST_TRY(const auto now, refresh());
    return now.start != state.start ? read(from)
                                    : corrupt(before, "missing_batch", "the batch is missing");
  }
  return LogReader(this, from, *previous);
}

Error LogReader::explain(Error damage) {
  auto state = log_->refresh();
  if (!state.ok()) {
    return std::move(state).error();
  }
  if (next_ < state.value().start) {
    return Error{ErrorCode::not_found,
                 "batch " + std::to_string(next_.value) + " was trimmed while reading"}
        .with("start", state.value().start.value);
  }
  failed_ = true;
  return damage;
}

Result<std::vector<Batch>> LogReader::next(ReadLimit limit) {
  if (failed_) {
    return corrupt(next_, "after_damage", "nothing is read after damage");
  }
  // Before it is read: another thread may learn of later batches meanwhile.
  const Position known_head = log_->head().position;
  auto read = log_->store_->read(next_, limit);
  if (!read.ok() && read.error().code() == ErrorCode::corrupt_log) {
    if (limit.max_rows > 1) {
      return next(ReadLimit{.max_rows = 1});  // one by one up to the damage
    }
    return explain(std::move(read)
                       .error()
                       .in("batch " + std::to_string(next_.value))
                       .with("position", next_.value));
  }
  HOLDFAST_TRY(std::vector<Row> rows, std::move(read));
  if (rows.empty() && next_ <= known_head) {
    return explain(corrupt(next_, "missing_batch", "the batch is missing"));
  }
  std::vector<Batch> batches;
  batches.reserve(rows.size());
  for (Row& row : rows) {
    if (auto wrong = check_row(row, next_, previous_)) {
      if (!batches.empty()) {
        return batches;  // what is good first; the next call meets the damage again
      }
      return explain(*std::move(wrong));
    }
    previous_ = row.chain;
    next_ = next_.next();
    batches.push_back(Batch{row.position, std::move(row.body), row.chain});
  }
  return batches;
}

Result<void> Log::trim(Position below) {
  HOLDFAST_TRY(const auto state, refresh());
  SideUpdate update;
  update.trim = Trim{state.start, below, {}};
  return this->update(std::move(update));
}

Result<void> Log::update(SideUpdate update) {
  HOLDFAST_CHECK(check_running());
  if (update.trim.has_value()) {
    const LogHead known = head();
    if (known.position < update.trim->start || update.trim->start < update.trim->expected_start) {
      return Error{ErrorCode::invalid_argument,
                   "cannot trim below " + std::to_string(update.trim->start.value) +
                       ": the newest batch, " + std::to_string(known.position.value) +
                       ", always stays and the start only moves forward"};
    }
    HOLDFAST_TRY(auto reader_at, read(update.trim->start));
    update.trim->anchor = reader_at.previous_;
  }
  const LogHead known = head();
  auto written = store_->update(update);
  if (!written.ok()) {
    return stopped_by(std::move(written).error());
  }
  const std::scoped_lock lock(mutex_);
  if (!acknowledged_.has_value() || acknowledged_->position < known.position) {
    acknowledged_ = known;  // it was there before this write, which is durable
  }
  return {};
}

Result<std::optional<std::string>> Log::get(const std::string& key) {
  HOLDFAST_TRY(auto values, store_->get(std::span(&key, 1)));
  return std::move(values.front());
}

Result<std::vector<std::optional<std::string>>> Log::get(std::span<const std::string> keys) {
  return store_->get(keys);
}

Result<std::vector<SidePair>> Log::scan(const SideScan& scan) { return store_->scan(scan); }

Result<std::optional<Digest>> Log::chain_at(Position position) {
  HOLDFAST_TRY(const auto state, store_->state());
  if (position.next() == state.start) {
    return std::optional(state.anchor);
  }
  return store_->chain_at(position);
}

Result<void> Log::wait_for_change(Position known_head, std::chrono::milliseconds timeout) {
  return store_->wait_for_change(known_head, timeout);
}

Result<void> Log::reclaim() { return store_->reclaim(); }

Result<std::uint64_t> Log::size_bytes() { return store_->size_bytes(); }

}  // namespace holdfast
