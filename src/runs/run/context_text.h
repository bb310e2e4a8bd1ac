// Names in the context of a run: kept as they are written inside quotes, one spelling for each.
#pragma once

#include <string>
#include <string_view>

#include "base/json_slice.h"
#include "base/json_writer.h"
#include "base/shared_text.h"

namespace holdfast {

// Of what a run knows beside its input, what its steps see too: when it was to run.
inline constexpr std::string_view kScheduleKey = "schedule";

// A name as it is written inside the quotes.
inline std::string escaped(std::string_view name) {
  std::string quoted;
  append_json_string(quoted, name);
  return quoted.substr(1, quoted.size() - 2);
}

// One spelling for each name, so that equal names are equal however they were escaped.
inline std::string spelling(std::string_view name) {
  if (name.find('\\') == std::string_view::npos) {
    return std::string(name);
  }
  const auto text = json_string_value('"' + std::string(name) + '"');
  return text.has_value() ? escaped(*text) : std::string(name);
}

template <typename Visit>
void each_member(const Payload& payload, Visit visit) {
  if (!payload.is_object()) {
    return;
  }
  JsonSlicer slicer(payload.view());
  while (const auto member = slicer.next()) {
    visit(spelling(member->name), member->value);
  }
}

}  // namespace holdfast
