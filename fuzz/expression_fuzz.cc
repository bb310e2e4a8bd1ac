// Expressions on values. The first line is the data; the rest is used as a path, as a template, and
// as JSON of a condition, a mapping and a contract.
#include "base/json_slice.h"
#include "fuzz/target.h"
#include "runs/language/data/canonical_json.h"
#include "runs/language/data/condition_expression.h"
#include "runs/language/data/contract.h"
#include "runs/language/data/json_text.h"
#include "runs/language/data/mapping.h"

namespace holdfast::fuzz::expression_fuzz {
namespace {

Json json_of(const std::string& text) { return Json::parse(text).value(); }

void check_path(std::string_view text, const DataView& data) {
  const auto path = DataPath::parse(text);
  if (!path.ok()) {
    require(path.error().code() == ErrorCode::invalid_argument, "no path is an invalid argument");
    return;
  }
  const auto again = DataPath::parse(path.value().text());
  require(again.ok() && again.value() == path.value(), "a path is written as it is read");
  std::string storage;
  const auto value = find_value(data, path.value(), storage);
  const std::size_t found = found_parts(data, path.value());
  require(found <= path.value().parts().size(), "no more parts are found than there are");
  require(value.has_value() == (found == path.value().parts().size()),
          "a value is found when every part is");
  require(!value.has_value() || is_compact_json(*value), "a found value is JSON");
}

void check_condition(const Json& json, const DataView& data) {
  const auto condition = Condition::parse(json);
  if (!condition.ok()) {
    require(condition.error().code() == ErrorCode::invalid_argument, "a condition is refused");
    return;
  }
  const bool matches = condition.value().matches(data);
  const std::string text = json_text(json);
  // One more level may be too deep; otherwise these are laws of logic.
  if (const auto negated = Condition::parse(json_of(R"({"not":)" + text + "}")); negated.ok()) {
    require(negated.value().matches(data) != matches, "not is the opposite");
    require(Condition::parse(json_of(R"({"all":[)" + text + "]}")).value().matches(data) == matches,
            "all of one is that one");
    require(
        Condition::parse(json_of(R"({"any":[)" + text + "," + text + "]}")).value().matches(data) ==
            matches,
        "any of twice the same is that one");
  }
}

void check_mapping(const Json& json, const DataView& data) {
  const auto mapping = Mapping::parse(json);
  if (!mapping.ok()) {
    require(mapping.error().code() == ErrorCode::invalid_argument, "a mapping is refused");
    return;
  }
  const auto mapped = mapping.value().apply(data);
  if (const Payload* payload = std::get_if<Payload>(&mapped)) {
    require(payload->is_object() && is_compact_json(payload->view()), "a mapping gives an object");
  } else {
    require(!std::get<MissingPath>(mapped).missing_at.empty(), "a missing path names its location");
  }
}

void check_contract(const Json& json, std::string_view object) {
  std::vector<ContractFault> faults;
  const Contract contract = Contract::parse(json, faults);
  for (const ContractFault& fault : faults) {
    require(!fault.message.empty(), "a fault of a contract has a reason");
  }
  const auto misfit = contract.check(json_of(std::string(object)), UnknownFields::allowed);
  require(is_compact_json(misfit.json().view()), "a mismatch is written as JSON");
  require(misfit.none() || !misfit.text().empty(), "a mismatch has a description");
  if (!faults.empty() || !misfit.none()) {
    return;
  }
  const Payload given = Payload::trusted(object);
  const Payload filled = contract.with_defaults(given, TimeMs{1'700'000'000'000});
  require(is_compact_json(filled.view()), "defaults are filled in as JSON");
  require(contract.check(json_of(std::string(filled.view())), UnknownFields::allowed).none(),
          "what has its defaults keeps the contract");
  require(contract.with_defaults(filled, TimeMs{0}) == filled, "defaults are filled in once");
}

void check_fill_in(std::string_view text, const DataView& data) {
  const std::string filled = fill_in(text, data);
  require(text.find_first_of("{}") != std::string_view::npos || filled == text,
          "a text without braces stays");
  std::string escaped;
  for (const char c : text) {
    escaped += c;
    escaped += c == '{' || c == '}' ? std::string(1, c) : "";
  }
  require(fill_in(escaped, data) == text, "doubled braces are braces");
}

void check(std::string_view input) {
  const auto given = JsonText::parse(fuzz::take_line(input));
  const JsonText object = given.ok() && given.value().is_object() ? given.value() : JsonText();
  const ObjectView data(object.view());
  check_path(input, data);
  check_fill_in(input, data);
  const auto json = Json::parse(input);
  if (json.ok()) {
    check_condition(json.value(), data);
    check_mapping(json.value(), data);
    check_contract(json.value(), object.view());
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(expression, check)

}  // namespace holdfast::fuzz::expression_fuzz
