#include "runs/language/data/condition_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "base/closest_word.h"
#include "base/quote.h"
#include "runs/language/data/canonical_json.h"
#include "runs/language/data/json_text.h"

namespace holdfast {

namespace {

constexpr int kMaxDepth = 16;

static_assert(std::numeric_limits<long double>::digits >= 64);

std::string canonical(const Json& json) { return canonical_json(json_text(json)); }

std::optional<long double> number_of(const Json& json) {
  if (const auto integer = json.integer()) {
    return static_cast<long double>(*integer);
  }
  if (const auto large = json.unsigned_integer()) {
    return static_cast<long double>(*large);
  }
  return json.number();
}

std::optional<Json> parsed(std::string_view text) {
  auto json = Json::parse(text);
  return json.ok() ? std::optional(std::move(json).value()) : std::nullopt;
}

// The value at the path; empty when there is none.
std::optional<Json> value_at(const DataPath& path, const DataView& data) {
  std::string storage;
  const auto slice = find_value(data, path, storage);
  return slice.has_value() ? parsed(*slice) : std::nullopt;
}

bool has_item(const Json& list, std::string_view value) {
  for (std::size_t i = 0; list.kind() == Json::Kind::array && i < list.size(); ++i) {
    if (canonical(list.item(i)) == value) {
      return true;
    }
  }
  return false;
}

Error wrong(std::string_view location, std::string_view what) {
  return Error{ErrorCode::invalid_argument, std::string(what)}.with("at", location);
}

std::string join(std::string_view location, std::string_view name) {
  return location.empty() ? std::string(name) : fmt::format("{}.{}", location, name);
}

}  // namespace

class ConditionParser {
 public:
  static Result<Condition> parse(const Json& json, const std::string& location, int depth) {
    if (json.kind() != Json::Kind::object) {
      return wrong(location, "a condition must be an object");
    }
    if (depth > kMaxDepth) {
      return wrong(location, fmt::format("conditions are nested more than {} deep", kMaxDepth));
    }
    const Operator* found = nullptr;
    for (std::size_t i = 0; i < json.size(); ++i) {
      const std::string_view name = json.member(i).first;
      const Operator* known = find_operator(name);
      if (known == nullptr && name != "path") {
        return wrong(join(location, name), unknown_operator(name));
      }
      if (known != nullptr && found != nullptr) {
        return wrong(location,
                     fmt::format("a condition has one operator, not both {} and {}; combine two "
                                 "conditions with \"all\"",
                                 found->name, known->name));
      }
      found = known != nullptr ? known : found;
    }
    if (found == nullptr) {
      return wrong(location, fmt::format("the operator is missing; use {}", operator_list()));
    }
    Condition condition;
    condition.kind_ = found->kind;
    const Json operand = *json.find(found->name);
    const bool joins = is_join(found->kind);
    HOLDFAST_CHECK(joins ? no_path(json, *found, location) : read_path(condition, json, location));
    const std::string operand_location = join(location, found->name);
    HOLDFAST_CHECK(joins ? read_parts(condition, operand, operand_location, depth)
                         : read_operand(condition, operand, operand_location));
    return condition;
  }

 private:
  using Kind = Condition::Kind;
  struct Operator {
    std::string_view name;
    Kind kind;
  };

  static constexpr std::array<Operator, 11> kOperators{{
      {"equals", Kind::equals},
      {"not_equals", Kind::not_equals},
      {"greater", Kind::greater},
      {"greater_or_equal", Kind::greater_or_equal},
      {"less", Kind::less},
      {"less_or_equal", Kind::less_or_equal},
      {"in", Kind::in},
      {"exists", Kind::exists},
      {"all", Kind::all},
      {"any", Kind::any},
      {"not", Kind::none},
  }};

  static const Operator* find_operator(std::string_view name) {
    const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                     [&](const Operator& known) { return known.name == name; });
    return found != kOperators.end() ? found : nullptr;
  }

