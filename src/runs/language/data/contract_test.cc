#include "runs/language/data/contract.h"

#include <gtest/gtest.h>

#include "base/json_slice.h"

namespace holdfast::contract_test {
namespace {

using Kind = ContractFault::Kind;

Json json(std::string_view text) {
  auto parsed = Json::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return std::move(parsed).value();
}

Contract contract(std::string_view text) {
  std::vector<ContractFault> faults;
  Contract parsed = Contract::parse(json(text), faults);
  EXPECT_TRUE(faults.empty()) << text << ": " << faults.front().message;
  return parsed;
}

std::vector<ContractFault> faults_of(std::string_view text) {
  std::vector<ContractFault> faults;
  Contract::parse(json(text), faults);
  return faults;
}

void expect_fault(std::string_view text, Kind kind, const std::vector<std::string>& path) {
  const auto faults = faults_of(text);
  ASSERT_EQ(faults.size(), 1U) << text;
  EXPECT_EQ(faults[0].kind, kind) << text;
  EXPECT_EQ(faults[0].path, path) << text;
  EXPECT_FALSE(faults[0].message.empty());
}

std::string misfit(std::string_view declared, std::string_view object,
                   UnknownFields unknown = UnknownFields::refused) {
  const ContractMisfit found = contract(declared).check(json(object), unknown);
  EXPECT_EQ(found.none(), found.text().empty());
  return found.none() ? "fits" : std::string(found.json().view());
}

std::string filled(std::string_view declared, std::string_view object) {
  const TimeMs now{1'794'817'800'123};  // 2026-11-16T08:30:00.123Z
  const Payload payload = contract(declared).with_defaults(Payload::trusted(object), now);
  EXPECT_TRUE(is_compact_json(payload.view()));
  return std::string(payload.view());
}

TEST(Contract, a_field_is_a_type_or_an_object_with_one) {
  const Contract parsed = contract(
      R"({"id":"string","n":{"type":"integer","default": 1},"o":{"type":"float","required":false},)"
      R"("day":{"type":"string","default":{"today":"iso8601"}},)"
      R"("at":{"type":"any","required":true,"default":{"now":"iso8601"}}})");
  const auto& fields = parsed.fields();
  ASSERT_EQ(fields.size(), 5U);
  EXPECT_EQ(fields[0].name, "id");
  EXPECT_EQ(fields[0].type, FieldType::string);
  EXPECT_TRUE(fields[0].required);
  EXPECT_FALSE(fields[1].required);
  EXPECT_EQ(fields[1].default_value, "1");
  EXPECT_EQ(fields[2].type, FieldType::number);
  EXPECT_FALSE(fields[2].required);
  EXPECT_EQ(fields[2].default_value, "");
  EXPECT_EQ(fields[3].moment, ContractField::Moment::today);
  EXPECT_EQ(fields[4].moment, ContractField::Moment::now);
  EXPECT_FALSE(fields[4].required);
  EXPECT_TRUE(contract("{}").fields().empty());
}

TEST(Contract, faults_name_their_kind_and_location) {
  expect_fault("[]", Kind::contract, {});
  expect_fault(R"("string")", Kind::contract, {});
  expect_fault(R"({"":"string"})", Kind::field_name, {""});
  expect_fault(R"({")" + std::string(256, 'a') + R"(":"string"})", Kind::field_name,
               {std::string(256, 'a')});
  expect_fault(R"({"a":1})", Kind::field, {"a"});
  expect_fault(R"({"a":null})", Kind::field, {"a"});
  expect_fault(R"({"a":["string"]})", Kind::field, {"a"});
  expect_fault(R"({"a":"number"})", Kind::type, {"a"});
  expect_fault(R"({"a":"String"})", Kind::type, {"a"});
  expect_fault(R"({"a":{}})", Kind::type, {"a", "type"});
  expect_fault(R"({"a":{"type":1}})", Kind::type, {"a", "type"});
  expect_fault(R"({"a":{"type":"string","required":"no"}})", Kind::opts, {"a", "required"});
  expect_fault(R"({"a":{"type":"string","min":1}})", Kind::opts, {"a", "min"});
  expect_fault(R"({"a":{"type":"string","default":1}})", Kind::default_value, {"a", "default"});
}

TEST(Contract, a_default_is_of_the_type) {
  for (const std::string_view good :
       {R"({"a":{"type":"float","default":1}})", R"({"a":{"type":"float","default":1.5}})",
        R"({"a":{"type":"boolean","default":false}})", R"({"a":{"type":"list","default":[]}})",
        R"({"a":{"type":"map","default":{}}})", R"({"a":{"type":"atom","default":"x_1"}})",
        R"({"a":{"type":"any","default":null}})",
        R"({"a":{"type":"map","default":{"now":"iso8601"}}})"}) {
    EXPECT_TRUE(faults_of(good).empty()) << good;
  }
  for (const std::string_view bad :
       {R"({"a":{"type":"integer","default":1.5}})", R"({"a":{"type":"integer","default":null}})",
        R"({"a":{"type":"boolean","default":0}})", R"({"a":{"type":"list","default":{}}})",
        R"({"a":{"type":"map","default":[]}})", R"({"a":{"type":"atom","default":"x y"}})",
        R"({"a":{"type":"string","default":{"now":"rfc"}}})",
        R"({"a":{"type":"string","default":{"tomorrow":"iso8601"}}})",
        R"({"a":{"type":"integer","default":{"now":"iso8601"}}})"}) {
    expect_fault(bad, Kind::default_value, {"a", "default"});
  }
}

TEST(Contract, all_faults_are_found_and_the_rest_is_usable) {
  std::vector<ContractFault> faults;
  const Contract parsed = Contract::parse(
      json(R"({"a":1,"b":"text","c":"string","d":{"type":"integer","default":"x","min":0}})"),
      faults);
  EXPECT_EQ(faults.size(), 4U);
  ASSERT_EQ(parsed.fields().size(), 2U);
  EXPECT_EQ(parsed.fields()[0].name, "c");
  EXPECT_EQ(parsed.fields()[1].name, "d");
}

TEST(Contract, each_type_accepts_its_own_values) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> table{
      {"string", {R"("")", R"("a")", R"("a b")"}},
      {"integer", {"0", "-1", "18446744073709551615"}},
      {"float", {"0", "-1", "18446744073709551615", "1.5", "1e3"}},
      {"boolean", {"true", "false"}},
      {"map", {"{}", R"({"x":1})"}},
      {"list", {"[]", "[1]"}},
      {"atom", {R"("a")"}},
  };
  const std::vector<std::string> values{
      R"("")",      R"("a")", R"("a b")", "0",     "-1", "18446744073709551615",
      "1.5",        "1e3",    "true",     "false", "{}", "[]",
      R"({"x":1})", "[1]",    "null"};
  for (const auto& [type, fitting] : table) {
    for (const std::string& value : values) {
      const bool fits = std::find(fitting.begin(), fitting.end(), value) != fitting.end();
      const std::string declared = R"({"f":")" + type + R"("})";
      const std::string expected =
          R"({"missing_fields":[],"unknown_fields":[],"invalid_types":{"f":")" + type + R"("}})";
      EXPECT_EQ(misfit(declared, R"({"f":)" + value + "}"), fits ? "fits" : expected)
          << type << " " << value;
      EXPECT_EQ(misfit(R"({"f":"any"})", R"({"f":)" + value + "}"), "fits");
    }
  }
}

TEST(Contract, atoms_are_names) {
  const auto takes = [](const std::string& text) {
    return misfit(R"({"f":"atom"})", R"({"f":")" + text + R"("})") == "fits";
  };
  EXPECT_TRUE(takes("Abc_019"));
  EXPECT_TRUE(takes(std::string(255, 'a')));
  EXPECT_FALSE(takes(std::string(256, 'a')));
  EXPECT_FALSE(takes(""));
  EXPECT_FALSE(takes("a-b"));
  EXPECT_FALSE(takes("\xC3\xA4"));
}

TEST(Contract, null_is_not_a_value_even_of_an_optional_field) {
  EXPECT_NE(misfit(R"({"f":{"type":"string","required":false}})", R"({"f":null})"), "fits");
  EXPECT_NE(misfit(R"({"f":{"type":"string","default":"x"}})", R"({"f":null})"), "fits");
}

TEST(Contract, missing_unknown_and_wrong_fields_are_all_named) {
  const std::string_view declared =
      R"({"id":"string","n":"integer","m":"map","o":{"type":"list","required":false}})";
  const ContractMisfit found =
      contract(declared).check(json(R"({"x":1,"n":"7","o":{},"y\"":2})"), UnknownFields::refused);
  EXPECT_EQ(found.json().view(), R"({"missing_fields":["id","m"],"unknown_fields":["x","y\""],)"
                                 R"("invalid_types":{"n":"integer","o":"list"}})");
  EXPECT_EQ(found.text(),
            R"("id" is missing; "m" is missing; unknown field "x"; unknown field "y\""; )"
            R"("n" must be integer, is string; "o" must be list, is map)");
}

