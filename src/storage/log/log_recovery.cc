// Recovery in place: the outcome of an open write is read back, never guessed.
#include "storage/log/log.h"

namespace holdfast {

namespace {

// Bounded: a writer that is always a little faster wins the position.
constexpr int kTries = 3;

Error diverged(const LogHead& acknowledged, const StoreState& state) {
  return Error{ErrorCode::diverged,
               "the store has lost batches that were acknowledged: batch " +
                   std::to_string(acknowledged.position.value) +
                   " was durable and is missing or another one, and the store is at position " +
                   std::to_string(state.head.value) +
                   " (a failover to a server that did not have it, or a restored backup)"}
      .with("position", acknowledged.position.value)
      .with("head", state.head.value);
}

}  // namespace

Result<std::optional<Digest>> Log::chain_in(const StoreState& state, Position position) {
  if (position == state.head) {
    return std::optional(state.head_chain);
  }
  if (position.next() == state.start) {
    return std::optional(state.anchor);
  }
  if (position < state.start || state.head < position) {
    return std::optional<Digest>();
  }
  return store_->chain_at(position);
}

Result<void> Log::check_acknowledged(const StoreState& state) {
  std::optional<LogHead> known;
  {
    const std::scoped_lock lock(mutex_);
    known = acknowledged_;
  }
  if (state.log_id != log_id_) {
    return Error{ErrorCode::diverged, store_->name() + " holds another log than before"};
  }
  if (!known.has_value()) {
    return {};
  }
  HOLDFAST_TRY(const auto chain, chain_in(state, known->position));
  // A batch that was trimmed since then did exist: a trim only moves forward.
  const bool trimmed = known->position.next() < state.start;
  if (!trimmed && chain != known->chain) {
    return diverged(*known, state);
  }
  return {};
}

Result<bool> Log::is_rewound(const StoreState& state) {
  const LogHead known = head();
  if (known.position.next() < state.start) {
    return false;
  }
  HOLDFAST_TRY(const auto chain, chain_in(state, known.position));
  return chain != known.chain;
}

Result<std::optional<LogRecovery::Append>> Log::find_open_append(const StoreState& state) {
  using Append = LogRecovery::Append;
  if (!open_.has_value()) {
    return std::optional(Append::none);
  }
  if (open_->position.next() < state.start) {
    return std::optional(Append::sealed);
  }
  if (open_->position <= state.head) {
    HOLDFAST_TRY(const auto chain, chain_in(state, open_->position));
    return std::optional(chain == open_->chain ? Append::landed : Append::lost);
  }
  const bool free = state.head.next() == open_->position && state.head_chain == open_->previous;
  return free ? std::nullopt : std::optional(Append::lost);
}

// A server that still processes the lost connection may write the batch after this process has
// checked for it. Both write the same batch to the same position, so the second write gets a
// conflict, and this process checks again.
Result<LogRecovery> Log::recover() {
  HOLDFAST_CHECK(store_->reconnect());
  for (int tries = 0; tries < kTries; ++tries) {
    HOLDFAST_TRY(const StoreState state, store_->confirm());
    HOLDFAST_CHECK(check_acknowledged(state));
    LogRecovery found;
    HOLDFAST_TRY(found.rewound, is_rewound(state));
    HOLDFAST_TRY(const auto open, find_open_append(state));
    if (open_.has_value()) {
      found.at = LogHead{open_->position, open_->chain};
    }
    if (open.has_value()) {
      found.append = *open;
      run_again(state, found);
      return found;
    }
    const auto written =
        store_->append(RowView{open_->position, open_->body, open_->body_hash, open_->chain});
    if (written.ok()) {
      found.append = LogRecovery::Append::landed;
      run_again(state, found);
      return found;
    }
    if (written.error().code() != ErrorCode::conflict) {
      return written.error();
    }
  }
  return Error{ErrorCode::unavailable,
               store_->name() + ": other processes write at the same position"};
}

void Log::run_again(const StoreState& state, const LogRecovery& found) {
  const std::scoped_lock lock(mutex_);
  head_ = LogHead{state.head, state.head_chain};
  if (found.append == LogRecovery::Append::landed && head_.position < found.at.position) {
    head_ = found.at;
  }
  acknowledged_ = head_;
  open_.reset();
  stopped_.reset();
}

}  // namespace holdfast
