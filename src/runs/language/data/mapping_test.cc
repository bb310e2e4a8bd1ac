#include "runs/language/data/mapping.h"

#include <gtest/gtest.h>

#include "base/json_slice.h"

namespace holdfast::mapping_test {
namespace {

std::variant<Payload, MissingPath> apply(std::string_view mapping, std::string_view data) {
  const auto json = Json::parse(mapping);
  EXPECT_TRUE(json.ok()) << mapping;
  const auto parsed = Mapping::parse(json.value());
  EXPECT_TRUE(parsed.ok()) << mapping << " " << parsed.error().text();
  return parsed.value().apply(ObjectView(data));
}

std::string mapped(std::string_view mapping, std::string_view data) {
  const auto result = apply(mapping, data);
  const Payload* payload = std::get_if<Payload>(&result);
  if (payload == nullptr) {
    return "missing " + std::get<MissingPath>(result).target;
  }
  EXPECT_TRUE(is_compact_json(payload->view()));
  return std::string(payload->view());
}

std::string fault_location(std::string_view mapping) {
  const auto json = Json::parse(mapping);
  EXPECT_TRUE(json.ok()) << mapping;
  const auto parsed = Mapping::parse(json.value());
  if (parsed.ok()) {
    return "no fault";
  }
  EXPECT_EQ(parsed.error().code(), ErrorCode::invalid_argument);
  return std::string(parsed.error().field("at"));
}

TEST(Mapping, takes_members_in_its_own_order_and_omits_missing_ones) {
  EXPECT_EQ(mapped(R"(["b","x","a"])", R"({"a":1,"b":{"c":[2]},"d":3})"),
            R"({"b":{"c":[2]},"a":1})");
  EXPECT_EQ(mapped(R"(["x"])", R"({"a":1})"), "{}");
  EXPECT_EQ(mapped(R"(["n"])", R"({"n":null})"), R"({"n":null})");
}

TEST(Mapping, names_that_are_taken_are_not_paths) {
  EXPECT_EQ(mapped(R"(["a.b","$","\\"])", R"({"a":{"b":1},"a.b":2,"$":3,"\\":4})"),
            R"({"a.b":2,"$":3,"\\":4})");
  EXPECT_EQ(mapped(R"(["\u00e4"])", R"({"\u00e4":1})"), "{\"\xC3\xA4\":1}");
}

TEST(Mapping, extracts_each_name_from_a_path) {
  EXPECT_EQ(mapped(R"({"card":"customer.card","first":"lines.0","all":"$"})",
                   R"({"customer":{"card":"4711"},"lines":[7]})"),
            R"({"card":"4711","first":7,"all":{"customer":{"card":"4711"},"lines":[7]}})");
  EXPECT_EQ(mapped(R"({"a":{"path":"b"}})", R"({"b":null})"), R"({"a":null})");
  EXPECT_EQ(mapped("{}", R"({"b":1})"), "{}");
}

TEST(Mapping, a_default_replaces_a_missing_value) {
  const std::string_view mapping = R"({"limit":{"path":"a.limit","default":[5, {"x": 1.5}]}})";
  EXPECT_EQ(mapped(mapping, R"({})"), R"({"limit":[5,{"x":1.5}]})");
  EXPECT_EQ(mapped(mapping, R"({"a":1})"), R"({"limit":[5,{"x":1.5}]})");
  EXPECT_EQ(mapped(mapping, R"({"a":{"limit":null}})"), R"({"limit":null})");
  EXPECT_EQ(mapped(R"({"a":{"path":"b","default":null}})", "{}"), R"({"a":null})");
  EXPECT_EQ(mapped(R"({"a":{"path":"b","default":2.0}})", "{}"), R"({"a":2.0})");
  EXPECT_EQ(mapped(R"({"a":{"path":"b","default":""}})", "{}"), R"({"a":""})");
}

TEST(Mapping, a_literal_is_a_literal) {
  EXPECT_EQ(mapped(R"({"currency":{"value":"EUR"},"n":{"value":null},"o":{"value":{"path":"a"}}})",
                   R"({"currency":"USD"})"),
            R"({"currency":"EUR","n":null,"o":{"path":"a"}})");
}

TEST(Mapping, a_missing_path_is_named) {
  const auto result =
      apply(R"({"x":"a","card":"$.customer.card.number"})", R"({"a":1,"customer":{"name":"x"}})");
  const auto& missing = std::get<MissingPath>(result);
  EXPECT_EQ(missing.target, "card");
  EXPECT_EQ(missing.path, "$.customer.card.number");
  EXPECT_EQ(missing.missing_at, "card");
  EXPECT_EQ(mapped(R"({"a":"lines.3"})", R"({"lines":[1]})"), "missing a");
}

TEST(Mapping, faults_name_their_location) {
  EXPECT_EQ(fault_location("1"), "");
  EXPECT_EQ(fault_location(R"("a")"), "");
  EXPECT_EQ(fault_location("[]"), "");
  EXPECT_EQ(fault_location(R"(["a",1])"), "[1]");
  EXPECT_EQ(fault_location(R"(["a",""])"), "[1]");
  EXPECT_EQ(fault_location(R"(["a","b","a"])"), "[2]");
  EXPECT_EQ(fault_location(R"({"":"a"})"), "");
  EXPECT_EQ(fault_location(R"({"a":""})"), "a");
  EXPECT_EQ(fault_location(R"({"a":"b..c"})"), "a");
  EXPECT_EQ(fault_location(R"({"a":1})"), "a");
  EXPECT_EQ(fault_location(R"({"a":["b"]})"), "a");
  EXPECT_EQ(fault_location(R"({"a":{}})"), "a");
  EXPECT_EQ(fault_location(R"({"a":{"default":1}})"), "a");
  EXPECT_EQ(fault_location(R"({"a":{"path":"b","value":1}})"), "a");
  EXPECT_EQ(fault_location(R"({"a":{"value":1,"default":1}})"), "a");
  EXPECT_EQ(fault_location(R"({"a":{"path":"b","fallback":1}})"), "a.fallback");
  EXPECT_EQ(fault_location(R"({"a":{"path":7}})"), "a.path");
  EXPECT_EQ(fault_location(R"({"a":{"path":"b."}})"), "a.path");
}

TEST(FillIn, replaces_paths_by_their_values) {
  const ObjectView data(
      R"({"name":"J\u00f6rg \"J\"","n":1.50,"o":{"x":[1,"b"]},"t":true,"z":null})");
  EXPECT_EQ(fill_in("hello {name}!", data), "hello J\xC3\xB6rg \"J\"!");
  EXPECT_EQ(fill_in("{n}{t}{z}", data), "1.50truenull");
  EXPECT_EQ(fill_in("{o} {o.x} {o.x.1} {$.o.x.0}", data), R"({"x":[1,"b"]} [1,"b"] b 1)");
  EXPECT_EQ(fill_in("<{missing}{o.y}{a..b}>", data), "<>");
  EXPECT_EQ(fill_in("", data), "");
}

TEST(FillIn, doubled_braces_are_braces) {
  const ObjectView data(R"({"a":1})");
  EXPECT_EQ(fill_in("{{a}}", data), "{a}");
  EXPECT_EQ(fill_in("{{{a}}}", data), "{1}");
  EXPECT_EQ(fill_in("{{}}", data), "{}");
}

TEST(FillIn, the_whole_is_an_empty_path) {
  const ObjectView data(R"({"a":1})");
  EXPECT_EQ(fill_in("{}|{$}", data), R"({"a":1}|{"a":1})");
}

TEST(FillIn, an_unmatched_brace_stays) {
  const ObjectView data(R"({"a":1})");
  EXPECT_EQ(fill_in("{a", data), "{a");
  EXPECT_EQ(fill_in("a} {a}", data), "a} 1");
  EXPECT_EQ(fill_in("{", data), "{");
  EXPECT_EQ(fill_in("}", data), "}");
}

TEST(FillIn, inserted_values_are_not_expanded_again) {
  EXPECT_EQ(fill_in("{a}", ObjectView(R"({"a":"{b} {{","b":1})")), "{b} {{");
}

}  // namespace
}  // namespace holdfast::mapping_test
