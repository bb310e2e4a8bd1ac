// CommitBuffer: the entries of one commit, written directly in the form they have in a batch, in
// the order in which they are added. Nothing is copied on the way to the body.
//
// truncate(mark) removes the entries that were added last.
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

inline constexpr std::size_t kMaxCommitBytes = 64U << 20U;

struct ThreadAppend {
  ThreadId thread;
  std::optional<Revision> expected_rev;  // empty: at the current end, whatever it is
  std::vector<NewEntry> entries;
};

using Commit = std::vector<ThreadAppend>;

// Consecutive entries of one thread in a commit.
struct CommitPart {
  std::string thread;
  std::optional<Revision> expected_rev;
  std::size_t count = 0;
  Revision first;  // the number of the first of them, once it is known
};

class CommitBuffer {
 public:
  // empty_entries, missing_fields, invalid_argument (a thread named twice), invalid_json,
  // too_large.
  static Result<CommitBuffer> encode(const Commit& commit);

  // write(out) appends the data, one JSON object, and returns a Result<void>; on an error nothing
  // is added and the error is returned. too_large when the data is. The thread's name and the
  // kind must be valid.
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
    count_entry(thread.text());
    return {};
  }

  [[nodiscard]] bool empty() const { return tail_ends_.empty(); }
  [[nodiscard]] std::size_t entries() const { return tail_ends_.size(); }
  [[nodiscard]] std::size_t bytes() const { return tails_.size(); }
  // empty_entries, too_large.
  [[nodiscard]] Result<void> check() const;

  // In the order of the entries. The journal fills in the numbers.
  [[nodiscard]] std::vector<CommitPart>& parts() { return parts_; }
  // The body of the batch, with the numbers that the parts have.
  [[nodiscard]] std::string body() const;

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
  static Error too_large(std::string_view kind, std::size_t bytes);
  void count_entry(const std::string& thread);
  // The approximate length of the body.
  [[nodiscard]] std::size_t body_bytes() const;

  std::vector<CommitPart> parts_;
  // The entries without their heads, which need the numbers.
  std::string tails_;
  std::vector<std::size_t> tail_ends_;
};

}  // namespace holdfast
