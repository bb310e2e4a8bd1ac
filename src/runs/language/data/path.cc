#include "runs/language/data/path.h"

#include <fmt/format.h>

#include "base/json_slice.h"
#include "base/quote.h"
#include "base/text.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxPathBytes = 1024;
constexpr std::size_t kMaxPathParts = 64;

Error no_path(std::string_view text, std::string_view why) {
  const std::string_view shown = text.substr(0, kMaxPathBytes);
  return Error{ErrorCode::invalid_argument, fmt::format("{} is not a path: {}", quote(shown), why)}
      .with("path", shown);
}

// Names are rarely escaped, so most are compared where they stand.
bool is_named(std::string_view written, std::string_view name) {
  if (written.find('\\') == std::string_view::npos) {
    return written == name;
  }
  return json_string_value(fmt::format("\"{}\"", written)) == name;
}

std::optional<std::string_view> member_of(std::string_view object, std::string_view name) {
  std::optional<std::string_view> found;
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    if (is_named(member->name, name)) {
      found = member->value;
    }
  }
  return slicer.valid() ? found : std::nullopt;
}

std::optional<std::string_view> item_of(std::string_view list, std::string_view location) {
  const auto index = parse_decimal(location);
  JsonSlicer slicer(list);
  std::uint64_t at = 0;
  while (const auto item = slicer.next()) {
    if (index == at++) {
      return item->value;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> part_of(std::string_view value, std::string_view part) {
  if (value.starts_with('{')) {
    return member_of(value, part);
  }
  return value.starts_with('[') ? item_of(value, part) : std::nullopt;
}

struct Walk {
  std::size_t parts = 0;                 // the number of parts that exist
  std::optional<std::string_view> here;  // the value of the last of them
};

Walk walk(const DataView& data, const DataPath& path) {
  Walk walk;
  for (const std::string& part : path.parts()) {
    const auto next = walk.parts == 0 ? data.member(part) : part_of(*walk.here, part);
    if (!next.has_value()) {
      break;
    }
    walk.here = next;
    ++walk.parts;
  }
  return walk;
}

}  // namespace

Result<DataPath> DataPath::parse(std::string_view text) {
  DataPath path;
  if (text.size() > kMaxPathBytes) {
    return no_path(text, fmt::format("it is longer than {} bytes", kMaxPathBytes));
  }
  if (text.empty() || text == "$") {
    return path;
  }
  const std::string_view rest = text.starts_with("$.") ? text.substr(2) : text;
  std::string part;
  for (std::size_t at = 0; at <= rest.size(); ++at) {
    if (at == rest.size() || rest[at] == '.') {
      if (part.empty()) {
        return no_path(text, "one of its parts is empty");
      }
      path.parts_.push_back(std::move(part));
      part.clear();
      continue;
    }
    if (rest[at] == '\\') {
      ++at;
      if (at == rest.size() || (rest[at] != '.' && rest[at] != '\\')) {
        return no_path(text, "a backslash may only precede a dot or a backslash");
      }
    }
    part += rest[at];
  }
  if (path.parts_.size() > kMaxPathParts) {
    return no_path(text, fmt::format("it has more than {} parts", kMaxPathParts));
  }
  return path;
}

std::string DataPath::text() const {
  if (parts_.empty()) {
    return "$";
  }
  // A member named like the sign for the whole object would be read as that sign.
  std::string text = parts_.front() == "$" ? "$." : "";
  for (const std::string& part : parts_) {
    if (&part != &parts_.front()) {
      text += '.';
    }
    for (const char c : part) {
      if (c == '.' || c == '\\') {
        text += '\\';
      }
      text += c;
    }
  }
  return text;
}

std::optional<std::string_view> ObjectView::member(std::string_view name) const {
  return object_.starts_with('{') ? member_of(object_, name) : std::nullopt;
}

std::optional<std::string_view> find_value(const DataView& data, const DataPath& path,
                                           std::string& storage) {
  if (path.parts().empty()) {
    storage = data.whole();
    return storage;
  }
  const Walk found = walk(data, path);
  return found.parts == path.parts().size() ? found.here : std::nullopt;
}

std::size_t found_parts(const DataView& data, const DataPath& path) {
  return walk(data, path).parts;
}

}  // namespace holdfast
