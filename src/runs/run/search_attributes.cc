#include "runs/run/search_attributes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fields.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxAttributes = 32;
constexpr std::size_t kMaxKeyBytes = 64;
constexpr std::size_t kMaxTextBytes = 256;
constexpr std::size_t kMaxItems = 16;
constexpr std::size_t kMaxTotalBytes = 4096;

Error refused(std::string_view key, std::string_view what) {
  return Error{ErrorCode::invalid_argument,
               fmt::format("the search attribute \"{}\" {}", key.substr(0, kMaxKeyBytes), what)}
      .with("attribute", key.substr(0, kMaxKeyBytes));
}

bool is_key(std::string_view key) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto inner = [&](char c) {
    return lower(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  };
  return !key.empty() && key.size() <= kMaxKeyBytes && lower(key.front()) &&
         std::all_of(key.begin(), key.end(), inner);
}

bool is_single_value(std::string_view slice) {
  if (slice.starts_with('"')) {
    const auto text = json_string_value(slice);
    return text.has_value() && text->size() <= kMaxTextBytes;
  }
  bool flag = false;
  std::int64_t number = 0;
  return read_value(slice, flag) || read_value(slice, number);
}

bool is_value(std::string_view slice) {
  if (!slice.starts_with('[')) {
    return is_single_value(slice);
  }
  JsonSlicer items(slice);
  std::size_t count = 0;
  while (const auto item = items.next()) {
    if (++count > kMaxItems || !is_single_value(item->value)) {
      return false;
    }
  }
  return items.valid();
}

Result<void> check_total(const SearchAttributes& attributes) {
  std::size_t bytes = 1;  // the braces; each attribute but the first has a comma
  for (const auto& [key, value] : attributes) {
    bytes += key.size() + value.view().size() + std::string_view(R"("":,)").size();
  }
  if (attributes.size() > kMaxAttributes || bytes > kMaxTotalBytes) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("a run has at most {} search attributes of {} bytes in all",
                             kMaxAttributes, kMaxTotalBytes)};
  }
  return {};
}

}  // namespace

Result<SearchAttributes> with_changes(const SearchAttributes& current, const Payload& changes) {
  SearchAttributes changed = current;
  JsonSlicer members(changes.is_object() ? changes.view() : std::string_view());
  while (const auto member = members.next()) {
    if (!is_key(member->name)) {
      return refused(member->name,
                     "has no valid key: a lower-case letter, then lower-case letters, digits, "
                     "'_', '.' and '-', at most 64 bytes");
    }
    if (member->value == "null") {
      changed.erase(std::string(member->name));
    } else if (is_value(member->value)) {
      changed.insert_or_assign(std::string(member->name), Payload::trusted(member->value));
    } else {
      return refused(
          member->name,
          "must be a string of at most 256 bytes, an integer, a boolean, or a list of up "
          "to 16 of them");
    }
  }
  if (!members.valid()) {
    return Error{ErrorCode::invalid_argument, "search attributes are an object"};
  }
  HOLDFAST_CHECK(check_total(changed));
  return changed;
}

}  // namespace holdfast
