#include "runs/view/view_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/json_slice.h"
#include "base/text.h"
#include "runs/language/data/path.h"
#include "runs/language/definition/definition.h"
#include "runs/run/redact.h"

namespace holdfast {

namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

std::string two_units(std::int64_t big, std::string_view big_unit, std::int64_t small,
                      std::string_view small_unit) {
  return small == 0 ? fmt::format("{} {}", big, big_unit)
                    : fmt::format("{} {} {} {}", big, big_unit, small, small_unit);
}

// Of a JSON string; empty when there is none.
std::string last_line(const std::optional<std::string_view>& json) {
  std::string text = json.has_value() ? json_string_value(*json).value_or("") : std::string();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  const std::size_t start = text.rfind('\n');
  return start == std::string::npos ? text : text.substr(start + 1);
}

// Control characters of ASCII and of Unicode, and what turns the direction of writing around.
bool is_harmful(std::string_view character) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(character[at]); };
  if (character.size() == 1) {
    return byte(0) < 0x20U || byte(0) == 0x7fU;
  }
  if (character.size() == 2) {
    return byte(0) == 0xc2U && byte(1) < 0xa0U;
  }
  if (character.size() != 3 || byte(0) != 0xe2U) {
    return false;
  }
  return (byte(1) == 0x80U &&
          (byte(2) == 0x8eU || byte(2) == 0x8fU || (byte(2) >= 0xa8U && byte(2) <= 0xaeU))) ||
         (byte(1) == 0x81U && byte(2) >= 0xa6U && byte(2) <= 0xa9U);
}

// The first character of a text that has one; a byte that is not part of any counts as one.
struct FirstCharacter {
  std::size_t bytes;  // it takes in the text
  std::string_view shown;
};
FirstCharacter first_character(std::string_view text) {
  const std::size_t length = utf8_sequence_length(text);
  const std::string_view character = text.substr(0, length);
  return length == 0             ? FirstCharacter{1, " "}
         : is_harmful(character) ? FirstCharacter{length, " "}
                                 : FirstCharacter{length, character};
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Takes what stands behind the last colon off the text; empty when there is none.
std::string_view take_last_part(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return {};
  }
  const std::string_view part = text.substr(colon + 1);
  text = text.substr(0, colon);
  return part;
}

}  // namespace

std::string duration_text(std::int64_t ms) {
  if (ms < 0) {
    return "-" + duration_text(-std::max(ms, -std::numeric_limits<std::int64_t>::max()));
  }
  if (ms < kSecond) {
    return fmt::format("{} ms", ms);
  }
  if (ms < kMinute) {
    return ms % kSecond == 0
               ? fmt::format("{} s", ms / kSecond)
               : fmt::format("{:.1f} s", static_cast<double>(ms - ms % 100) / kSecond);
  }
  if (ms < kHour) {
    return two_units(ms / kMinute, "min", ms % kMinute / kSecond, "s");
  }
  return ms < kDay ? two_units(ms / kHour, "h", ms % kHour / kMinute, "min")
                   : two_units(ms / kDay, "d", ms % kDay / kHour, "h");
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  const std::string_view plural_ending = number != 1 && many.empty() ? "s" : "";
  return fmt::format("{} {}{}", with_thousands(number), number == 1 || many.empty() ? one : many,
                     plural_ending);
}

std::string harmless(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const FirstCharacter first = first_character(text);
    out += first.shown;
    text.remove_prefix(first.bytes);
  }
  return out;
}

std::string one_line(std::string_view text, std::size_t max_bytes) {
  std::string line;
  while (!text.empty()) {
    const FirstCharacter first = first_character(text);
    if (line.size() + first.shown.size() > max_bytes) {
      return line + "...";
    }
    line += first.shown;
    text.remove_prefix(first.bytes);
  }
  return line;
}

std::string step_of_key(std::string_view runnable_key) {
  constexpr std::size_t kRunIdBytes = 36;
  if (runnable_key.size() <= kRunIdBytes + 1 || runnable_key[kRunIdBytes] != ':') {
    return std::string(runnable_key);
  }
  // What is left is charge:2, charge:2:timeout, charge:2:deferred or charge:2:deferred:3.
  std::string_view rest = runnable_key.substr(kRunIdBytes + 1);
  while (!rest.empty()) {
    std::string_view before = rest;
    const std::string_view last = take_last_part(before);
    if (last.empty()) {
      break;
    }
    rest = before;
    if (!is_number(last)) {
      continue;
    }
    const bool again = take_last_part(before) == "deferred" && is_number(take_last_part(before));
    if (!again) {
      return std::string(rest);
    }
  }
  return std::string(runnable_key);
}

std::string handler_text(std::string_view handler) {
  return std::string(handler == kExecHandler ? "exec" : handler == kHttpHandler ? "http" : handler);
}

std::string error_text(const Payload& error) {
  if (!error.is_object()) {
    return one_line(redact(error).view());
  }
  const ObjectView object(error.view());
  const auto text = [&](std::string_view name) {
    const auto member = object.member(name);
    return member.has_value() ? json_string_value(*member).value_or("") : std::string();
  };
  std::string message = text("message");
  const std::string code = text("code");
  // The last line that a process wrote is more helpful than the fact that it failed.
  const auto details = object.member("details");
  const auto said = details.has_value() ? ObjectView(*details).member("stderr") : std::nullopt;
  if (const std::string line = last_line(said); !line.empty()) {
    message += (message.empty() ? "" : ": ") + line;
  }
  if (message.empty()) {
    return one_line(code.empty() ? redact(error).view() : std::string_view(code));
  }
  return one_line(code.empty() ? message : fmt::format("{} [{}]", message, code));
}

}  // namespace holdfast
