// JSON for handlers that have no JSON library: payloads are texts, these functions look into them
// and put them together. A program that has a library may use that instead.
//
// A member that is not there, is of another type, or stands in a text that is no JSON object is
// an empty optional.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// The text as a JSON string, with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

// A member of an object: as the type it has, or as JSON text whatever it is.
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
  // A value that is JSON already; it is not checked here.
  JsonObject& add_json(std::string_view name, std::string_view json);

  [[nodiscard]] std::string text() const { return members_ + "}"; }

 private:
  std::string members_ = "{";
};

}  // namespace holdfast
