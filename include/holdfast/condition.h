// Data in workflow definitions: values, conditions, sources of values, fields of objects. Paths
// refer to the context of a run, for example "order.lines.0.sku".
//
// Nothing is checked here. Workflow::build reports texts that are not JSON or not UTF-8, malformed
// paths and meaningless comparisons.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/json.h"

namespace holdfast {

// A JSON value: true, 7, 0.5, "text", nullptr, JsonObject().add("a", 1), JsonValue::json("[1,2]").
class JsonValue {
 public:
  // Implicit, so that C++ values can be used directly.
  JsonValue(std::nullptr_t) : text_("null") {}
  JsonValue(std::same_as<bool> auto value) : text_(value ? "true" : "false") {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonValue(T value) : text_(std::to_string(value)) {}
  JsonValue(std::floating_point auto value) : text_(number(static_cast<double>(value))) {}
  JsonValue(std::string_view value) : text_(quote(value)) {}
  JsonValue(const std::string& value) : JsonValue(std::string_view(value)) {}
  JsonValue(const char* value) : JsonValue(std::string_view(value)) {}
  JsonValue(const JsonObject& object) : JsonValue(json(object.text())) {}
  static JsonValue json(std::string_view text);

  // Compact JSON; a text that is not JSON when the value could not be written.
  [[nodiscard]] const std::string& text() const { return text_; }
  friend bool operator==(const JsonValue&, const JsonValue&) = default;

 private:
  JsonValue() = default;
  static std::string number(double value);
  static std::string quote(std::string_view value);

  std::string text_;
};

// A condition on the context of a run:
//
//   When::path("total").greater(100) && !When::path("vip").equals(true)
//   When::path("total").greater(When::path("limit"))
//
// A missing path, on either side, and a value of another type do not match; they are not errors.
class When {
 public:
  class Path {
   public:
    [[nodiscard]] When equals(const JsonValue& value) const { return compare("equals", value); }
    [[nodiscard]] When equals(const Path& other) const { return compare("equals", other); }
    // Also when a path is missing.
    [[nodiscard]] When not_equals(const JsonValue& value) const {
      return compare("not_equals", value);
    }
    [[nodiscard]] When not_equals(const Path& other) const { return compare("not_equals", other); }
    // Numbers.
    [[nodiscard]] When greater(const JsonValue& value) const { return compare("greater", value); }
    [[nodiscard]] When greater(const Path& other) const { return compare("greater", other); }
    [[nodiscard]] When greater_or_equal(const JsonValue& value) const {
      return compare("greater_or_equal", value);
    }
    [[nodiscard]] When greater_or_equal(const Path& other) const {
      return compare("greater_or_equal", other);
    }
    [[nodiscard]] When less(const JsonValue& value) const { return compare("less", value); }
    [[nodiscard]] When less(const Path& other) const { return compare("less", other); }
    [[nodiscard]] When less_or_equal(const JsonValue& value) const {
      return compare("less_or_equal", value);
    }
    [[nodiscard]] When less_or_equal(const Path& other) const {
      return compare("less_or_equal", other);
    }
    [[nodiscard]] When in(const std::vector<JsonValue>& values) const;
    // A list at the other path.
    [[nodiscard]] When in(const Path& other) const { return compare("in", other); }
    // null exists.
    [[nodiscard]] When exists() const { return condition("exists", "true"); }
    [[nodiscard]] When missing() const { return condition("exists", "false"); }

   private:
    friend class When;
    explicit Path(std::string_view path) : path_(path) {}
    [[nodiscard]] When compare(std::string_view operation, const JsonValue& value) const;
    [[nodiscard]] When compare(std::string_view operation, const Path& other) const;
    [[nodiscard]] When condition(std::string_view operation, std::string_view operand) const;

    JsonValue path_;
  };

  static Path path(std::string_view path) { return Path(path); }
  // A condition in the form of JSON definitions.
  static When json(std::string_view text) { return When(JsonValue::json(text).text()); }

  friend When operator&&(const When& left, const When& right) {
    return join(Joint::all, left, right);
  }
  friend When operator||(const When& left, const When& right) {
    return join(Joint::any, left, right);
  }
  When operator!() const { return When("{\"not\":" + text() + "}"); }

