// The JSON Schemas of the request and response types, from their field lists.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "runs/api/operations.h"
#include "schema_texts.h"

namespace holdfast::schema {

// Requests are closed, and a required text in them is not empty.
enum class Direction : std::uint8_t { request, response };

// "StartRequest" of holdfast::StartRequest.
template <typename T>
std::string type_name() {
  const std::string_view function = __PRETTY_FUNCTION__;
  constexpr std::string_view kBefore = "T = holdfast::";
  const std::size_t begin = function.find(kBefore) + kBefore.size();
  const std::string_view name = function.substr(begin, function.find_first_of(";]", begin) - begin);
  const std::size_t nested = name.rfind("::");  // delivery::JoinRequest
  return std::string(nested == std::string_view::npos ? name : name.substr(nested + 2));
}

template <typename T>
concept IsText = std::derived_from<T, std::string> || std::same_as<T, SharedText>;

// The schemas of all types that were described, in the order of their first use.
class Schemas {
 public:
  explicit Schemas(Texts& texts) : texts_(texts) {}

  // A reference to the schema of the type, which is described if it is new.
  template <HasFields T>
  std::string describe(Direction direction);

  // The schema of a value of this type, without a text.
  template <typename T>
  Members schema_of(const T& value, Direction direction);

  [[nodiscard]] const Members& all() const { return schemas_; }

 private:
  Texts& texts_;
  Members schemas_;
};

// A text about something: a string, or an object with further keywords. An object that names a
// type replaces what the C++ type gives.
void apply_text(Members& schema, std::string_view text);

class PropertyVisitor {
 public:
  PropertyVisitor(Schemas& schemas, Direction direction, Texts texts)
      : schemas_(schemas), direction_(direction), texts_(std::move(texts)) {}

  template <typename T>
  void required(std::string_view name, const T& value) {
    Members schema = schemas_.schema_of(value, direction_);
    if (IsText<T> && direction_ == Direction::request) {
      set(schema, "minLength", "1");
    }
    required_.push_back(quoted(name));
    add(name, std::move(schema));
  }
  template <typename T>
  void optional(std::string_view name, const T& value) {
    Members schema = schemas_.schema_of(value, direction_);
    if (direction_ == Direction::request) {
      if constexpr (std::is_enum_v<T>) {
        set(schema, "default", quoted(to_text(value)));
      } else if constexpr (std::same_as<T, bool>) {
        set(schema, "default", value ? "true" : "false");
      } else if constexpr (std::is_arithmetic_v<T>) {
        set(schema, "default", std::to_string(value));
      } else if constexpr (std::derived_from<T, std::string>) {
        if (!value.empty()) {
          set(schema, "default", quoted(value));
        }
      }
    }
    add(name, std::move(schema));
  }
  // The schema of the whole; checks that every text was used.
  std::string finish(std::string_view about);

 private:
  void add(std::string_view name, Members schema);

  Schemas& schemas_;
  Direction direction_;
  Texts texts_;
  Members properties_;
  std::vector<std::string> required_;
};

template <HasFields T>
std::string Schemas::describe(Direction direction) {
  const std::string type = type_name<T>();
  const std::string about = texts_.get(type);
  const std::string named = plain(member(about, "name"));
  const std::string name = named.empty() ? type : named;
  for (const auto& [known, schema] : schemas_) {
    if (known == name) {
      return reference_to(name);
    }
  }
  schemas_.emplace_back(name, "{}");  // its place, and an end to recursion
  PropertyVisitor visitor(*this, direction,
                          Texts("schemas.json: " + type, member(about, "fields")));
  const T value{};
  T::visit(value, visitor);
  set(schemas_, name, visitor.finish(about));
  return reference_to(name);
}

template <typename T>
Members Schemas::schema_of(const T& value, Direction direction) {
  if constexpr (requires { value.has_value(); }) {
    Members schema = schema_of(typename T::value_type{}, direction);
    if constexpr (requires { T::kMax; }) {
      set(schema, "minimum", std::to_string(T::kMin));
      set(schema, "maximum", std::to_string(T::kMax));
    }
    return schema;
  } else if constexpr (HasFields<T>) {
    return members_of(describe<T>(direction));
  } else if constexpr (std::is_enum_v<T>) {
    std::vector<std::string> names;
    for (const std::string_view name : kEnumNames<T>) {
      names.push_back(quoted(name));
    }
    return {{"type", R"("string")"}, {"enum", list_of(names)}};
  } else if constexpr (std::same_as<T, bool>) {
    return {{"type", R"("boolean")"}};
  } else if constexpr (std::same_as<T, RunId>) {
    return members_of(reference_to("RunId"));
  } else if constexpr (std::same_as<T, TimeMs> || std::same_as<T, std::int64_t>) {
    return {{"type", R"("integer")"}};
  } else if constexpr (std::is_unsigned_v<T>) {
    return {{"type", R"("integer")"}, {"minimum", "0"}};
  } else if constexpr (std::same_as<T, Digest>) {
    return {{"type", R"("string")"}, {"pattern", R"("^[0-9a-f]{64}$")"}};
  } else if constexpr (std::same_as<T, ObjectPayload>) {
    return {{"type", R"("object")"}, {"additionalProperties", "true"}};
  } else if constexpr (std::same_as<T, Payload>) {
    return {};
  } else if constexpr (std::same_as<T, NonEmptyNames>) {
    return {
        {"type", R"("array")"}, {"items", R"({"type":"string","minLength":1})"}, {"minItems", "1"}};
  } else if constexpr (IsText<T>) {
    Members schema{{"type", R"("string")"}};
    if (std::same_as<T, NonEmptyText>) {
      set(schema, "minLength", "1");
    }
    return schema;
  } else {
    return {{"type", R"("array")"},
            {"items", object_of(schema_of(typename T::value_type{}, direction))}};
  }
}

}  // namespace holdfast::schema
