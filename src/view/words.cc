#include "view/words.h"

#include <fmt/format.h>

#include <optional>

#include "base/json_slice.h"
#include "base/text.h"
#include "data/path.h"
#include "definition/definition.h"

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

}  // namespace

std::string duration_text(std::int64_t ms) {
  if (ms < 0) {
    return "-" + duration_text(-ms);
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

std::string one_line(std::string_view text, std::size_t max_bytes) {
  std::string line;
  while (!text.empty() && line.size() < max_bytes) {
    const std::size_t length = utf8_sequence_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0 || first < 0x20U || first == 0x7fU) {
      line += ' ';
    } else {
      line += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return text.empty() ? line : line + "...";
}

std::string step_of_key(std::string_view runnable_key) {
  constexpr std::size_t kRunIdBytes = 36;
  const std::size_t end = runnable_key.rfind(':');
  return runnable_key.size() > kRunIdBytes + 1 && end > kRunIdBytes && end != std::string_view::npos
             ? std::string(runnable_key.substr(kRunIdBytes + 1, end - kRunIdBytes - 1))
             : std::string(runnable_key);
}

std::string handler_text(std::string_view handler) {
  return std::string(handler == kExecHandler ? "exec" : handler == kHttpHandler ? "http" : handler);
}

std::string error_text(const Payload& error) {
  if (!error.is_object()) {
    return one_line(error.view());
  }
  const ObjectView object(error.view());
  const auto text = [&](std::string_view name) {
    const auto member = object.member(name);
    return member.has_value() ? json_string_value(*member).value_or("") : std::string();
  };
  std::string message = text("message");
  const std::string code = text("code");
  // What a process said last tells more than that it failed.
  const auto details = object.member("details");
  const auto said = details.has_value() ? ObjectView(*details).member("stderr") : std::nullopt;
  if (const std::string line = last_line(said); !line.empty()) {
    message += (message.empty() ? "" : ": ") + line;
  }
  if (message.empty()) {
    return one_line(code.empty() ? error.view() : std::string_view(code));
  }
  return one_line(code.empty() ? message : fmt::format("{} [{}]", message, code));
}

}  // namespace holdfast
