// Reads a JSON text without building a document: each member or item is returned as a slice of the
// text. The whole text is checked on the way: strict JSON, UTF-8, nested at most kMaxJsonDepth
// deep. Nothing is allocated.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// One value and nothing else, without white space between tokens.
bool is_compact_json(std::string_view text);

struct JsonMember {
  std::string_view name;   // as it is written, without the quotes: escapes are not resolved
  std::string_view value;  // the slice of the value
};

// Walks the members of an object or the items of an array (name stays empty).
class JsonSlicer {
 public:
  explicit JsonSlicer(std::string_view text) : text_(text) {}

  // The next member or item; empty at the end, or if the text is not a valid JSON object or array:
  // then valid() is false.
  std::optional<JsonMember> next();
  // True once the end was reached and nothing was wrong.
  [[nodiscard]] bool valid() const { return state_ == State::done; }

 private:
  enum class State { before, inside, done, broken };
  std::optional<JsonMember> broken() {
    state_ = State::broken;
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  State state_ = State::before;
};

// The text of a JSON string literal, whose slice includes the quotes. Empty if it is not one.
std::optional<std::string> json_string_value(std::string_view slice);

}  // namespace holdfast