TEST(Contract, unknown_fields_may_be_allowed) {
  EXPECT_EQ(misfit("{}", R"({"x":1})", UnknownFields::allowed), "fits");
  EXPECT_NE(misfit("{}", R"({"x":1})", UnknownFields::refused), "fits");
  EXPECT_NE(misfit(R"({"a":"string"})", R"({"x":1})", UnknownFields::allowed), "fits");
}

TEST(Contract, a_value_that_is_not_an_object_is_a_wrong_type) {
  for (const std::string_view text : {"[]", "1", "null", R"("a")"}) {
    EXPECT_EQ(misfit(R"({"a":"string"})", text, UnknownFields::allowed),
              R"({"missing_fields":[],"unknown_fields":[],"invalid_types":{"":"map"}})");
  }
  EXPECT_EQ(contract("{}").check(json("[]"), UnknownFields::refused).text(),
            "the value must be map, is list");
}

TEST(Contract, defaults_are_appended_to_the_object) {
  const std::string_view declared =
      R"({"z":{"type":"integer","default":1},"a":"string","o":{"type":"map","required":false},)"
      R"("m":{"type":"map","default":{ "x" : [ 1 ] }}})";
  EXPECT_EQ(filled(declared, R"({"a":"b"})"), R"({"a":"b","z":1,"m":{"x":[1]}})");
  EXPECT_EQ(filled(declared, R"({"m":{},"z":7,"a":"b"})"), R"({"m":{},"z":7,"a":"b"})");
  EXPECT_EQ(filled(declared, "{}"), R"({"z":1,"m":{"x":[1]}})");
  EXPECT_EQ(filled("{}", "{}"), "{}");
}

TEST(Contract, a_field_with_an_escaped_name_is_found) {
  EXPECT_EQ(filled(R"({"z":{"type":"integer","default":1}})", R"({"\u007a":2})"),
            R"({"\u007a":2})");
  EXPECT_EQ(filled(R"({"\"":{"type":"any","default":null}})", R"({"a":2})"),
            R"({"a":2,"\"":null})");
}

TEST(Contract, now_and_today_are_those_of_the_start_of_a_run) {
  EXPECT_EQ(filled(R"({"day":{"type":"string","default":{"today":"iso8601"}},)"
                   R"("at":{"type":"string","default":{"now":"iso8601"}}})",
                   R"({"a":1})"),
            R"({"a":1,"day":"2026-11-16","at":"2026-11-16T08:30:00.123Z"})");
}

}  // namespace
}  // namespace holdfast::contract_test
