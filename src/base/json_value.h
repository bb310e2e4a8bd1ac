// JSON in two forms.
//
// JsonText is a text that is known to be valid JSON: UTF-8, without insignificant white space
// (so it has no line breaks), nested at most kMaxJsonDepth deep. Payloads travel as JsonText
// and are parsed only when their content is needed.
//
// Json is a parsed value, for reading. Copies are cheap: they share one document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "holdfast/result.h"

namespace holdfast {

inline constexpr std::size_t kMaxJsonDepth = 100;

class JsonText {
 public:
  // The empty object.
  JsonText() : text_("{}") {}

  // invalid_json, with the byte offset, when the text is not one valid JSON value.
  static Result<JsonText> parse(std::string_view text);
  // For text that is valid by construction, or was checked before: nothing is checked.
  static JsonText trusted(std::string text) { return JsonText(std::move(text)); }

  [[nodiscard]] std::string_view view() const { return text_; }
  [[nodiscard]] bool is_object() const { return text_.front() == '{'; }
  friend bool operator==(const JsonText&, const JsonText&) = default;

 private:
  explicit JsonText(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

class Json {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, number, string, array, object };

  static Result<Json> parse(std::string_view text);

  [[nodiscard]] Kind kind() const;
  // Each is empty when the value is of another kind or does not fit. Integers are also numbers.
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  [[nodiscard]] std::optional<std::uint64_t> unsigned_integer() const;
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] std::optional<std::string_view> string() const;

  // Members of an object or items of an array; 0 for every other kind.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Json item(std::size_t index) const;
  [[nodiscard]] std::pair<std::string_view, Json> member(std::size_t index) const;
  // The member of that name; empty when this is not an object or has no such member.
  [[nodiscard]] std::optional<Json> find(std::string_view name) const;
  // The text or number of that member; empty when there is none. The text lives as long as the
  // document.
  [[nodiscard]] std::string_view text(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;

 private:
  struct Node;
  Json(std::shared_ptr<const void> document, const Node* node)
      : document_(std::move(document)), node_(node) {}

  std::shared_ptr<const void> document_;
  const Node* node_;
};

}  // namespace holdfast
