#include "base/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {

namespace {

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && is_letter_or_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-';
         });
}

Result<void> check_name(std::string_view what, std::string_view name) {
  if (is_name(name)) {
    return {};
  }
  const std::string_view shown = name.substr(0, kMaxNameBytes);
  return Error{ErrorCode::invalid_argument,
               fmt::format("the {} \"{}\" is not a name: a letter or digit, then letters, digits, "
                           "'_', '.' and '-', at most {} bytes",
                           what, shown, kMaxNameBytes)}
      .with(what, shown);
}

}  // namespace holdfast
