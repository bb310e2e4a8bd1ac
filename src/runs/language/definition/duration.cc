#include "runs/language/definition/duration.h"

#include <algorithm>
#include <array>

namespace holdfast {

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_while(std::string_view& text, bool digits) {
  const auto* end =
      std::find_if(text.begin(), text.end(), [&](char c) { return is_digit(c) != digits; });
  const std::string_view taken = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(taken.size());
  return taken;
}

constexpr std::uint64_t kTooLong = UINT64_MAX;

std::uint64_t times(std::uint64_t left, std::uint64_t right) {
  return left > kTooLong / right ? kTooLong : left * right;
}
std::uint64_t plus(std::uint64_t left, std::uint64_t right) {
  return left > kTooLong - right ? kTooLong : left + right;
}

}  // namespace

std::optional<std::uint64_t> parse_duration(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  std::uint64_t total = 0;
  const auto* allowed = kUnits.begin();
  while (!text.empty()) {
    const std::string_view digits = take_while(text, true);
    const std::string_view unit = take_while(text, false);
    const auto* found =
        std::find_if(allowed, kUnits.end(), [&](const Unit& known) { return known.name == unit; });
    if (digits.empty() || found == kUnits.end()) {
      return std::nullopt;
    }
    allowed = found + 1;
    std::uint64_t count = 0;
    for (const char c : digits) {
      count = plus(times(count, 10), static_cast<std::uint64_t>(c - '0'));
    }
    total = plus(total, times(count, found->ms));
  }
  return total;
}

}  // namespace holdfast
