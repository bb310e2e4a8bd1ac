// Lists in JSON responses, as cells of a table. A missing member is empty.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json_value.h"

namespace holdfast::cli {

// The objects in the array of that name.
std::vector<Json> rows_of(const Json& json, std::string_view name);

class JsonRow {
 public:
  explicit JsonRow(const Json& json) : json_(json) {}

  // Without control characters; of a number, its digits.
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::int64_t number(std::string_view name) const;
  [[nodiscard]] bool truth(std::string_view name) const;
  // "2026-11-16T14:02:00.000Z"
  [[nodiscard]] std::string time(std::string_view name) const;
  // "in 12 s", "3 min ago"
  [[nodiscard]] std::string age(std::string_view name, TimeMs now) const;
  // "850 ms"
  [[nodiscard]] std::string duration(std::string_view name) const;
  // "a, b"
  [[nodiscard]] std::string names(std::string_view name) const;
  // Milliseconds since 1970; empty when there are none.
  [[nodiscard]] std::optional<TimeMs> moment(std::string_view name) const;

 private:
  Json json_;
};

}  // namespace holdfast::cli
