// Payloads of live attempts that are too large for memory, read from the journal when a worker or a
// view needs them. The loop decides without them.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "runs/engine/claim_request.h"
#include "storage/journal/batch_cache.h"
#include "storage/journal/journal.h"

namespace holdfast {

// The input of an assignment whose queue keeps only where it is.
Result<void> read_input(Journal& journal, Assignment& assignment, BatchCache* cache = nullptr);
// The same for how an attempt ended; nothing to do when everything is there.
Result<void> read_outcome(Journal& journal, const SharedText& queue, Outcome& outcome);

// InputReader: reads the inputs of assignments before workers get them, from any thread. Attempts
// that are claimed together were mostly scheduled together, so some batches are kept.
class InputReader {
 public:
  // The journal must outlive this.
  explicit InputReader(Journal& journal) : journal_(journal) {}

  // Each assignment with its input, or the error that kept it from being read.
  std::vector<Result<Assignment>> fill_in(std::vector<Assignment> assignments) {
    std::vector<Result<Assignment>> filled;
    filled.reserve(assignments.size());
    for (Assignment& assignment : assignments) {
      const Result<void> read = fill_in(assignment);
      filled.push_back(read.ok() ? Result<Assignment>(std::move(assignment))
                                 : Result<Assignment>(read.error()));
    }
    return filled;
  }
  // The claims whose inputs could not be read since the last call: no worker executes them.
  std::vector<SharedText> take_failed() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(failed_, {});
  }

 private:
  Result<void> fill_in(Assignment& assignment) {
    if (!assignment.stored_input.has_value()) {
      return {};
    }
    const std::scoped_lock lock(mutex_);
    Result<void> read = read_input(journal_, assignment, &cache_);
    if (!read.ok()) {
      failed_.push_back(assignment.claim_id);
    }
    return read;
  }

  static constexpr std::size_t kCacheBytes = 8U << 20U;

  Journal& journal_;
  std::mutex mutex_;
  BatchCache cache_{kCacheBytes};
  std::vector<SharedText> failed_;
};

}  // namespace holdfast
