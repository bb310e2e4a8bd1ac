#include "runs/language/data/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json_slice.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "runs/language/data/json_text.h"

namespace holdfast {

namespace {

Error wrong_mapping(std::string_view location, std::string_view what) {
  return Error{ErrorCode::invalid_argument, std::string(what)}.with("at", location);
}

}  // namespace

class MappingParser {
 public:
  static Result<Mapping> take(const Json& names) {
    Mapping mapping;
    mapping.take_ = true;
    if (names.size() == 0) {
      return wrong_mapping("", "must name at least one member");
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string location = fmt::format("[{}]", i);
      const Json json = names.item(i);
      const auto name = json.string();
      if (!name.has_value() || name->empty()) {
        return wrong_mapping(location, "must be the name of a member");
      }
      const bool twice = std::any_of(mapping.items_.begin(), mapping.items_.end(),
                                     [&](const auto& item) { return item.name == *name; });
      if (twice) {
        return wrong_mapping(location, fmt::format("{} appears twice", quote(*name)));
      }
      Mapping::Item item;
      item.name = *name;
      mapping.items_.push_back(std::move(item));
    }
    return mapping;
  }

  static Result<Mapping> extract(const Json& sources) {
    Mapping mapping;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto [name, source] = sources.member(i);
      if (name.empty()) {
        return wrong_mapping("", "the name of a member must not be empty");
      }
      Mapping::Item item;
      item.name = name;
      HOLDFAST_CHECK(read_source(item, source));
      mapping.items_.push_back(std::move(item));
    }
    return mapping;
  }

 private:
  using Item = Mapping::Item;

  static Result<void> read_source(Item& item, const Json& source) {
    if (source.string().has_value()) {
      return read_path(item, source, item.name);
    }
    if (source.kind() != Json::Kind::object) {
      return wrong_mapping(item.name, "must be a path, or an object with \"path\" or \"value\"");
    }
    const auto path = source.find("path");
    const auto value = source.find("value");
    const auto fallback = source.find("default");
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::string_view name = source.member(i).first;
      if (name != "path" && name != "value" && name != "default") {
        return wrong_mapping(
            fmt::format("{}.{}", item.name, name),
            fmt::format("unknown field {}; use path, default or value", quote(name)));
      }
    }
    if (path.has_value() == value.has_value()) {
      return wrong_mapping(item.name, path.has_value()
                                          ? "has both \"path\" and \"value\"; remove one"
                                          : "needs \"path\" or \"value\"");
    }
    if (value.has_value()) {
      if (fallback.has_value()) {
        return wrong_mapping(item.name, "has a \"default\" beside \"value\"; remove one");
      }
      item.literal = true;
      item.value = json_text(*value);
      return {};
    }
    item.value = fallback.has_value() ? json_text(*fallback) : "";
    return read_path(item, *path, fmt::format("{}.path", item.name));
  }

  static Result<void> read_path(Item& item, const Json& json, std::string_view location) {
    const auto text = json.string();
    // An empty path is more often a mistake than a request for the whole object, which can be
    // written as "$".
    if (!text.has_value() || text->empty()) {
      return wrong_mapping(location, "a path must be a string and not empty");
    }
    auto path = DataPath::parse(*text);
    if (!path.ok()) {
      return wrong_mapping(location, path.error().message());
    }
    item.path = std::move(path).value();
    item.written = *text;
    return {};
  }
};

Result<Mapping> Mapping::parse(const Json& json) {
  if (json.kind() == Json::Kind::array) {
    return MappingParser::take(json);
  }
  if (json.kind() == Json::Kind::object) {
    return MappingParser::extract(json);
  }
  return wrong_mapping("", "must be a list of names, or an object");
}

std::variant<Payload, MissingPath> Mapping::apply(const DataView& data) const {
  JsonWriter out;
  out.begin_object();
  std::string storage;
  for (const Item& item : items_) {
    std::optional<std::string_view> value;
    if (!item.literal) {
      value = take_ ? data.member(item.name) : find_value(data, item.path, storage);
    }
    if (!value.has_value() && !item.value.empty()) {
      value = item.value;
    }
    if (value.has_value()) {
      out.key(item.name).raw(JsonText::trusted(std::string(*value)));
    } else if (!take_) {
      return MissingPath{item.name, item.written, item.path.parts()[found_parts(data, item.path)]};
    }
  }
  out.end_object();
  return Payload(std::move(out).take_text());
}

namespace {

void append_found(std::string& out, std::string_view path, const DataView& data) {
  const auto parsed = DataPath::parse(path);
  std::string storage;
  const auto slice = parsed.ok() ? find_value(data, parsed.value(), storage) : std::nullopt;
  if (slice.has_value()) {
    const auto text = json_string_value(*slice);
    out += text.has_value() ? *text : *slice;
  }
}

}  // namespace

std::string fill_in(std::string_view text, const DataView& data) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const bool brace = c == '{' || c == '}';
    const bool doubled = brace && at + 1 < text.size() && text[at + 1] == c;
    const std::size_t close = c == '{' && !doubled ? text.find('}', at) : std::string_view::npos;
    if (close != std::string_view::npos) {
      append_found(out, text.substr(at + 1, close - at - 1), data);
      at = close + 1;
    } else {
      out += c;
      at += doubled ? 2 : 1;
    }
  }
  return out;
}

}  // namespace holdfast