  static std::vector<std::string_view> operator_names() {
    std::vector<std::string_view> names;
    for (const Operator& known : kOperators) {
      names.push_back(known.name);
    }
    return names;
  }

  static std::string operator_list() {
    std::vector<std::string_view> names = operator_names();
    const std::string_view last = names.back();
    names.pop_back();
    return fmt::format("{} or {}", fmt::join(names, ", "), last);
  }

  static std::string unknown_operator(std::string_view name) {
    const std::string_view closest = closest_word(name, operator_names());
    return closest.empty()
               ? fmt::format("unknown operator {}; use {}", quote(name), operator_list())
               : fmt::format("unknown operator {}; did you mean {}?", quote(name), quote(closest));
  }

  static bool is_join(Kind kind) {
    return kind == Kind::all || kind == Kind::any || kind == Kind::none;
  }

  static bool is_order(Kind kind) {
    return kind == Kind::greater || kind == Kind::greater_or_equal || kind == Kind::less ||
           kind == Kind::less_or_equal;
  }

  static Result<void> no_path(const Json& json, const Operator& op, const std::string& location) {
    if (json.find("path").has_value()) {
      return wrong(join(location, "path"),
                   fmt::format("{} combines conditions and has no path of its own", op.name));
    }
    return {};
  }

  static Result<void> read_path(Condition& condition, const Json& json,
                                const std::string& location) {
    const auto path = json.find("path");
    if (!path.has_value()) {
      return wrong(join(location, "path"), "the path is missing");
    }
    HOLDFAST_TRY(condition.path_, parse_path(*path, join(location, "path")));
    return {};
  }

  static Result<DataPath> parse_path(const Json& json, std::string_view location) {
    const auto text = json.string();
    if (!text.has_value()) {
      return wrong(location, "a path must be a string");
    }
    auto parsed = DataPath::parse(*text);
    return parsed.ok() ? std::move(parsed) : wrong(location, parsed.error().message());
  }

  // Whether an object has these members and no others.
  static bool has_only(const Json& json, std::initializer_list<std::string_view> names) {
    return json.kind() == Json::Kind::object && json.size() == names.size() &&
           std::all_of(names.begin(), names.end(),
                       [&](std::string_view name) { return json.find(name).has_value(); });
  }

  // {"path":"a"} and {"path":"a","default":1}. Other objects with a path are literals.
  static bool is_path(const Json& json) {
    return (has_only(json, {"path"}) || has_only(json, {"path", "default"})) &&
           json.find("path")->string().has_value();
  }

  static Result<void> add_operand(Condition& condition, const Json& json,
                                  const std::string& location) {
    Condition::Operand operand;
    std::optional<Json> value = json;
    if (is_path(json)) {
      HOLDFAST_TRY(operand.path, parse_path(*json.find("path"), join(location, "path")));
      value = json.find("default");
    } else if (has_only(json, {"value"})) {
      value = json.find("value");
    }
    if (value.has_value()) {
      operand.value = canonical(*value);
      operand.number = number_of(*value);
      if (is_order(condition.kind_) && !operand.number.has_value()) {
        return wrong(location, "must be a number, or a path to one: {path: ...}");
      }
    }
    condition.operands_.push_back(std::move(operand));
    return {};
  }

  static Result<void> read_operand(Condition& condition, const Json& operand,
                                   const std::string& location) {
    if (condition.kind_ == Kind::exists) {
      const auto wanted = operand.boolean();
      condition.wanted_ = wanted.value_or(true);
      return wanted.has_value() ? Result<void>() : wrong(location, "must be true or false");
    }
    if (condition.kind_ != Kind::in) {
      return add_operand(condition, operand, location);
    }
    if (is_path(operand)) {
      condition.operand_is_list_ = true;
      return add_operand(condition, operand, location);
    }
    if (operand.kind() != Json::Kind::array) {
      return wrong(location, "must be a list, or a path to one: {path: ...}");
    }
    for (std::size_t i = 0; i < operand.size(); ++i) {
      HOLDFAST_CHECK(add_operand(condition, operand.item(i), fmt::format("{}[{}]", location, i)));
    }
    return {};
  }

