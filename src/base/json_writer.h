// JsonWriter: writes compact JSON straight into a string. Calls must form one valid value;
// a wrong order of calls is a programmer error. Texts must be UTF-8: bytes that are not are
// written as U+FFFD, so that the output is always valid JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace holdfast {

class JsonText;

class JsonWriter {
 public:
  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('{', '}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end('[', ']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& unsigned_integer(std::uint64_t value);
  // Shortest text that reads back as the same number. Infinite and NaN become null.
  JsonWriter& number(double value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& raw(const JsonText& value);

  JsonWriter& member(std::string_view name, std::string_view value);
  JsonWriter& member(std::string_view name, const char* value);
  JsonWriter& member(std::string_view name, const std::string& value);
  JsonWriter& member(std::string_view name, std::uint64_t value);
  JsonWriter& member(std::string_view name, std::int64_t value);
  JsonWriter& member(std::string_view name, double value);
  JsonWriter& member(std::string_view name, bool value);
  JsonWriter& member(std::string_view name, const JsonText& value);
  JsonWriter& member(std::string_view name, TimeMs value) { return member(name, value.value); }
  JsonWriter& member(std::string_view name, std::uint32_t value) {
    return member(name, std::uint64_t{value});
  }

  // A member, unless the text is empty or the optional has no value.
  JsonWriter& optional(std::string_view name, std::string_view text) {
    return text.empty() ? *this : member(name, text);
  }
  template <typename T>
  JsonWriter& optional(std::string_view name, const std::optional<T>& value) {
    return value.has_value() ? member(name, *value) : *this;
  }
  // A member that is an object, whose members `write` writes.
  template <typename Write>
  JsonWriter& object(std::string_view name, const Write& write) {
    key(name).begin_object();
    write();
    return end_object();
  }
  // A member that is a list; `write` is called with each item and writes one value.
  template <typename List, typename Write>
  JsonWriter& list(std::string_view name, const List& items, const Write& write) {
    key(name).begin_array();
    for (const auto& item : items) {
      write(item);
    }
    return end_array();
  }
  // The same of objects, whose members `write` writes.
  template <typename List, typename Write>
  JsonWriter& objects(std::string_view name, const List& items, const Write& write) {
    return list(name, items, [&](const auto& item) {
      begin_object();
      write(item);
      end_object();
    });
  }
  JsonWriter& strings(std::string_view name, const std::vector<std::string>& texts) {
    return list(name, texts, [&](const std::string& text) { string(text); });
  }

  [[nodiscard]] std::string take() &&;
  [[nodiscard]] JsonText take_text() &&;

 private:
  void before_value();
  JsonWriter& begin(char open);
  JsonWriter& end(char open, char close);
  // A value that is JSON already.
  JsonWriter& put(std::string_view json);

  std::string out_;
  std::vector<char> open_;
  bool comma_ = false;
  bool after_key_ = false;
};

void append_json_string(std::string& out, std::string_view value);

}  // namespace holdfast
