// text_bytes: the number of bytes in the texts and payloads of a struct with fields
// (base/fields.h), including those of its lists, maps and parts. For memory accounting.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/fields.h"

namespace holdfast {

class TextByteCounter {
 public:
  template <typename T>
  void required(std::string_view /*name*/, const T& value) {
    count(value);
  }
  template <typename T>
  void optional(std::string_view /*name*/, const T& value) {
    count(value);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  template <typename T>
  void count(const T& value) {
    if constexpr (std::same_as<T, SharedText> || std::same_as<T, Payload>) {
      bytes_ += value.view().size();
    } else if constexpr (std::same_as<T, std::string>) {
      bytes_ += value.size();
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, TimeMs>) {
      // No text.
    } else if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) {
        count(*value);
      }
    } else if constexpr (HasFields<T>) {
      T::visit(value, *this);
    } else if constexpr (requires { typename T::mapped_type; }) {
      for (const auto& [name, mapped] : value) {
        count(name);
        count(mapped);
      }
    } else if constexpr (IsList<T>) {
      for (const auto& item : value) {
        count(item);
      }
    }
  }

 private:
  std::size_t bytes_ = 0;
};

template <typename... Facts>
std::size_t text_bytes(const std::variant<Facts...>& fact) {
  TextByteCounter counter;
  std::visit([&](const auto& known) { counter.count(known); }, fact);
  return counter.bytes();
}

}  // namespace holdfast
