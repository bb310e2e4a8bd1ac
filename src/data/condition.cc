#include "data/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "data/canonical_json.h"
#include "data/json_text.h"

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

Error wrong(std::string_view place, std::string_view what) {
  return Error{ErrorCode::invalid_argument,
               place.empty() ? fmt::format("the condition {}", what)
                             : fmt::format("the condition at {} {}", place, what)}
      .with("at", place);
}

std::string join(std::string_view place, std::string_view name) {
  return place.empty() ? std::string(name) : fmt::format("{}.{}", place, name);
}

}  // namespace

class ConditionParser {
 public:
  static Result<Condition> parse(const Json& json, const std::string& place, int depth) {
    if (json.kind() != Json::Kind::object) {
      return wrong(place, "is not an object");
    }
    if (depth > kMaxDepth) {
      return wrong(place, fmt::format("is nested more than {} deep", kMaxDepth));
    }
    const Operator* found = nullptr;
    for (std::size_t i = 0; i < json.size(); ++i) {
      const std::string_view name = json.member(i).first;
      const Operator* known = find_operator(name);
      if (known == nullptr && name != "path") {
        return wrong(join(place, name), "is nothing a condition has");
      }
      if (known != nullptr && found != nullptr) {
        return wrong(place, fmt::format("asks two things, {} and {}: put them into \"all\"",
                                        found->name, known->name));
      }
      found = known != nullptr ? known : found;
    }
    if (found == nullptr) {
      return wrong(place, "asks nothing: it needs equals, greater, in, exists, all or another");
    }
    Condition condition;
    condition.kind_ = found->kind;
    const Json operand = *json.find(found->name);
    const bool joins = is_join(found->kind);
    HOLDFAST_CHECK(joins ? no_path(json, *found, place) : read_path(condition, json, place));
    const std::string operand_place = join(place, found->name);
    HOLDFAST_CHECK(joins ? read_parts(condition, operand, operand_place, depth)
                         : read_operand(condition, operand, operand_place));
    return condition;
  }

 private:
  using Kind = Condition::Kind;
  struct Operator {
    std::string_view name;
    Kind kind;
  };

  static const Operator* find_operator(std::string_view name) {
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
    const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                     [&](const Operator& known) { return known.name == name; });
    return found != kOperators.end() ? found : nullptr;
  }

  static bool is_join(Kind kind) {
    return kind == Kind::all || kind == Kind::any || kind == Kind::none;
  }

  static Result<void> no_path(const Json& json, const Operator& op, const std::string& place) {
    if (json.find("path").has_value()) {
      return wrong(join(place, "path"), fmt::format("has no place beside {}", op.name));
    }
    return {};
  }

  static Result<void> read_path(Condition& condition, const Json& json, const std::string& place) {
    const auto path = json.find("path");
    const auto text = path.has_value() ? path->string() : std::nullopt;
    if (!text.has_value()) {
      return wrong(join(place, "path"), path.has_value() ? "is not a string" : "is missing");
    }
    auto parsed = DataPath::parse(*text);
    if (!parsed.ok()) {
      return wrong(join(place, "path"), fmt::format("is wrong: {}", parsed.error().message()));
    }
    condition.path_ = std::move(parsed).value();
    return {};
  }

  static Result<void> read_operand(Condition& condition, const Json& operand,
                                   const std::string& place) {
    switch (condition.kind_) {
      case Kind::equals:
      case Kind::not_equals:
        condition.value_ = canonical(operand);
        return {};
      case Kind::greater:
      case Kind::greater_or_equal:
      case Kind::less:
      case Kind::less_or_equal:
        if (const auto number = number_of(operand)) {
          condition.number_ = *number;
          return {};
        }
        return wrong(place, "is not a number");
      case Kind::in:
        if (operand.kind() != Json::Kind::array) {
          return wrong(place, "is not a list");
        }
        for (std::size_t i = 0; i < operand.size(); ++i) {
          condition.values_.push_back(canonical(operand.item(i)));
        }
        return {};
      case Kind::exists:
        if (const auto wanted = operand.boolean()) {
          condition.wanted_ = *wanted;
          return {};
        }
        return wrong(place, "is neither true nor false");
      case Kind::all:
      case Kind::any:
      case Kind::none:
        break;
    }
    return {};
  }

  static Result<void> read_parts(Condition& condition, const Json& operand,
                                 const std::string& place, int depth) {
    if (condition.kind_ == Kind::none) {
      HOLDFAST_TRY(auto part, parse(operand, place, depth + 1));
      condition.parts_.push_back(std::move(part));
      return {};
    }
    if (operand.kind() != Json::Kind::array) {
      return wrong(place, "is not a list of conditions");
    }
    for (std::size_t i = 0; i < operand.size(); ++i) {
      HOLDFAST_TRY(auto part, parse(operand.item(i), fmt::format("{}[{}]", place, i), depth + 1));
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
  return slice.has_value() ? matches_value(*slice) : kind_ == Kind::not_equals;
}

bool Condition::matches_value(std::string_view slice) const {
  // Read by the same parser as the condition was: so both sides have the same doubles.
  const auto json = Json::parse(slice);
  if (!json.ok()) {
    return kind_ == Kind::not_equals;
  }
  const auto number = number_of(json.value());
  switch (kind_) {
    case Kind::equals:
      return canonical(json.value()) == value_;
    case Kind::not_equals:
      return canonical(json.value()) != value_;
    case Kind::greater:
      return number.has_value() && *number > number_;
    case Kind::greater_or_equal:
      return number.has_value() && *number >= number_;
    case Kind::less:
      return number.has_value() && *number < number_;
    case Kind::less_or_equal:
      return number.has_value() && *number <= number_;
    case Kind::in:
      return std::find(values_.begin(), values_.end(), canonical(json.value())) != values_.end();
    case Kind::exists:
    case Kind::all:
    case Kind::any:
    case Kind::none:
      break;
  }
  return false;
}

}  // namespace holdfast
