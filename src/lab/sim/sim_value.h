// Value: a JSON value as ordinary data. Objects are maps, so the order of members does not matter;
// an integer equals the same number written with a decimal point, as everywhere in Holdfast. Made
// for models that are read and compared, not for speed.
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
  static Value object(Object members = {}) { return Value(std::move(members)); }

  // Null if the text is not JSON.
  static Value parse(std::string_view text);
  // Without whitespace; members in the order of their names.
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

  // The value, or the default if the value is of another kind.
  [[nodiscard]] bool boolean(bool otherwise = false) const;
  [[nodiscard]] std::int64_t integer(std::int64_t otherwise = 0) const;
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& string() const;
  [[nodiscard]] const List& list() const;
  [[nodiscard]] const Object& members() const;

  // The member of that name, or null; has() distinguishes a null member from a missing one.
  [[nodiscard]] const Value& operator[](std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  // Turns this value into an object if it is not one.
  void set(std::string name, Value value);
  void erase(std::string_view name);
  void push(Value value);

  friend bool operator==(const Value& left, const Value& right);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> data_;
};

// Compares integers exactly. -1, 0, 1; empty if one of them is not a number.
std::optional<int> compare_numbers(const Value& left, const Value& right);

}  // namespace holdfast::sim
