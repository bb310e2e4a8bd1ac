#include "runs/api/strict_reader.h"

#include <algorithm>

#include "base/json_keys.h"

namespace holdfast {

namespace {

std::string inside(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

Error unknown_member(const std::string& path, const std::string& known) {
  return Error{ErrorCode::invalid_argument, "unknown member \"" + path + "\"; use one of: " + known}
      .with("field", path);
}

// An object, or each of a list of objects.
Result<void> check_inside(std::string_view slice, const std::string& path,
                          KnownMembers::Check check, KnownMembers::Depth depth) {
  if (slice.starts_with('{')) {
    return check(slice, path, depth);
  }
  if (slice.starts_with('[')) {
    JsonSlicer items(slice);
    for (std::size_t i = 0; const auto item = items.next(); ++i) {
      if (item->value.starts_with('{')) {
        HOLDFAST_CHECK(check(item->value, path + "[" + std::to_string(i) + "]", depth));
      }
    }
  }
  return {};
}

}  // namespace

bool read_value(std::string_view slice, NonEmptyText& value) {
  return read_value(slice, static_cast<std::string&>(value)) && !value.empty();
}

bool read_value(std::string_view slice, NonEmptyNames& value) {
  if (!slice.starts_with('[')) {
    return false;
  }
  JsonSlicer items(slice);
  while (const auto item = items.next()) {
    NonEmptyText name;
    if (!read_value(item->value, name)) {
      return false;
    }
    value.push_back(std::move(name));
  }
  return items.valid() && !value.empty();
}

bool read_value(std::string_view slice, ObjectPayload& value) {
  return slice.starts_with('{') && read_value(slice, static_cast<Payload&>(value));
}

Result<void> KnownMembers::check(std::string_view object, const std::string& path,
                                 Depth depth) const {
  JsonSlicer slicer(object);
  std::vector<bool> seen(members_.size());
  while (const auto member = slicer.next()) {
    const auto known = std::find_if(members_.begin(), members_.end(), [&](const Member& other) {
      return other.name == member->name;
    });
    if (known == members_.end()) {
      std::string names;
      for (const Member& other : members_) {
        names += (names.empty() ? "" : ", ") + std::string(other.name);
      }
      return unknown_member(inside(path, member->name), names);
    }
    const auto index = static_cast<std::size_t>(known - members_.begin());
    if (seen[index]) {
      const std::string twice = inside(path, member->name);
      return Error{ErrorCode::invalid_argument, "\"" + twice + "\" appears twice"}.with("field",
                                                                                        twice);
    }
    seen[index] = true;
    if (member->value == "null" && !known->any_json) {
      const std::string named = inside(path, member->name);
      return Error{ErrorCode::invalid_argument,
                   "\"" + named + "\" must not be null; omit it instead"}
          .with("field", named);
    }
    if (known->inside != nullptr) {
      HOLDFAST_CHECK(check_inside(member->value, inside(path, member->name), known->inside, depth));
    }
  }
  return {};
}

void UniqueKeys::check(std::string_view name, const ObjectPayload& value) {
  if (!checked_.ok() || value.empty()) {
    return;
  }
  const auto unique = check_unique_keys(JsonText::trusted(std::string(value.view())));
  if (!unique.ok()) {
    checked_ = Error(unique.error()).in("the " + std::string(name));
  }
}

Error as_argument(const Error& error, const std::string& path) {
  std::string fields;
  std::string_view names = error.field("fields");
  while (!names.empty()) {
    const std::size_t comma = names.find(", ");
    fields += (fields.empty() ? "" : ", ") + inside(path, names.substr(0, comma));
    names = comma == std::string_view::npos ? std::string_view() : names.substr(comma + 2);
  }
  const bool missing = error.code() == ErrorCode::missing_fields;
  return Error{ErrorCode::invalid_argument,
               missing ? "required: " + fields : "wrong type or empty: " + fields}
      .with("field", fields);
}

}  // namespace holdfast