  static Result<void> read_parts(Condition& condition, const Json& operand,
                                 const std::string& location, int depth) {
    if (condition.kind_ == Kind::none) {
      HOLDFAST_TRY(auto part, parse(operand, location, depth + 1));
      condition.parts_.push_back(std::move(part));
      return {};
    }
    if (operand.kind() != Json::Kind::array) {
      return wrong(location, "must be a list of conditions");
    }
    for (std::size_t i = 0; i < operand.size(); ++i) {
      HOLDFAST_TRY(auto part,
                   parse(operand.item(i), fmt::format("{}[{}]", location, i), depth + 1));
      condition.parts_.push_back(std::move(part));
    }
    return {};
  }
};

Result<Condition> Condition::parse(const Json& json) { return ConditionParser::parse(json, "", 1); }

bool Condition::matches(const DataView& data) const {
  const auto part_matches = [&](const Condition& part) { return part.matches(data); };
  switch (kind_) {
    case Kind::all:
      return std::all_of(parts_.begin(), parts_.end(), part_matches);
    case Kind::any:
      return std::any_of(parts_.begin(), parts_.end(), part_matches);
    case Kind::none:
      return std::none_of(parts_.begin(), parts_.end(), part_matches);
    case Kind::equals:
    case Kind::not_equals:
    case Kind::greater:
    case Kind::greater_or_equal:
    case Kind::less:
    case Kind::less_or_equal:
    case Kind::in:
    case Kind::exists:
      break;
  }
  std::string storage;
  const auto slice = find_value(data, path_, storage);
  if (kind_ == Kind::exists) {
    return slice.has_value() == wanted_;
  }
  return slice.has_value() ? compare(*slice, data) : kind_ == Kind::not_equals;
}

bool Condition::compare(std::string_view slice, const DataView& data) const {
  // Parsed by the same parser as the condition, so that both sides have the same doubles.
  const auto json = Json::parse(slice);
  switch (kind_) {
    case Kind::equals:
    case Kind::in:
      return json.ok() && equals_any(canonical(json.value()), data);
    case Kind::not_equals:
      return !json.ok() || !equals_any(canonical(json.value()), data);
    case Kind::greater:
    case Kind::greater_or_equal:
    case Kind::less:
    case Kind::less_or_equal: {
      const auto number = json.ok() ? number_of(json.value()) : std::nullopt;
      return number.has_value() && is_ordered(*number, data);
    }
    case Kind::exists:
    case Kind::all:
    case Kind::any:
    case Kind::none:
      break;
  }
  return false;
}

bool Condition::equals_any(std::string_view value, const DataView& data) const {
  return std::any_of(operands_.begin(), operands_.end(), [&](const Operand& operand) {
    if (!operand.path.has_value()) {
      return operand.value == value;
    }
    const auto found = value_at(*operand.path, data);
    if (!operand_is_list_) {
      return (found.has_value() ? canonical(*found) : operand.value) == value;
    }
    const auto list = found.has_value() ? found : parsed(operand.value);
    return list.has_value() && has_item(*list, value);
  });
}

bool Condition::is_ordered(long double left, const DataView& data) const {
  const Operand& operand = operands_.front();
  const auto found = operand.path.has_value() ? value_at(*operand.path, data) : std::nullopt;
  const auto right = found.has_value() ? number_of(*found) : operand.number;
  if (!right.has_value()) {
    return false;
  }
  switch (kind_) {
    case Kind::greater:
      return left > *right;
    case Kind::greater_or_equal:
      return left >= *right;
    case Kind::less:
      return left < *right;
    case Kind::less_or_equal:
      return left <= *right;
    case Kind::equals:
    case Kind::not_equals:
    case Kind::in:
    case Kind::exists:
    case Kind::all:
    case Kind::any:
    case Kind::none:
      break;
  }
  return false;
}

}  // namespace holdfast
