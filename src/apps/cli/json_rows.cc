#include "apps/cli/json_rows.h"

#include "apps/terminal/terminal_text.h"

namespace holdfast::cli {

std::vector<Json> rows_of(const Json& json, std::string_view name) {
  std::vector<Json> rows;
  const auto list = json.find(name);
  for (std::size_t i = 0; list.has_value() && i < list->size(); ++i) {
    if (list->item(i).kind() == Json::Kind::object) {
      rows.push_back(list->item(i));
    }
  }
  return rows;
}

std::string JsonRow::text(std::string_view name) const {
  const auto found = json_.find(name);
  if (!found.has_value()) {
    return {};
  }
  if (const auto number = found->integer()) {
    return std::to_string(*number);
  }
  return harmless(found->string().value_or(""));
}

std::int64_t JsonRow::number(std::string_view name) const {
  return json_.integer(name).value_or(0);
}

bool JsonRow::truth(std::string_view name) const {
  const auto found = json_.find(name);
  return found.has_value() && found->boolean().value_or(false);
}

std::optional<TimeMs> JsonRow::moment(std::string_view name) const {
  const auto ms = json_.integer(name);
  return ms.has_value() ? std::optional(TimeMs{*ms}) : std::nullopt;
}

std::string JsonRow::time(std::string_view name) const {
  const auto at = moment(name);
  return at.has_value() ? format_time(*at) : std::string();
}

std::string JsonRow::age(std::string_view name, TimeMs now) const {
  const auto at = moment(name);
  return at.has_value() ? from_now(*at, now) : std::string();
}

std::string JsonRow::duration(std::string_view name) const {
  const auto ms = json_.integer(name);
  return ms.has_value() ? duration_text(*ms) : std::string();
}

std::string JsonRow::names(std::string_view name) const {
  const auto list = json_.find(name);
  std::string names;
  for (std::size_t i = 0; list.has_value() && i < list->size(); ++i) {
    names += i == 0 ? "" : ", ";
    names += harmless(list->item(i).string().value_or(""));
  }
  return names;
}

}  // namespace holdfast::cli
