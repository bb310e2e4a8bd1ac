// The characters of HTTP (RFC 9110 section 5): names, values and targets.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace holdfast::net {

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = lower(c);
  }
  return out;
}

inline bool same_ignoring_case(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) {
    return false;
  }
  for (std::size_t at = 0; at < left.size(); ++at) {
    if (lower(left[at]) != lower(right[at])) {
      return false;
    }
  }
  return true;
}

// -1 if it is not a hexadecimal digit.
inline int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

namespace detail {

consteval std::array<bool, 256> token_table() {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789"
                                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
inline constexpr std::array<bool, 256> kToken = token_table();

}  // namespace detail

inline bool is_token(std::string_view text) {
  for (const char c : text) {
    if (!detail::kToken[static_cast<unsigned char>(c)]) {
      return false;
    }
  }
  return !text.empty();
}

// A tab, or any byte from the space on except DEL.
inline bool is_value_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}

inline bool is_value(std::string_view text) {
  for (const char c : text) {
    if (!is_value_character(c)) {
      return false;
    }
  }
  return true;
}

// Without leading and trailing spaces and tabs.
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace holdfast::net
