// PendingCommit: a commit between the caller and the disk.
#pragma once

#include <condition_variable>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "journal/journal.h"

namespace holdfast {

struct PendingCommit {
  struct Part {
    std::string thread;
    std::optional<Revision> expected_rev;
    std::size_t count = 0;  // entries
    Revision first;         // the number of the first of them
  };

  std::vector<Part> parts;
  // The entries of all parts, encoded but for their heads, which wait for their numbers.
  std::string tails;
  std::vector<std::size_t> tail_ends;
  std::size_t bytes = 0;  // about what it adds to a body
  bool waited_for = false;
  std::optional<Result<Committed>> result;
  std::condition_variable finished;

  void finish(Result<Committed> outcome) {
    result.emplace(std::move(outcome));
    finished.notify_all();
  }
};

// Checks everything that does not depend on the state of the journal: empty_entries,
// missing_fields, invalid_argument (one thread twice, nothing to commit), too_large.
Result<Ticket> prepare_commit(const Commit& commit);

// The body of the batch that holds these commits, whose entries have their numbers.
std::string build_body(const std::deque<Ticket>& batch);

}  // namespace holdfast
