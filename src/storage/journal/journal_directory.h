// Directory: what a journal keeps in memory about the threads that have entries in unsealed
// batches: their revisions, and the batches that hold their entries. It is a fold over batches and
// can be rebuilt at any time; threads that are sealed completely are not in it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "holdfast/result.h"
#include "storage/entry/position.h"
#include "storage/entry/thread_id.h"

namespace holdfast {

// A batch with entries of a thread, and the first of them.
struct ThreadBatch {
  Position position;
  Revision first;
  friend bool operator==(const ThreadBatch&, const ThreadBatch&) = default;
};

struct ThreadState {
  Revision sealed;                   // entries before this one are in segments
  Revision durable;                  // entries before this one are on disk
  std::vector<ThreadBatch> batches;  // where the unsealed entries are, ascending
};

class Directory {
 public:
  Directory() = default;
  Directory(Position before_first, const Digest& chain) : at_(before_first), chain_(chain) {}

  // The last batch that was folded.
  [[nodiscard]] Position at() const { return at_; }
  [[nodiscard]] const Digest& chain() const { return chain_; }
  [[nodiscard]] std::size_t thread_count() const { return threads_.size(); }

  // invalid_journal_entry (reason seq_gap, or those of BodyScanner) when the batch does not
  // continue its threads; the directory is then of no more use.
  Result<void> fold(Position position, std::string_view body, const Digest& chain);
  // The same for entries that this process has numbered and written itself.
  void add(Position position, std::string_view thread, Revision first, std::uint64_t count);
  void advance(Position position, const Digest& chain);

  [[nodiscard]] const ThreadState* find(std::string_view thread) const;
  // Drops batches below start, and threads that have no other batches.
  void forget_below(Position start);

  // The directory as bytes and back. Reading fails on anything not written by encode().
  [[nodiscard]] std::string encode() const;
  static Result<Directory> decode(std::string_view bytes);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  Position at_;
  Digest chain_{};
  std::unordered_map<std::string, ThreadState, Hash, std::equal_to<>> threads_;
};

}  // namespace holdfast
