// CommitBuffer: the entries of one commit, written straight into the form they have in a batch,
// in the order they are added. Nothing is copied on the way to the body.
//
// What was added last can be taken back: truncate(mark).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "holdfast/result.h"
#include "storage/entry/entry.h"
#include "storage/entry/thread_id.h"

namespace holdfast {

// Entries of one thread that follow each other in a commit.
struct CommitPart {
  std::string thread;
  std::optional<Revision> expected_rev;
  std::size_t count = 0;
  Revision first;  // the number of the first of them, once it is known
};

class CommitBuffer {
 public:
  // write(out) appends the data, one JSON object, and returns a Result<void>; its error is handed
  // on and nothing is added. too_large when the data is. The thread's name and the kind must be
  // valid.
  template <typename WriteData>
  Result<void> add(const ThreadId& thread, std::string_view kind, TimeMs at, WriteData write) {
    const std::size_t begin = tails_.size();
    append_tail_head(tails_, kind, at);
    const std::size_t data = tails_.size();
    Result<void> written = write(tails_);
    if (written.ok() && tails_.size() - data > kMaxDataBytes) {
      written = too_large(kind, tails_.size() - data);
    }
    if (!written.ok()) {
      tails_.resize(begin);
      return written;
    }
    tails_ += '}';
    tail_ends_.push_back(tails_.size());
    if (parts_.empty() || parts_.back().thread != thread.text()) {
      parts_.push_back(CommitPart{thread.text(), std::nullopt, 0, {}});
    }
    ++parts_.back().count;
    return {};
  }

  [[nodiscard]] bool empty() const { return tail_ends_.empty(); }
  [[nodiscard]] std::size_t entries() const { return tail_ends_.size(); }
  [[nodiscard]] std::size_t bytes() const { return tails_.size(); }

  struct Mark {
    std::size_t parts;
    std::size_t last_count;
    std::size_t entries;
    std::size_t bytes;
  };
  [[nodiscard]] Mark mark() const {
    return {parts_.size(), parts_.empty() ? 0 : parts_.back().count, tail_ends_.size(),
            tails_.size()};
  }
  void truncate(const Mark& mark);

 private:
  friend struct PendingCommit;
  static Error too_large(std::string_view kind, std::size_t bytes);

  std::vector<CommitPart> parts_;
  // The entries but for their heads, which wait for their numbers.
  std::string tails_;
  std::vector<std::size_t> tail_ends_;
};

}  // namespace holdfast
