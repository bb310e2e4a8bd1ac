#include "runs/language/yaml/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/json_slice.h"
#include "base/json_writer.h"
#include "base/quote.h"

namespace holdfast {

namespace {

using Read = std::variant<ScalarJson, ScalarRefused>;

constexpr std::string_view kCorePrefix = "tag:yaml.org,2002:";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_octal(char c) { return c >= '0' && c <= '7'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_sign(char c) { return c == '+' || c == '-'; }

template <typename Fits>
bool all_of(std::string_view text, const Fits& fits) {
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

std::string_view without_sign(std::string_view text) {
  return !text.empty() && is_sign(text.front()) ? text.substr(1) : text;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

Read too_large(std::string_view text) {
  return ScalarRefused{
      fmt::format("the number {} is too large; quote it if it is meant as a string",
                  printable(text, kMaxShownBytes))};
}

std::optional<Read> read_null(std::string_view text) {
  return is_one_of(text, {"", "~", "null", "Null", "NULL"})
             ? std::optional<Read>(ScalarJson{"null"})
             : std::nullopt;
}

std::optional<Read> read_boolean(std::string_view text) {
  if (is_one_of(text, {"true", "True", "TRUE"})) {
    return ScalarJson{"true"};
  }
  return is_one_of(text, {"false", "False", "FALSE"}) ? std::optional<Read>(ScalarJson{"false"})
                                                      : std::nullopt;
}

std::optional<Read> read_integer(std::string_view text) {
  constexpr int kOctal = 8;
  constexpr int kDecimal = 10;
  constexpr int kHexadecimal = 16;
  int base = kDecimal;
  std::string_view digits = without_sign(text);
  if (text.starts_with("0o") && all_of(text.substr(2), is_octal)) {
    base = kOctal;
    digits = text.substr(2);
  } else if (text.starts_with("0x") && all_of(text.substr(2), is_hex)) {
    base = kHexadecimal;
    digits = text.substr(2);
  } else if (!all_of(digits, is_digit)) {
    return std::nullopt;
  }
  const char* const end = digits.data() + digits.size();
  std::uint64_t size = 0;
  if (std::from_chars(digits.data(), end, size, base).ec != std::errc{}) {
    return too_large(text);
  }
  const bool negative = text.front() == '-' && size > 0;
  if (negative && size > std::uint64_t{1} << 63U) {
    return too_large(text);
  }
  return ScalarJson{fmt::format("{}{}", negative ? "-" : "", size)};
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool looks_like_float(std::string_view text) {
  text = without_sign(text);
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    if (!all_of(without_sign(text.substr(e + 1)), is_digit)) {
      return false;
    }
    text = text.substr(0, e);
  }
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) {
    return all_of(text, is_digit);
  }
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = text.substr(point + 1);
  return (!whole.empty() || !fraction.empty()) && (whole.empty() || all_of(whole, is_digit)) &&
         (fraction.empty() || all_of(fraction, is_digit));
}

std::optional<Read> read_float(std::string_view text) {
  if (is_one_of(without_sign(text), {".inf", ".Inf", ".INF"}) ||
      is_one_of(text, {".nan", ".NaN", ".NAN"})) {
    return ScalarRefused{
        fmt::format("{} is not a number in JSON; quote it if it is meant as a string", text)};
  }
  if (!looks_like_float(text)) {
    return std::nullopt;
  }
  const std::string_view number = text.starts_with('+') ? text.substr(1) : text;
  double value = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc{}) {
    return too_large(text);
  }
  if (is_compact_json(text)) {
    return ScalarJson{std::string(text)};
  }
  JsonWriter writer;
  writer.number(value);
  return ScalarJson{std::move(writer).take()};
}

std::optional<Read> read_number(std::string_view text) {
  auto integer = read_integer(text);
  return integer.has_value() ? integer : read_float(text);
}

Read read_plain(std::string_view text) {
  for (const auto read : {read_null, read_boolean, read_number}) {
    if (auto found = read(text)) {
      return *std::move(found);
    }
  }
  return ScalarJson{json_string(text)};
}

}  // namespace

std::variant<ScalarJson, ScalarRefused> scalar_json(std::string_view tag, std::string_view text) {
  if (tag == "?") {
    return read_plain(text);
  }
  if (tag == "!") {
    return ScalarJson{json_string(text)};
  }
  const std::string_view name = tag.starts_with(kCorePrefix) ? tag.substr(kCorePrefix.size()) : "";
  std::optional<Read> read;
  if (name == "str") {
    read = ScalarJson{json_string(text)};
  } else if (name == "null") {
    read = read_null(text);
  } else if (name == "bool") {
    read = read_boolean(text);
  } else if (name == "int") {
    read = read_integer(text);
  } else if (name == "float") {
    read = read_number(text);
  } else {
    return ScalarRefused{
        fmt::format("unknown tag {}; use !!str, !!int, !!float, !!bool or !!null, or remove it",
                    printable(tag, kMaxShownBytes))};
  }
  return read.has_value() ? *std::move(read)
                          : ScalarRefused{fmt::format("the value does not fit the tag !!{}", name)};
}

bool is_map_tag(std::string_view tag) {
  return tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:map";
}
bool is_list_tag(std::string_view tag) {
  return tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:seq";
}

}  // namespace holdfast
