#include "base/json_value.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

#include "holdfast/assert.h"

namespace holdfast {

namespace {

namespace bj = boost::json;

// Accepts every event: the parser alone decides whether the text is valid.
struct CheckOnly {
  // NOLINTBEGIN(readability-identifier-naming): the parser looks for these names.
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  // NOLINTEND(readability-identifier-naming)
  using Ec = bj::error_code;
  using View = bj::string_view;
  bool on_document_begin(Ec&) { return true; }
  bool on_document_end(Ec&) { return true; }
  bool on_object_begin(Ec&) { return true; }
  bool on_object_end(std::size_t, Ec&) { return true; }
  bool on_array_begin(Ec&) { return true; }
  bool on_array_end(std::size_t, Ec&) { return true; }
  bool on_key_part(View, std::size_t, Ec&) { return true; }
  bool on_key(View, std::size_t, Ec&) { return true; }
  bool on_string_part(View, std::size_t, Ec&) { return true; }
  bool on_string(View, std::size_t, Ec&) { return true; }
  bool on_number_part(View, Ec&) { return true; }
  bool on_int64(std::int64_t, View, Ec&) { return true; }
  bool on_uint64(std::uint64_t, View, Ec&) { return true; }
  bool on_double(double, View, Ec&) { return true; }
  bool on_bool(bool, Ec&) { return true; }
  bool on_null(Ec&) { return true; }
  bool on_comment_part(View, Ec&) { return true; }
  bool on_comment(View, Ec&) { return true; }
};

bj::parse_options options() {
  bj::parse_options options;
  options.max_depth = kMaxJsonDepth;
  return options;
}

Error invalid_json(std::size_t offset, const bj::error_code& why) {
  return Error{ErrorCode::invalid_json,
               "not valid JSON at byte " + std::to_string(offset) + ": " + why.message()}
      .with("offset", offset);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Drops the white space between tokens; the text is valid JSON.
std::string without_space(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\') {
        out += text[++i];
      } else if (c == '"') {
        in_string = false;
      }
    } else if (!is_space(c)) {
      out += c;
      in_string = c == '"';
    }
  }
  return out;
}

}  // namespace

struct Json::Node {
  static const bj::value& of(const Node* node) { return *reinterpret_cast<const bj::value*>(node); }
  static const Node* from(const bj::value& value) { return reinterpret_cast<const Node*>(&value); }
};

Result<JsonText> JsonText::parse(std::string_view text) {
  bj::basic_parser<CheckOnly> parser(options());
  bj::error_code failed;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), failed);
  if (failed) {
    return invalid_json(used, failed);
  }
  const auto rest = text.substr(used);
  const auto* extra = std::find_if_not(rest.begin(), rest.end(), is_space);
  if (extra != rest.end()) {
    return invalid_json(used + static_cast<std::size_t>(extra - rest.begin()),
                        bj::error::extra_data);
  }
  return JsonText(without_space(text));
}

Result<Json> Json::parse(std::string_view text) {
  bj::error_code failed;
  auto document =
      std::make_shared<const bj::value>(bj::parse(text, failed, bj::storage_ptr{}, options()));
  if (failed) {
    // The value parser does not report the location; the checker does.
    auto checked = JsonText::parse(text);
    return checked.ok() ? invalid_json(0, failed) : std::move(checked).error();
  }
  const Node* node = Node::from(*document);
  return Json(std::move(document), node);
}

Json::Kind Json::kind() const {
  switch (Node::of(node_).kind()) {
    case bj::kind::null:
      return Kind::null;
    case bj::kind::bool_:
      return Kind::boolean;
    case bj::kind::int64:
    case bj::kind::uint64:
      return Kind::integer;
    case bj::kind::double_:
      return Kind::number;
    case bj::kind::string:
      return Kind::string;
    case bj::kind::array:
      return Kind::array;
    case bj::kind::object:
      return Kind::object;
  }
  return Kind::null;
}

std::optional<bool> Json::boolean() const {
  const bool* value = Node::of(node_).if_bool();
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<std::int64_t> Json::integer() const {
  const std::int64_t* value = Node::of(node_).if_int64();
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<std::uint64_t> Json::unsigned_integer() const {
  const bj::value& value = Node::of(node_);
  if (const std::uint64_t* large = value.if_uint64()) {
    return *large;
  }
  const std::int64_t* small = value.if_int64();
  return small != nullptr && *small >= 0 ? std::optional(static_cast<std::uint64_t>(*small))
                                         : std::nullopt;
}

std::optional<double> Json::number() const {
  const bj::value& value = Node::of(node_);
  if (const double* exact = value.if_double()) {
    return *exact;
  }
  if (const std::uint64_t* large = value.if_uint64()) {
    return static_cast<double>(*large);
  }
  const std::int64_t* small = value.if_int64();
  return small != nullptr ? std::optional(static_cast<double>(*small)) : std::nullopt;
}

std::optional<std::string_view> Json::string() const {
  const bj::string* value = Node::of(node_).if_string();
  return value != nullptr ? std::optional(std::string_view(value->data(), value->size()))
                          : std::nullopt;
}

std::size_t Json::size() const {
  const bj::value& value = Node::of(node_);
  if (const bj::array* array = value.if_array()) {
    return array->size();
  }
  const bj::object* object = value.if_object();
  return object != nullptr ? object->size() : 0;
}

Json Json::item(std::size_t index) const {
  const bj::array* array = Node::of(node_).if_array();
  HOLDFAST_ASSERT(array != nullptr && index < array->size());
  return Json(document_, Node::from((*array)[index]));
}

std::pair<std::string_view, Json> Json::member(std::size_t index) const {
  const bj::object* object = Node::of(node_).if_object();
  HOLDFAST_ASSERT(object != nullptr && index < object->size());
  const bj::key_value_pair& pair = *(object->begin() + static_cast<std::ptrdiff_t>(index));
  return {std::string_view(pair.key().data(), pair.key().size()),
          Json(document_, Node::from(pair.value()))};
}

std::optional<Json> Json::find(std::string_view name) const {
  const bj::object* object = Node::of(node_).if_object();
  if (object == nullptr) {
    return std::nullopt;
  }
  const bj::value* value = object->if_contains(name);
  return value != nullptr ? std::optional(Json(document_, Node::from(*value))) : std::nullopt;
}

std::string_view Json::text(std::string_view name) const {
  const auto member = find(name);
  return member.has_value() ? member->string().value_or("") : std::string_view();
}

std::optional<std::int64_t> Json::integer(std::string_view name) const {
  const auto member = find(name);
  return member.has_value() ? member->integer() : std::nullopt;
}

}  // namespace holdfast
