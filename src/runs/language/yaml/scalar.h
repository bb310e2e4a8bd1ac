// What a scalar of YAML is as JSON, by the core schema of YAML 1.2: plain null, true, false and
// numbers are what they look like; everything else is a text. "on", "yes" and "no" are texts.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace holdfast {

struct ScalarJson {
  std::string json;
};
struct ScalarRefused {
  std::string reason;
};

// `tag` as the reader gives it: "?" of plain scalars, "!" of all others, or one that is written.
std::variant<ScalarJson, ScalarRefused> scalar_json(std::string_view tag, std::string_view text);

// The tags of the core schema for maps and lists, and no tag.
bool is_map_tag(std::string_view tag);
bool is_list_tag(std::string_view tag);

}  // namespace holdfast
