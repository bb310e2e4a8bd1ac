// Small JSON helpers for handlers in programs without a JSON library: read members of a payload and
// write objects.
//
// Functions that read return an empty optional when the member is absent or has another type, or
// when the text is not a JSON object.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// The text as a JSON string, with quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

// A member of an object, by type; json_value returns any member as JSON text.
std::optional<std::string> json_text(std::string_view object, std::string_view name);
std::optional<std::int64_t> json_integer(std::string_view object, std::string_view name);
std::optional<double> json_number(std::string_view object, std::string_view name);
std::optional<bool> json_boolean(std::string_view object, std::string_view name);
std::optional<std::string> json_value(std::string_view object, std::string_view name);

// JsonObject().add("order", 7).add("state", "paid").text() is {"order":7,"state":"paid"}.
class JsonObject {
 public:
  JsonObject& add(std::string_view name, std::string_view value);
  JsonObject& add(std::string_view name, const char* value) {
    return add(name, std::string_view(value));
  }
  JsonObject& add(std::string_view name, std::integral auto value) {
    if constexpr (std::same_as<decltype(value), bool>) {
      return add_json(name, value ? "true" : "false");
    } else {
      return add_json(name, std::to_string(value));
    }
  }
  JsonObject& add(std::string_view name, double value);
  // json: a JSON value; it is not checked.
  JsonObject& add_json(std::string_view name, std::string_view json);

  [[nodiscard]] std::string text() const { return members_ + "}"; }

 private:
  std::string members_ = "{";
};

}  // namespace holdfast
