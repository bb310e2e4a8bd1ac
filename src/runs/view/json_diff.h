// What is different between two JSON values, place by place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/json_value.h"

namespace holdfast {

struct JsonChange {
  enum class Kind : std::uint8_t { added, removed, changed };
  Kind kind = Kind::changed;
  // steps.charge.retry.max_attempts; an element of a list is named by what it is called (its
  // name, runnable_key, run_id, wait_id, id or step), else by its place: items[2]. Dots in names
  // are escaped with a backslash; $ is the whole.
  std::string path;
  std::string before = {};  // JSON text; empty when it was added
  std::string after = {};   // JSON text; empty when it was removed
};
template <>
inline constexpr std::string_view kEnumNames<JsonChange::Kind>[] = {"added", "removed", "changed"};

// In the order of the paths in `before`, then what was added. Both must be JSON; an empty text
// means no value. The order of members, and of elements that have names, does not count, nor how a
// number or a text is written.
std::vector<JsonChange> json_diff(std::string_view before, std::string_view after);
// [{"path":…,"change":"changed","before":…,"after":…}…]
JsonText to_json(const std::vector<JsonChange>& changes);

}  // namespace holdfast
