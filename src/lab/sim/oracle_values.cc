#include "lab/sim/oracle_values.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>

namespace holdfast::sim::model {

namespace {

std::vector<std::string> parts_of(std::string path) {
  if (path.empty() || path == "$") {
    return {};
  }
  if (path.rfind("$.", 0) == 0) {
    path = path.substr(2);
  }
  std::vector<std::string> parts{""};
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.') {
      parts.emplace_back();
    } else {
      if (path[i] == '\\' && i + 1 < path.size()) {
        ++i;
      }
      parts.back() += path[i];
    }
  }
  return parts;
}

// An index into a list: "0", "12", never "01".
std::optional<std::size_t> index_in(const std::string& part) {
  const bool digits =
      !part.empty() && part.size() < 10 &&
      std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!digits || (part.size() > 1 && part.front() == '0')) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(std::stoul(part));
}

bool holds_at(const Value& condition, const std::optional<Value>& found) {
  if (condition.has("exists")) {
    return found.has_value() == condition["exists"].boolean();
  }
  if (condition.has("not_equals")) {
    return !found.has_value() || !(*found == condition["not_equals"]);
  }
  if (!found.has_value()) {
    return false;
  }
  if (condition.has("equals")) {
    return *found == condition["equals"];
  }
  if (condition.has("in")) {
    const auto& list = condition["in"].list();
    return std::find(list.begin(), list.end(), *found) != list.end();
  }
  const auto compared = [&](const char* name) { return compare_numbers(*found, condition[name]); };
  if (condition.has("greater")) {
    return compared("greater") == 1;
  }
  if (condition.has("less")) {
    return compared("less") == -1;
  }
  if (condition.has("greater_or_equal")) {
    const auto order = compared("greater_or_equal");
    return order.has_value() && *order >= 0;
  }
  const auto order = compared("less_or_equal");
  return order.has_value() && *order <= 0;
}

bool has_type(const std::string& type, const Value& value) {
  static const std::map<std::string, bool (*)(const Value&)> types{
      {"any", [](const Value&) { return true; }},
      {"string", [](const Value& one) { return one.is_string(); }},
      {"integer", [](const Value& one) { return one.is_integer(); }},
      {"float", [](const Value& one) { return one.is_number(); }},
      {"boolean", [](const Value& one) { return one.is_boolean(); }},
      {"map", [](const Value& one) { return one.is_object(); }},
      {"list", [](const Value& one) { return one.is_list(); }}};
  if (const auto known = types.find(type); known != types.end()) {
    return known->second(value);
  }
  const std::string& name = value.string();  // atom
  return !name.empty() && name.size() <= 255 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// Days since 1970-01-01.
std::int64_t days_of(std::int64_t year, std::int64_t month, std::int64_t day) {
  static constexpr std::int64_t kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  const auto leaps = [](std::int64_t y) { return y / 4 - y / 100 + y / 400; };
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return (year - 1970) * 365 + leaps(year - 1) - leaps(1969) + kBefore[month - 1] +
         (leap && month > 2 ? 1 : 0) + day - 1;
}

}  // namespace

std::optional<Value> at_path(const Value& data, const std::string& path) {
  Value here = data;
  for (const std::string& part : parts_of(path)) {
    if (here.is_list()) {
      const auto index = index_in(part);
      if (!index.has_value() || *index >= here.list().size()) {
        return std::nullopt;
      }
      here = Value(here.list()[*index]);
    } else if (here.has(part)) {
      here = Value(here[part]);
    } else {
      return std::nullopt;
    }
  }
  return here;
}

bool holds(const Value& condition, const Value& data) {
  const auto one = [&](const Value& part) { return holds(part, data); };
  if (condition.has("all")) {
    const auto& parts = condition["all"].list();
    return std::all_of(parts.begin(), parts.end(), one);
  }
  if (condition.has("any")) {
    const auto& parts = condition["any"].list();
    return std::any_of(parts.begin(), parts.end(), one);
  }
  if (condition.has("not")) {
    return !one(condition["not"]);
  }
  return holds_at(condition, at_path(data, condition["path"].string()));
}

