#include "apps/server/query.h"

#include <fmt/format.h>

#include <charconv>

namespace holdfast {

namespace {

Error bad_member(std::string_view name, const std::string& message) {
  return Error{ErrorCode::invalid_argument, message}.with("field", name);
}

}  // namespace

Result<Query> Query::parse(std::string_view query) {
  auto members = net::query_members(query);
  if (!members.has_value()) {
    return bad_member("query", "the query of the URL is malformed");
  }
  for (const net::Header& member : *members) {
    if (member.value.empty()) {
      return bad_member(member.name, "query parameter \"" + member.name + "\" has no value");
    }
  }
  return Query(*std::move(members));
}

std::string Query::text(std::string_view name) {
  known_.emplace(name);
  for (const net::Header& member : members_) {
    if (member.name == name) {
      return member.value;
    }
  }
  return {};
}

std::vector<std::string> Query::list(std::string_view name) {
  known_.emplace(name);
  lists_.emplace(name);
  std::vector<std::string> values;
  for (const net::Header& member : members_) {
    if (member.name == name) {
      values.push_back(member.value);
    }
  }
  return values;
}

Result<bool> Query::flag(std::string_view name) {
  const std::string value = text(name);
  if (value.empty() || value == "0" || value == "false") {
    return false;
  }
  if (value == "1" || value == "true") {
    return true;
  }
  return bad_member(name, std::string(name) + " must be true or false, not \"" + value + "\"");
}

Result<std::optional<std::uint64_t>> Query::number(std::string_view name, std::uint64_t least,
                                                   std::uint64_t most) {
  const std::string value = text(name);
  if (value.empty()) {
    return std::optional<std::uint64_t>();
  }
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (failed != std::errc() || end != value.data() + value.size() || number < least ||
      number > most) {
    return bad_member(
        name, fmt::format("{} must be a number {} {}, not \"{}\"", name,
                          least == 0 ? "up to" : fmt::format("from {} to", least), most, value));
  }
  return std::optional(number);
}

Result<void> Query::finish() const {
  std::set<std::string_view> seen;
  for (const net::Header& member : members_) {
    if (!known_.contains(member.name)) {
      return bad_member(member.name, "unknown query parameter \"" + member.name + "\"");
    }
    if (!seen.insert(member.name).second && !lists_.contains(member.name)) {
      return bad_member(member.name, "query parameter \"" + member.name + "\" appears twice");
    }
  }
  return {};
}

Result<void> QueryReader::read(std::string_view name, std::string& value) {
  for (const auto& [parameter, given] : path_) {
    if (parameter == name) {
      value = given;
      return {};
    }
  }
  value = query_.text(name);
  return {};
}

Result<void> QueryReader::read(std::string_view name, std::vector<std::string>& value) {
  value = query_.list(name);
  return {};
}

Result<void> QueryReader::read(std::string_view name, bool& value) {
  HOLDFAST_TRY(value, query_.flag(name));
  return {};
}

Error QueryReader::unknown_word(std::string_view name, std::string_view given,
                                std::span<const std::string_view> words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    list += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    list += words[i];
  }
  return bad_member(
      name, std::string(name) + " must be " + list + ", not \"" + std::string(given) + "\"");
}

}  // namespace holdfast
