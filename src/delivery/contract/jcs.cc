#include "delivery/contract/jcs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/json_slice.h"
#include "base/json_value.h"
#include "base/quote.h"
#include "base/text.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr double kMaxInteger = 9007199254740991.0;  // 2^53 - 1
constexpr double kFirstWithExponent = 1e21;

Error invalid(std::string message) { return Error{ErrorCode::invalid_json, std::move(message)}; }

// The digits of a positive number without a point, and where the point belongs: 0 is before the
// first digit.
struct Decimal {
  std::string digits;
  int point = 0;
};

Decimal shortest(double value) {
  std::array<char, 32> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  HOLDFAST_ASSERT(written.ec == std::errc());
  const std::string_view all(text.data(), static_cast<std::size_t>(written.ptr - text.data()));
  const std::size_t e = all.find('e');
  HOLDFAST_ASSERT(e != std::string_view::npos);
  Decimal decimal;
  for (const char c : all.substr(0, e)) {
    if (c != '.') {
      decimal.digits += c;
    }
  }
  const std::string_view exponent = all.substr(all[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), decimal.point);
  ++decimal.point;
  return decimal;
}

// Number::toString of ECMA-262: an exponent only from 1e21 on and below 1e-6.
void append_positive(std::string& out, double value) {
  const auto [digits, point] = shortest(value);
  const int count = static_cast<int>(digits.size());
  const auto split = static_cast<std::size_t>(std::clamp(point, 0, count));
  if (count <= point && point <= 21) {
    out += digits;
    out.append(static_cast<std::size_t>(point - count), '0');
  } else if (0 < point && point <= 21) {
    out += fmt::format("{}.{}", digits.substr(0, split), digits.substr(split));
  } else if (-6 < point && point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-point), '0');
    out += digits;
  } else {
    out += digits[0];
    out += count > 1 ? "." + digits.substr(1) : "";
    out += fmt::format("e{:+}", point - 1);
  }
}

Result<void> append_number(std::string& out, std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  // out of range is also a number that is too small; it reads as 0, and that is another value.
  if (read.ec != std::errc() || !std::isfinite(value)) {
    return invalid(fmt::format("{} does not fit a double", quote(text)));
  }
  // With an exponent too: below 1e21 it would be written as an integer, which is refused.
  const bool integer =
      text.find_first_of(".eE") == std::string_view::npos || std::abs(value) < kFirstWithExponent;
  if (integer && std::abs(value) > kMaxInteger) {
    return invalid(
        fmt::format("the integer {} is beyond 2^53 - 1; write it as a string", quote(text)));
  }
  if (value == 0) {
    out += '0';
    return {};
  }
  out += value < 0 ? "-" : "";
  append_positive(out, std::abs(value));
  return {};
}

// The five short escapes that RFC 8785 wants, and \u00xx for the other control characters.
void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    constexpr std::string_view kPlain = "\"\\\b\t\n\f\r";
    constexpr std::string_view kEscaped = "\"\\btnfr";
    const std::size_t at = kPlain.find(c);
    if (at != std::string_view::npos) {
      out += '\\';
      out += kEscaped[at];
    } else if (static_cast<unsigned char>(c) < 0x20U) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

Result<std::string> string_value(std::string_view slice) {
  auto text = json_string_value(slice);
  if (!text.has_value()) {
    return invalid(fmt::format("the string {} holds half of a surrogate pair", quote(slice)));
  }
  return std::move(*text);
}

// Valid UTF-8 as UTF-16 code units.
std::u16string utf16(std::string_view text) {
  std::u16string units;
  units.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    HOLDFAST_ASSERT(length > 0);
    const auto first = static_cast<unsigned char>(text[0]);
    std::uint32_t point = length == 1 ? first : first & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
      point = point << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
    }
    if (point >= 0x10000U) {
      units += static_cast<char16_t>(0xD7C0U + (point >> 10U));
      point = 0xDC00U | (point & 0x3FFU);
    }
    units += static_cast<char16_t>(point);
    text.remove_prefix(length);
  }
  return units;
}

Result<void> append_value(std::string& out, std::string_view value, std::size_t depth);

Result<void> append_list(std::string& out, std::string_view list, std::size_t depth) {
  JsonSlicer slicer(list);
  out += '[';
  for (bool first = true; const auto item = slicer.next(); first = false) {
    out += first ? "" : ",";
    HOLDFAST_CHECK(append_value(out, item->value, depth));
  }
  out += ']';
  return {};
}

struct Member {
  std::u16string order;
  std::string name;
  std::string_view value;
};

Result<void> append_object(std::string& out, std::string_view object, std::size_t depth) {
  std::vector<Member> members;
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    HOLDFAST_TRY(std::string name, string_value(fmt::format("\"{}\"", member->name)));
    std::u16string order = utf16(name);
    members.push_back(Member{std::move(order), std::move(name), member->value});
  }
  std::sort(members.begin(), members.end(),
            [](const Member& left, const Member& right) { return left.order < right.order; });
  out += '{';
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i > 0 && members[i].order == members[i - 1].order) {
      return invalid(fmt::format("the name {} appears twice in an object", quote(members[i].name)));
    }
    out += i == 0 ? "" : ",";
    append_string(out, members[i].name);
    out += ':';
    HOLDFAST_CHECK(append_value(out, members[i].value, depth));
  }
  out += '}';
  return {};
}

// depth: how many lists and objects contain the value.
Result<void> append_value(std::string& out, std::string_view value, std::size_t depth) {
  const char first = value.front();
  if (first == '{' || first == '[') {
    if (depth == kMaxJcsDepth) {
      return invalid(fmt::format("JSON is nested more than {} levels deep", kMaxJcsDepth));
    }
    return first == '{' ? append_object(out, value, depth + 1) : append_list(out, value, depth + 1);
  }
  if (first == '"') {
    HOLDFAST_TRY(const std::string text, string_value(value));
    append_string(out, text);
    return {};
  }
  if (first == 't' || first == 'f' || first == 'n') {
    out += value;
    return {};
  }
  return append_number(out, value);
}

}  // namespace

Result<std::string> jcs(std::string_view json) {
  HOLDFAST_TRY(const JsonText compact, JsonText::parse(json));
  std::string out;
  out.reserve(compact.view().size());
  HOLDFAST_CHECK(append_value(out, compact.view(), 0));
  return out;
}

}  // namespace holdfast::delivery