Mapped map_values(const Value& mapping, const Value& data) {
  Mapped mapped{Value::object()};
  for (const Value& name : mapping.list()) {
    if (data.has(name.string())) {
      mapped.value.set(name.string(), data[name.string()]);
    }
  }
  for (const auto& [name, from] : mapping.members()) {
    if (from.has("value")) {
      mapped.value.set(name, from["value"]);
      continue;
    }
    const auto found = at_path(data, from.is_string() ? from.string() : from["path"].string());
    if (found.has_value()) {
      mapped.value.set(name, *found);
    } else if (from.has("default")) {
      mapped.value.set(name, from["default"]);
    } else {
      mapped.missing = true;
    }
  }
  return mapped;
}

std::string fill_in(const std::string& text, const Value& data) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    const std::size_t end = c == '{' ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      out += c;
      continue;
    }
    if (const auto found = at_path(data, text.substr(i + 1, end - i - 1))) {
      out += found->is_string() ? found->string() : found->text();
    }
    i = end;
  }
  return out;
}

bool fits_contract(const Value& contract, const Value& object) {
  if (!object.is_object()) {
    return false;
  }
  for (const auto& [name, field] : contract.members()) {
    const bool required =
        field.is_string() || (!field.has("default") && field["required"].boolean(true));
    if (!object.has(name)) {
      if (required) {
        return false;
      }
      continue;
    }
    if (!has_type(field.is_string() ? field.string() : field["type"].string(), object[name])) {
      return false;
    }
  }
  return true;
}

bool has_only(const Value& contract, const Value& object) {
  return std::all_of(object.members().begin(), object.members().end(),
                     [&](const auto& member) { return contract.has(member.first); });
}

std::optional<std::int64_t> time_in(const Value& value) {
  if (value.is_integer()) {
    return value.integer();
  }
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int read = 0;
  const std::string& text = value.string();
  constexpr std::int64_t kDayMs = 86'400'000;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &read) < 3 || month < 1 ||
      month > 12 || day < 1 || day > 31) {
    return std::nullopt;
  }
  const std::int64_t midnight = days_of(year, month, day) * kDayMs;
  std::string rest = text.substr(static_cast<std::size_t>(read));
  if (rest.empty()) {
    return midnight;
  }
  if (std::sscanf(rest.c_str(), "T%2d:%2d:%2d%n", &hour, &minute, &second, &read) < 3) {
    return std::nullopt;
  }
  std::int64_t ms = ((hour * 60 + minute) * 60 + second) * std::int64_t{1000};
  rest = rest.substr(static_cast<std::size_t>(read));
  if (rest.size() > 1 && rest.front() == '.') {
    std::int64_t scale = 100;
    std::size_t i = 1;
    for (; i < rest.size() && std::isdigit(static_cast<unsigned char>(rest[i])) != 0; ++i) {
      ms += (rest[i] - '0') * scale;
      scale /= 10;
    }
    rest = rest.substr(i);
  }
  int zone_hour = 0;
  int zone_minute = 0;
  if (rest == "Z") {
    return midnight + ms;
  }
  if (std::sscanf(rest.c_str(), "%*1[+-]%2d:%2d", &zone_hour, &zone_minute) == 2) {
    const std::int64_t zone = (zone_hour * 60 + zone_minute) * std::int64_t{60'000};
    return midnight + ms + (rest.front() == '-' ? zone : -zone);
  }
  return std::nullopt;
}

void join(Value& context, const std::string& output_key, const Value& result) {
  if (!output_key.empty()) {
    context.set(output_key, result);
    return;
  }
  for (const auto& [name, value] : result.members()) {
    context.set(name, value);
  }
}

}  // namespace holdfast::sim::model
