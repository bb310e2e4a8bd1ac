#include "storage/journal/journal_history.h"

#include <algorithm>

#include "storage/journal/journal_keys.h"

namespace holdfast {

Result<SealRecord> find_seal(Log& log, Position position) {
  HOLDFAST_TRY(const auto found, log.scan(SideScan{.prefix = std::string(kSealPrefix),
                                                   .from = seal_key(position),
                                                   .order = SideScan::Order::descending,
                                                   .max_pairs = 1}));
  if (!found.empty()) {
    HOLDFAST_TRY(auto record, unpack_seal(found.front().key, found.front().value));
    if (position < record.to) {
      return record;
    }
  }
  return Error{ErrorCode::corrupt_segment,
               "batch " + std::to_string(position.value) + " was trimmed, but no seal covers it"}
      .with("position", position.value)
      .with("reason", "missing_seal");
}

Result<std::vector<Entry>> load_seal(Log& log, const SealRecord& record) {
  constexpr std::size_t kKeysAtOnce = 256;
  std::vector<Entry> entries;
  entries.reserve(record.entries);
  const std::span<const std::string> keys(record.segment_keys);
  for (std::size_t at = 0; at < keys.size(); at += kKeysAtOnce) {
    const auto some = keys.subspan(at, std::min(kKeysAtOnce, keys.size() - at));
    HOLDFAST_TRY(const auto values, log.get(some));
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (!values[i].has_value()) {
        return Error{ErrorCode::corrupt_segment, some[i] + " is missing"}
            .with("key", some[i])
            .with("reason", "missing_segment");
      }
      HOLDFAST_TRY(auto segment, unpack_segment(some[i], *values[i]));
      std::move(segment.begin(), segment.end(), std::back_inserter(entries));
    }
  }
  return entries;
}

Result<std::vector<Batch>> History::next() {
  auto batches = next_unsealed();
  // not_found: the position was trimmed, before or while it was read, or is not there yet.
  if (!batches.ok() && batches.error().code() == ErrorCode::not_found) {
    tail_.reset();
    if (log_->head().position < next_) {
      return std::vector<Batch>();
    }
    batches = next_sealed();
  }
  if (batches.ok() && !batches.value().empty()) {
    next_ = batches.value().back().position.next();
  }
  return batches;
}

Result<std::vector<Batch>> History::next_unsealed() {
  if (!tail_.has_value()) {
    HOLDFAST_TRY(tail_, log_->read(next_));
  }
  return tail_->next();
}

Result<std::vector<Batch>> History::next_sealed() {
  HOLDFAST_TRY(const auto record, find_seal(*log_, next_));
  HOLDFAST_TRY(auto entries, load_seal(*log_, record));
  HOLDFAST_TRY(auto batches, rebuild_batches(record, std::move(entries)));
  std::erase_if(batches, [this](const Batch& batch) { return batch.position < next_; });
  return batches;
}

}  // namespace holdfast
