// Sealing: one step moves the oldest batches, up to a size, into segments and trims them away,
// in one atomic update. A process that dies between two steps leaves a complete journal.
#include <algorithm>
#include <map>

#include "storage/journal/journal.h"
#include "storage/journal/journal_keys.h"
#include "storage/journal/journal_segment.h"

namespace holdfast {

namespace {

// A long thread is split into segments of about this size, so that reading a part of it does not
// decompress the rest.
constexpr std::size_t kSegmentBytes = 1U << 20U;

// Collects the entries of one step by thread.
class StepBuilder {
 public:
  StepBuilder(Position from, const Digest& chain_before) {
    record_.from = from;
    record_.to = from;
    record_.chain_before = chain_before;
    record_.chain_after = chain_before;
  }

  Result<void> add(const Batch& batch) {
    BodyScanner scanner(batch.position, batch.body);
    for (;;) {
      HOLDFAST_TRY(const auto entry, scanner.next());
      if (!entry.has_value()) {
        break;
      }
      add_entry(batch.position, scanner.count() - 1, *entry);
    }
    record_.entries += scanner.count();
    record_.to = batch.position.next();
    record_.chain_after = batch.chain;
    bytes_ += batch.body.size();
    return {};
  }

  [[nodiscard]] const SealRecord& record() const { return record_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  SideUpdate finish(SealReport& report) {
    for (auto& [thread, open] : threads_) {
      close_segment(thread, open);
      update_.puts.push_back(SidePair{thread_key(thread), pack_sealed_revision(open.next)});
    }
    for (const SidePair& pair : update_.puts) {
      report.bytes_after += pair.value.size();
    }
    report.batches += record_.to.value - record_.from.value;
    report.entries += record_.entries;
    report.segments += record_.segment_keys.size();
    report.bytes_before += bytes_;
    update_.puts.push_back(SidePair{seal_key(record_.from), pack_seal(record_)});
    update_.trim = Trim{record_.from, record_.to, {}};
    return std::move(update_);
  }

 private:
  struct OpenSegment {
    Revision first;
    Revision next;
    std::string text;
  };

  void add_entry(Position position, std::uint32_t index, const EntryView& entry) {
    auto found = threads_.find(entry.thread);
    if (found == threads_.end()) {
      found =
          threads_.emplace(std::string(entry.thread), OpenSegment{entry.seq, entry.seq, {}}).first;
    }
    OpenSegment& open = found->second;
    append_segment_line(open.text, position, index, entry.raw);
    open.next = entry.seq.next();
    if (open.text.size() >= kSegmentBytes) {
      close_segment(found->first, open);
    }
  }

  void close_segment(const std::string& thread, OpenSegment& open) {
    if (open.text.empty()) {
      return;
    }
    std::string key = segment_key(thread, open.first);
    update_.puts.push_back(SidePair{key, pack_segment(open.text)});
    record_.segment_keys.push_back(std::move(key));
    open.first = open.next;
    open.text.clear();
  }

  SealRecord record_;
  std::map<std::string, OpenSegment, std::less<>> threads_;
  SideUpdate update_;
  std::size_t bytes_ = 0;
};

Result<Position> seal_step(Log& log, const StoreState& state, Position below,
                           std::size_t step_bytes, SealReport& report) {
  HOLDFAST_TRY(auto reader, log.read(state.start));
  StepBuilder step(state.start, state.anchor);
  while (step.record().to < below && step.bytes() < step_bytes) {
    const auto rows = static_cast<std::size_t>(below.value - step.record().to.value);
    HOLDFAST_TRY(const auto batches,
                 reader.next(ReadLimit{.max_rows = rows, .max_bytes = step_bytes - step.bytes()}));
    for (const Batch& batch : batches) {
      HOLDFAST_CHECK(step.add(batch));
    }
  }
  const Position sealed_to = step.record().to;
  SealReport sealed = report;
  HOLDFAST_CHECK(log.update(step.finish(sealed)));
  report = sealed;
  return sealed_to;
}

}  // namespace

Result<SealReport> Journal::seal(const SealOptions& options) {
  const std::scoped_lock one_seal(seal_mutex_);
  HOLDFAST_CHECK(catch_up());
  SealReport report;
  for (;;) {
    HOLDFAST_TRY(const auto state, log_->refresh());
    const Position below = std::min(options.below.value_or(state.head), state.head);
    if (below <= state.start) {
      break;
    }
    auto step = seal_step(*log_, state, below, options.step_bytes, report);
    if (!step.ok() && step.error().code() == ErrorCode::not_found) {
      return Error{ErrorCode::conflict, "another process seals too: " + step.error().text()};
    }
    HOLDFAST_TRY(const Position sealed_to, std::move(step));
    const std::scoped_lock lock(mutex_);
    directory_.forget_below(sealed_to);
    ever_sealed_ = true;
  }
  HOLDFAST_CHECK(save_directory());
  return report;
}

}  // namespace holdfast
