#include "storage/entry/thread_id.h"

#include <array>

namespace holdfast {

namespace {

enum class CharClass : std::uint8_t { other, first, later, colon };

constexpr std::array<CharClass, 256> classify() {
  std::array<CharClass, 256> classes{};
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const bool alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool inner = c == '_' || c == '.' || c == '-';
    classes[c] = alphanumeric ? CharClass::first
                 : inner      ? CharClass::later
                 : (c == ':') ? CharClass::colon
                              : CharClass::other;
  }
  return classes;
}

constexpr auto kClasses = classify();

}  // namespace

bool is_thread_id(std::string_view text) {
  if (text.size() > kMaxThreadBytes) {
    return false;
  }
  std::size_t colons = 0;
  bool part_start = true;
  for (const char c : text) {
    const CharClass found = kClasses[static_cast<unsigned char>(c)];
    if (found == CharClass::other || (part_start && found != CharClass::first)) {
      return false;
    }
    part_start = found == CharClass::colon;
    colons += part_start ? 1 : 0;
  }
  return colons > 0 && !part_start;
}

Result<ThreadId> ThreadId::parse(std::string_view text) {
  if (!is_thread_id(text)) {
    return Error{ErrorCode::invalid_thread,
                 "\"" + std::string(text.substr(0, kMaxThreadBytes)) +
                     "\" is not a thread name; one looks like run:42 or dispatch:default "
                     "(letters, digits, _ . - in parts joined by :, at most " +
                     std::to_string(kMaxThreadBytes) + " bytes)"};
  }
  return ThreadId(std::string(text));
}

}  // namespace holdfast
