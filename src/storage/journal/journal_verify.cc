#include "storage/journal/journal_verify.h"

#include <map>
#include <string>

#include "storage/journal/journal_directory.h"
#include "storage/journal/journal_history.h"
#include "storage/journal/journal_keys.h"

namespace holdfast {

namespace {

Error wrong_revision(std::string_view thread, std::uint64_t stored, std::uint64_t counted) {
  return Error{ErrorCode::invalid_journal_thread,
               "thread " + std::string(thread) + " is recorded with " + std::to_string(stored) +
                   " sealed entries, but has " + std::to_string(counted)}
      .with("thread", thread)
      .with("reason", "rev_mismatch");
}

// Every thread record must agree with the sealed batches, and every sealed thread must have one.
Result<void> check_thread_records(Log& log, const std::map<std::string, std::uint64_t>& sealed) {
  std::size_t records = 0;
  std::string next(kThreadPrefix);
  for (;;) {
    HOLDFAST_TRY(const auto pairs,
                 log.scan(SideScan{.prefix = std::string(kThreadPrefix), .from = next}));
    if (pairs.empty()) {
      break;
    }
    for (const SidePair& pair : pairs) {
      const std::string thread = pair.key.substr(kThreadPrefix.size());
      HOLDFAST_TRY(const Revision stored, unpack_sealed_revision(thread, pair.value));
      const auto counted = sealed.find(thread);
      if (counted == sealed.end() || counted->second != stored.value) {
        return wrong_revision(thread, stored.value, counted == sealed.end() ? 0 : counted->second);
      }
      ++records;
    }
    next = pairs.back().key + '\0';
  }
  if (records != sealed.size()) {
    return Error{ErrorCode::invalid_journal_thread,
                 std::to_string(sealed.size() - records) +
                     " threads have sealed entries but no record of their revision"}
        .with("reason", "rev_mismatch");
  }
  return {};
}

// Follows the revisions of all threads.
class RevisionCounter {
 public:
  Result<std::uint32_t> add(const Batch& batch) {
    BodyScanner scanner(batch.position, batch.body);
    for (;;) {
      HOLDFAST_TRY(const auto entry, scanner.next());
      if (!entry.has_value()) {
        return scanner.count();
      }
      std::uint64_t& revision = revisions_[std::string(entry->thread)];
      if (entry->seq.value != revision) {
        return Error{ErrorCode::invalid_journal_entry,
                     "batch " + std::to_string(batch.position.value) + ": thread " +
                         std::string(entry->thread) + " goes from revision " +
                         std::to_string(revision) + " to entry " + std::to_string(entry->seq.value)}
            .with("position", batch.position.value)
            .with("seq", entry->seq.value)
            .with("reason", "seq_gap");
      }
      ++revision;
    }
  }

  [[nodiscard]] const std::map<std::string, std::uint64_t>& revisions() const { return revisions_; }

 private:
  std::map<std::string, std::uint64_t> revisions_;
};

}  // namespace

Result<VerifyReport> verify_journal(Log& log, const Progress& progress) {
  HOLDFAST_TRY(const auto state, log.refresh());
  VerifyReport report;
  report.chain = state.anchor;
  RevisionCounter counter;
  std::map<std::string, std::uint64_t> sealed;
  History history(log);
  while (report.head < state.head) {
    HOLDFAST_TRY(const auto batches, history.next());
    for (const Batch& batch : batches) {
      if (batch.position == state.start) {
        sealed = counter.revisions();
      }
      HOLDFAST_TRY(const auto entries, counter.add(batch));
      report.entries += entries;
      report.batches += 1;
      report.sealed_batches += batch.position < state.start ? 1U : 0U;
      report.head = batch.position;
      report.chain = batch.chain;
    }
    if (progress) {
      progress(ProgressPoint{report.head.value, state.head.value});
    }
  }
  if (report.head == state.head && state.head.value > 0 && report.chain != state.head_chain) {
    return Error{ErrorCode::corrupt_log, "the newest batch does not match the recorded head"}
        .with("position", state.head.value)
        .with("reason", "chain_mismatch");
  }
  HOLDFAST_CHECK(check_thread_records(log, sealed));
  report.threads = counter.revisions().size();
  return report;
}

}  // namespace holdfast
