// ThreadId: the name of a thread, for example "run:0192…" or "dispatch:default". Two or more
// parts joined by ':'. A part starts with a letter or digit, followed by letters, digits,
// '_', '.' and '-'. At most kMaxThreadBytes long. No name needs escaping anywhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/counter.h"
#include "holdfast/result.h"

namespace holdfast {

// Number of entries of a thread; also the sequence number of its next entry.
using Revision = Counter<struct RevisionTag>;

inline constexpr std::size_t kMaxThreadBytes = 256;

class ThreadId {
 public:
  // invalid_thread, saying what is wrong.
  static Result<ThreadId> parse(std::string_view text);
  // For names that are valid by construction: nothing is checked.
  static ThreadId trusted(std::string text) { return ThreadId(std::move(text)); }

  [[nodiscard]] const std::string& text() const { return text_; }
  friend auto operator<=>(const ThreadId&, const ThreadId&) = default;

 private:
  explicit ThreadId(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

bool is_thread_id(std::string_view text);

}  // namespace holdfast
