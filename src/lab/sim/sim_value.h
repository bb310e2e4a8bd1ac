// Value: a JSON value as ordinary data. Objects are maps, so the order of members makes no
// difference; an integer equals the same number written with a point, as everywhere in Holdfast.
// For models that are read and compared, not for speed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::sim {

class Value {
 public:
  using List = std::vector<Value>;
  using Object = std::map<std::string, Value, std::less<>>;

  Value() = default;                                       // null
  Value(bool value) : data_(value) {}                      // NOLINT(*-explicit-*)
  Value(std::int64_t value) : data_(value) {}              // NOLINT(*-explicit-*)
  Value(double value) : data_(value) {}                    // NOLINT(*-explicit-*)
  Value(std::string value) : data_(std::move(value)) {}    // NOLINT(*-explicit-*)
  Value(const char* value) : data_(std::string(value)) {}  // NOLINT(*-explicit-*)
  Value(List value) : data_(std::move(value)) {}           // NOLINT(*-explicit-*)
  Value(Object value) : data_(std::move(value)) {}         // NOLINT(*-explicit-*)
  static Value object() { return Value(Object{}); }

  // Null when the text is no JSON.
  static Value parse(std::string_view text);
  // Without white space; members in the order of their names.
  [[nodiscard]] std::string text() const;

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  [[nodiscard]] bool is_object() const { return std::holds_alternative<Object>(data_); }
  [[nodiscard]] bool is_list() const { return std::holds_alternative<List>(data_); }
  [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(data_); }
  [[nodiscard]] bool is_boolean() const { return std::holds_alternative<bool>(data_); }
  [[nodiscard]] bool is_integer() const { return std::holds_alternative<std::int64_t>(data_); }
  [[nodiscard]] bool is_number() const {
    return is_integer() || std::holds_alternative<double>(data_);
  }

  // What is there, or what stands in for it when the value is of another kind.
  [[nodiscard]] bool boolean(bool otherwise = false) const;
  [[nodiscard]] std::int64_t integer(std::int64_t otherwise = 0) const;
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& string() const;
  [[nodiscard]] const List& list() const;
  [[nodiscard]] const Object& members() const;

  // The member of that name, or null; has() tells a member that is null from none.
  [[nodiscard]] const Value& operator[](std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  // Makes this an object if it is none.
  void set(std::string name, Value value);
  void erase(std::string_view name);
  void push(Value value);

  friend bool operator==(const Value& left, const Value& right);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> data_;
};

// Numbers as they are: integers exactly. -1, 0, 1; empty when one is no number.
std::optional<int> compare_numbers(const Value& left, const Value& right);

}  // namespace holdfast::sim
