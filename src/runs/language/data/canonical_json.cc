#include "runs/language/data/canonical_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json_slice.h"
#include "base/json_value.h"
#include "base/json_writer.h"
#include "holdfast/assert.h"

namespace holdfast {

namespace {

constexpr double kMaxExact = 9007199254740992.0;  // 2^53: up to here doubles count every integer

template <typename T>
std::optional<T> read(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  return failed == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// Reads the text itself: the parser behind Json is off by the last bit of some doubles, and then
// the canonical form would not be canonical itself.
void append_number(std::string& out, std::string_view text) {
  if (const auto integer = read<std::int64_t>(text)) {
    out += std::to_string(*integer);
  } else if (const auto large = read<std::uint64_t>(text)) {
    out += std::to_string(*large);
  } else if (const auto number = read<double>(text); !number || !std::isfinite(*number)) {
    out += text;
  } else if (std::trunc(*number) == *number && std::abs(*number) <= kMaxExact) {
    out += std::to_string(static_cast<std::int64_t>(*number));
  } else {
    out += fmt::format("{}", *number);
  }
}

void append_string(std::string& out, std::string_view slice) {
  if (const auto text = json_string_value(slice)) {
    append_json_string(out, *text);
  } else {
    out += slice;  // half a surrogate pair: it cannot be written in another way
  }
}

void append_value(std::string& out, std::string_view value);

void append_list(std::string& out, std::string_view list) {
  out += '[';
  JsonSlicer slicer(list);
  bool first = true;
  while (const auto item = slicer.next()) {
    out += first ? "" : ",";
    append_value(out, item->value);
    first = false;
  }
  out += ']';
}

struct Member {
  std::string name;     // the sort key
  std::string literal;  // the name in canonical form
  std::string_view value;
};

std::vector<Member> sorted_members(std::string_view object) {
  std::vector<Member> members;
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    const std::string written = fmt::format("\"{}\"", member->name);
    Member sorted{json_string_value(written).value_or(written), {}, member->value};
    append_string(sorted.literal, written);
    members.push_back(std::move(sorted));
  }
  // Stable: of members with the same name the last one stays last.
  std::stable_sort(members.begin(), members.end(), [](const Member& left, const Member& right) {
    return std::tie(left.name, left.literal) < std::tie(right.name, right.literal);
  });
  return members;
}

void append_object(std::string& out, std::string_view object) {
  const std::vector<Member> members = sorted_members(object);
  out += '{';
  bool first = true;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i + 1 < members.size() && members[i + 1].literal == members[i].literal) {
      continue;
    }
    out += first ? "" : ",";
    out += members[i].literal;
    out += ':';
    append_value(out, members[i].value);
    first = false;
  }
  out += '}';
}

void append_value(std::string& out, std::string_view value) {
  switch (value.front()) {
    case '{':
      return append_object(out, value);
    case '[':
      return append_list(out, value);
    case '"':
      return append_string(out, value);
    case 't':
    case 'f':
    case 'n':
      out += value;
      return;
    default:
      return append_number(out, value);
  }
}

}  // namespace

std::string canonical_json(std::string_view json) {
  std::string out;
  if (is_compact_json(json)) {
    append_value(out, json);
    return out;
  }
  const auto compact = JsonText::parse(json);
  HOLDFAST_ASSERT(compact.ok());
  append_value(out, compact.value().view());
  return out;
}

}  // namespace holdfast