  [[nodiscard]] std::string text() const;  // as JSON
  friend bool operator==(const When&, const When&) = default;

 private:
  enum class Joint : std::uint8_t { none, all, any };

  explicit When(std::string text) : parts_({std::move(text)}) {}
  // a && b && c is one list of three.
  static When join(Joint joint, const When& left, const When& right);

  Joint joint_ = Joint::none;
  std::vector<std::string> parts_;
};

// The source of a value: a path that must exist, path_or with a default, or a literal.
class ValueSource {
 public:
  ValueSource() = default;  // not set
  // Implicit: a text is a path.
  ValueSource(std::string_view path) : kind_(Kind::path), path_(path) {}
  ValueSource(const std::string& path) : ValueSource(std::string_view(path)) {}
  ValueSource(const char* path) : ValueSource(std::string_view(path)) {}
  friend ValueSource literal(const JsonValue& value);
  friend ValueSource path_or(std::string_view path, const JsonValue& otherwise);

  enum class Kind : std::uint8_t { none, path, path_or, literal };
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& value() const { return value_; }  // JSON
  friend bool operator==(const ValueSource&, const ValueSource&) = default;

 private:
  Kind kind_ = Kind::none;
  std::string path_;
  std::string value_;
};

inline ValueSource literal(const JsonValue& value) {
  ValueSource source;
  source.kind_ = ValueSource::Kind::literal;
  source.value_ = value.text();
  return source;
}
inline ValueSource path_or(std::string_view path, const JsonValue& otherwise) {
  ValueSource source(path);
  source.kind_ = ValueSource::Kind::path_or;
  source.value_ = otherwise.text();
  return source;
}

// Builds an object from the context:
//
//   {{"card", "customer.card"}, {"limit", path_or("limit", 5)}, {"currency", literal("EUR")}}
//   take({"order_id", "amount"})       these members under their own names, if they exist
//
// An empty mapping is the whole context.
class DataMapping {
 public:
  struct Item {
    std::string name;
    ValueSource source;
  };

  DataMapping() = default;
  DataMapping(std::initializer_list<Item> items) : DataMapping(std::vector<Item>(items)) {}
  explicit DataMapping(const std::vector<Item>& items);
  friend DataMapping take(const std::vector<std::string>& names);

  [[nodiscard]] const std::string& text() const { return text_; }  // JSON; empty: none

 private:
  std::string text_;
};

DataMapping take(const std::vector<std::string>& names);

// A field of an object: DataField::integer().otherwise(1).
class DataField {
 public:
  static DataField string() { return DataField("string"); }
  static DataField integer() { return DataField("integer"); }
  static DataField number() { return DataField("float"); }  // integers too
  static DataField boolean() { return DataField("boolean"); }
  static DataField map() { return DataField("map"); }
  static DataField list() { return DataField("list"); }
  static DataField atom() { return DataField("atom"); }  // a string of letters, digits and "_"
  static DataField any() { return DataField("any"); }

  [[nodiscard]] DataField optional() const { return with("required", false); }
  [[nodiscard]] DataField otherwise(const JsonValue& value) const { return with("default", value); }
  // The time or the date of the start of the run (UTC), as text.
  [[nodiscard]] DataField otherwise_now() const {
    return with("default", JsonObject().add("now", "iso8601"));
  }
  [[nodiscard]] DataField otherwise_today() const {
    return with("default", JsonObject().add("today", "iso8601"));
  }

  [[nodiscard]] std::string text() const;  // as JSON

 private:
  explicit DataField(std::string_view type) : type_(type) {}
  [[nodiscard]] DataField with(std::string_view option, const JsonValue& value) const;

  std::string type_;
  std::string options_;
};

// The fields of an object: {{"order_id", DataField::string()}}. Empty: any object.
class DataFields {
 public:
  struct Item {
    std::string name;
    DataField field;
  };

  DataFields() = default;
  DataFields(std::initializer_list<Item> items) : DataFields(std::vector<Item>(items)) {}
  explicit DataFields(const std::vector<Item>& items);

  [[nodiscard]] const std::string& text() const { return text_; }  // JSON; empty: none

 private:
  std::string text_;
};

}  // namespace holdfast
