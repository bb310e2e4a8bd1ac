#include "apps/server/server_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "runs/language/data/iso8601.h"

namespace holdfast {

namespace {

// A word, or a JSON string when it would not be one word.
std::string word(std::string_view value) {
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c != '"' && c != '=' && c != 0x7f;
  });
  if (plain) {
    return std::string(value);
  }
  JsonWriter json;
  json.string(value);
  return std::move(json).take();
}

// DEL and the control characters of Latin-1, which JSON leaves as they are.
std::string without_controls(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    const auto next = static_cast<unsigned char>(i + 1 < line.size() ? line[i + 1] : 0);
    if (byte == 0x7f) {
      out += "\\u007f";
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      out += line[i];
    }
  }
  return out;
}

}  // namespace

ServerLog::ServerLog(Clock& clock, LogLevel level, LogForm form,
                     std::function<void(std::string_view line)> sink)
    : clock_(clock), level_(level), form_(form), sink_(std::move(sink)) {}

void ServerLog::write(LogLevel level, std::string_view message, const Fields& fields) {
  if (!enabled(level)) {
    return;
  }
  std::string line;
  if (form_ == LogForm::json) {
    JsonWriter json;
    json.begin_object().member("at", iso8601_time(clock_.now())).member("level", to_text(level));
    json.member("message", message);
    for (const auto& [name, value] : fields) {
      json.member(name, value);
    }
    json.end_object();
    line = std::move(json).take();
  } else {
    line =
        iso8601_time(clock_.now()) + " " + std::string(to_text(level)) + " " + std::string(message);
    for (const auto& [name, value] : fields) {
      line += " " + std::string(name) + "=" + word(value);
    }
  }
  line = without_controls(line) + '\n';
  const std::scoped_lock lock(mutex_);
  sink_(line);
}

}  // namespace holdfast
