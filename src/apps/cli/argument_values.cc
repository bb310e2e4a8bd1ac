#include "apps/cli/argument_values.h"

#include <fmt/format.h>

#include "base/json_keys.h"
#include "base/json_value.h"
#include "base/json_writer.h"
#include "base/read_file.h"
#include "runs/inspect/moment.h"
#include "runs/language/definition/duration.h"

namespace holdfast::cli {

namespace {

constexpr std::size_t kMaxArgumentBytes = 64U << 20U;

}  // namespace

std::string shell_word(std::string_view text) {
  const bool plain = !text.empty() && text.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_:/.,=@%+-") == std::string_view::npos;
  if (plain) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return word + "'";
}

Result<std::string> read_file_argument(const std::string& file) {
  const std::string_view name = file == "-" ? "standard input" : std::string_view(file);
  auto text = read_file(file, kMaxArgumentBytes);
  if (!text.ok()) {
    return Error{text.error().code(), fmt::format("{} {}", name, text.error().message())}.with(
        "path", file);
  }
  if (text.value().size() > kMaxArgumentBytes) {
    return Error{ErrorCode::too_large, fmt::format("{} is longer than 64 MiB", name)};
  }
  return text;
}

Result<std::string> json_argument(std::string_view field, const std::string& argument) {
  if (argument.empty()) {
    return std::string("{}");
  }
  std::string text = argument;
  if (argument == "-" || argument.starts_with('@')) {
    HOLDFAST_TRY(text, read_file_argument(argument == "-" ? argument : argument.substr(1)));
  }
  const auto json = JsonText::parse(text);
  if (!json.ok()) {
    return Error{ErrorCode::invalid_json, fmt::format("--{} needs a JSON object, @FILE or -: {}",
                                                      field, json.error().message())}
        .with("field", field);
  }
  if (!json.value().view().starts_with('{')) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--{} needs a JSON object: {{\"name\":\"value\"}}", field)}
        .with("field", field);
  }
  if (const auto unique = check_unique_keys(json.value()); !unique.ok()) {
    return Error(unique.error()).in(fmt::format("--{}", field)).with("field", field);
  }
  return text;
}

Result<std::string> attributes_argument(const std::vector<std::string>& attributes) {
  if (attributes.empty()) {
    return std::string();
  }
  JsonWriter json;
  json.begin_object();
  for (const std::string& attribute : attributes) {
    const std::size_t equals = attribute.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("--attribute needs NAME=VALUE, not \"{}\"", attribute)}
          .with("field", "attribute");
    }
    // 12, true and "12" are JSON values; everything else is text.
    const std::string value = attribute.substr(equals + 1);
    const auto parsed = JsonText::parse(value);
    const bool is_json = parsed.ok() && value != "null" && !value.starts_with('{');
    json.key(attribute.substr(0, equals));
    if (is_json) {
      json.raw(parsed.value());
    } else {
      json.string(value);
    }
  }
  json.end_object();
  const JsonText object = std::move(json).take_text();
  if (const auto unique = check_unique_keys(object); !unique.ok()) {
    return Error(unique.error()).in("--attribute").with("field", "attribute");
  }
  return std::string(object.view());
}

Result<TimeMs> time_argument(std::string_view field, const std::string& text, TimeMs now) {
  const auto at = At::parse(text);
  if (at.ok() && at.value().kind == At::Kind::time) {
    return at.value().time;
  }
  if (at.ok() && at.value().kind == At::Kind::ago) {
    return TimeMs{now.value - static_cast<std::int64_t>(at.value().number)};
  }
  return Error{ErrorCode::invalid_argument,
               fmt::format("--{} needs a time (2026-11-16T14:02:00Z, 2026-11-16) or an age (2h), "
                           "not \"{}\"",
                           field, text)}
      .with("field", field);
}

Result<std::uint64_t> duration_argument(std::string_view field, const std::string& text) {
  const auto ms = parse_duration(text);
  constexpr std::uint64_t kMostMs = std::uint64_t{366} * 86'400'000;
  if (ms.has_value() && *ms <= kMostMs) {
    return *ms;
  }
  return Error{
      ErrorCode::invalid_argument,
      fmt::format("--{} needs a duration such as 500ms, 3s or 1h30m, not \"{}\"", field, text)}
      .with("field", field);
}

}  // namespace holdfast::cli
