#include "base/base64.h"

#include <algorithm>

#include "base/encoding.h"

namespace holdfast {

namespace {

// Both alphabets have the same letters and digits.
void replace_both(std::string& text, std::string_view from, std::string_view to) {
  std::ranges::replace(text, from[0], to[0]);
  std::ranges::replace(text, from[1], to[1]);
}

}  // namespace

std::string to_base64(std::span<const std::byte> bytes) {
  std::string text = to_base64url(bytes);
  replace_both(text, "-_", "+/");
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

Result<std::vector<std::byte>> from_base64(std::string_view text) {
  const std::string_view digits = text.substr(0, text.find('='));
  if (text.size() % 4 != 0 || text.size() - digits.size() != (4 - digits.size() % 4) % 4 ||
      text.substr(digits.size()).find_first_not_of('=') != std::string_view::npos ||
      digits.find_first_of("-_") != std::string_view::npos) {
    return Error{ErrorCode::invalid_argument, "base64 text is not complete"};
  }
  std::string url_form(digits);
  replace_both(url_form, "+/", "-_");
  return from_base64url(url_form);
}

}  // namespace holdfast
