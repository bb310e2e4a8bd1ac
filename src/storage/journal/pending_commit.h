// PendingCommit: a commit between the caller and the disk.
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "storage/journal/commit_buffer.h"
#include "storage/journal/journal.h"

namespace holdfast {

struct PendingCommit {
  using Part = CommitPart;

  PendingCommit() = default;
  PendingCommit(Position head, CommitBuffer&& buffer);

  std::vector<Part> parts;
  std::optional<Position> expected_head;  // of a commit that depends on the whole log
  // The entries of all parts, encoded but for their heads, which wait for their numbers.
  std::string tails;
  std::vector<std::size_t> tail_ends;
  std::size_t bytes = 0;  // about what it adds to a body
  bool waited_for = false;

  // Who waits sleeps here and not on the journal's lock: waking a large group costs no fight
  // for it.
  enum class Signal : int { none, lead, done };
  std::atomic<Signal> signal = Signal::none;
  // Set before the signal is done; not touched after.
  std::optional<Result<Committed>> result;

  [[nodiscard]] Committed committed_at(Position position) const {
    Committed committed{position, {}};
    for (const Part& part : parts) {
      committed.revisions.push_back(part.first.plus(part.count));
    }
    return committed;
  }

  void wake(Signal with) {
    signal.store(with, std::memory_order_release);
    signal.notify_one();
  }
};

// Checks everything that does not depend on the state of the journal: empty_entries,
// missing_fields, invalid_argument (one thread twice, nothing to commit), too_large.
Result<Ticket> prepare_commit(const Commit& commit);
// empty_entries, too_large.
Result<Ticket> prepare_commit_at(Position expected_head, CommitBuffer&& commit);

// The body of the batch that holds these commits, whose entries have their numbers.
std::string build_body(const std::deque<Ticket>& batch);

}  // namespace holdfast
