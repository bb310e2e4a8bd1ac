#include "runs/language/data/condition_expression.h"

#include <gtest/gtest.h>

namespace holdfast::condition_expression_test {
namespace {

bool matches(std::string_view condition, std::string_view data) {
  const auto json = Json::parse(condition);
  EXPECT_TRUE(json.ok()) << condition;
  const auto parsed = Condition::parse(json.value());
  EXPECT_TRUE(parsed.ok()) << condition << " " << parsed.error().text();
  return parsed.value().matches(ObjectView(data));
}

std::string fault_location(std::string_view condition) {
  const auto json = Json::parse(condition);
  EXPECT_TRUE(json.ok()) << condition;
  const auto parsed = Condition::parse(json.value());
  if (parsed.ok()) {
    return "no fault";
  }
  EXPECT_EQ(parsed.error().code(), ErrorCode::invalid_argument);
  return std::string(parsed.error().field("at"));
}

TEST(Condition, equals_any_json_value) {
  EXPECT_TRUE(matches(R"({"path":"vip","equals":true})", R"({"vip":true})"));
  EXPECT_FALSE(matches(R"({"path":"vip","equals":true})", R"({"vip":"true"})"));
  EXPECT_FALSE(matches(R"({"path":"vip","equals":true})", R"({"vip":1})"));
  EXPECT_TRUE(matches(R"({"path":"a","equals":null})", R"({"a":null})"));
  EXPECT_FALSE(matches(R"({"path":"a","equals":null})", R"({})"));
  EXPECT_TRUE(matches(R"({"path":"a","equals":{"x":[1,{"y":2,"z":3}]}})",
                      R"({"a":{"x":[1.0,{"z":3,"y":2}]}})"));
  EXPECT_FALSE(matches(R"({"path":"a","equals":[1,2]})", R"({"a":[2,1]})"));
  EXPECT_TRUE(matches(R"({"path":"a","equals":"\u00e4"})", "{\"a\":\"\xC3\xA4\"}"));
  EXPECT_TRUE(matches(R"({"path":"$","equals":{"b":1,"a":2}})", R"({"a":2,"b":1})"));
}

TEST(Condition, numbers_are_equal_however_they_are_written) {
  EXPECT_TRUE(matches(R"({"path":"a","equals":1})", R"({"a":1.0})"));
  EXPECT_TRUE(matches(R"({"path":"a","equals":1.0})", R"({"a":10e-1})"));
  EXPECT_TRUE(
      matches(R"({"path":"a","equals":0.11935319286735585})", R"({"a":0.11935319286735585})"));
  EXPECT_FALSE(matches(R"({"path":"a","equals":1})", R"({"a":"1"})"));
}

TEST(Condition, integers_of_64_bits_are_compared_exactly) {
  EXPECT_TRUE(matches(R"({"path":"a","equals":9007199254740993})", R"({"a":9007199254740993})"));
  EXPECT_FALSE(matches(R"({"path":"a","equals":9007199254740993})", R"({"a":9007199254740992})"));
  EXPECT_FALSE(
      matches(R"({"path":"a","equals":18446744073709551615})", R"({"a":18446744073709551614})"));
  EXPECT_TRUE(matches(R"({"path":"a","greater":9007199254740992})", R"({"a":9007199254740993})"));
  EXPECT_FALSE(matches(R"({"path":"a","less":9007199254740993})", R"({"a":9007199254740993})"));
  EXPECT_TRUE(
      matches(R"({"path":"a","less":18446744073709551615})", R"({"a":18446744073709551614})"));
  EXPECT_TRUE(matches(R"({"path":"a","greater":-1})", R"({"a":18446744073709551615})"));
}

TEST(Condition, only_numbers_are_ordered) {
  EXPECT_TRUE(matches(R"({"path":"total","greater":100})", R"({"total":100.5})"));
  EXPECT_FALSE(matches(R"({"path":"total","greater":100})", R"({"total":100})"));
  EXPECT_TRUE(matches(R"({"path":"total","greater_or_equal":100})", R"({"total":1e2})"));
  EXPECT_FALSE(matches(R"({"path":"total","greater_or_equal":100})", R"({"total":99})"));
  EXPECT_TRUE(matches(R"({"path":"total","less":0.5})", R"({"total":-3})"));
  EXPECT_FALSE(matches(R"({"path":"total","less":0.5})", R"({"total":0.5})"));
  EXPECT_TRUE(matches(R"({"path":"total","less_or_equal":0.5})", R"({"total":0.5})"));
  EXPECT_FALSE(matches(R"({"path":"total","less_or_equal":0.5})", R"({"total":1})"));
  for (const std::string_view data :
       {R"({})", R"({"total":"101"})", R"({"total":true})", R"({"total":null})",
        R"({"total":[101]})", R"({"total":{"n":101}})"}) {
    EXPECT_FALSE(matches(R"({"path":"total","greater":100})", data)) << data;
    EXPECT_FALSE(matches(R"({"path":"total","less":100})", data)) << data;
  }
}

TEST(Condition, in_matches_any_of_the_values) {
  EXPECT_TRUE(matches(R"({"path":"c","in":["DE","FR"]})", R"({"c":"FR"})"));
  EXPECT_FALSE(matches(R"({"path":"c","in":["DE","FR"]})", R"({"c":"IT"})"));
  EXPECT_FALSE(matches(R"({"path":"c","in":["DE",null]})", R"({})"));
  EXPECT_TRUE(matches(R"({"path":"c","in":[1,{"a":1,"b":2}]})", R"({"c":{"b":2,"a":1.0}})"));
  EXPECT_FALSE(matches(R"({"path":"c","in":[]})", R"({"c":[]})"));
}

TEST(Condition, exists_tests_whether_the_path_is_present) {
  EXPECT_TRUE(matches(R"({"path":"a.b","exists":true})", R"({"a":{"b":null}})"));
  EXPECT_FALSE(matches(R"({"path":"a.b","exists":true})", R"({"a":{}})"));
  EXPECT_TRUE(matches(R"({"path":"a.b","exists":false})", R"({"a":1})"));
  EXPECT_FALSE(matches(R"({"path":"a.b","exists":false})", R"({"a":{"b":0}})"));
  EXPECT_TRUE(matches(R"({"path":"$","exists":true})", R"({})"));
}

TEST(Condition, not_equals_matches_a_missing_path) {
  EXPECT_TRUE(matches(R"({"path":"s","not_equals":"open"})", R"({})"));
  EXPECT_TRUE(matches(R"({"path":"s","not_equals":"open"})", R"({"s":1})"));
  EXPECT_FALSE(matches(R"({"path":"s","not_equals":"open"})", R"({"s":"open"})"));
}

TEST(Condition, every_comparison_takes_the_value_at_another_path) {
  const auto holds = [](std::string_view op, std::string_view data) {
    return matches(R"({"path":"x",")" + std::string(op) + R"(":{"path":"y.z"}})", data);
  };
  const std::string_view less = R"({"x":1,"y":{"z":2}})";
  const std::string_view same = R"({"x":2,"y":{"z":2.0}})";
  const std::string_view more = R"({"x":3,"y":{"z":2}})";
  struct Row {
    std::string_view op;
    bool less;
    bool same;
    bool more;
  };
  for (const Row& row :
       {Row{"equals", false, true, false}, Row{"not_equals", true, false, true},
        Row{"greater", false, false, true}, Row{"greater_or_equal", false, true, true},
        Row{"less", true, false, false}, Row{"less_or_equal", true, true, false}}) {
    EXPECT_EQ(holds(row.op, less), row.less) << row.op;
    EXPECT_EQ(holds(row.op, same), row.same) << row.op;
    EXPECT_EQ(holds(row.op, more), row.more) << row.op;
  }
}

TEST(Condition, values_at_paths_are_compared_whatever_their_type) {
  const std::string_view equal = R"({"path":"x","equals":{"path":"y"}})";
  EXPECT_TRUE(matches(equal, R"({"x":"a","y":"a"})"));
  EXPECT_TRUE(matches(equal, R"({"x":{"a":1,"b":[2]},"y":{"b":[2.0],"a":1}})"));
  EXPECT_TRUE(matches(equal, R"({"x":null,"y":null})"));
  EXPECT_FALSE(matches(equal, R"({"x":"1","y":1})"));
  EXPECT_TRUE(matches(equal, R"({"x":9007199254740993,"y":9007199254740993})"));
  EXPECT_FALSE(matches(equal, R"({"x":9007199254740993,"y":9007199254740992})"));
  EXPECT_FALSE(matches(R"({"path":"x","greater":{"path":"y"}})", R"({"x":2,"y":"1"})"));
}

TEST(Condition, in_takes_a_list_at_a_path_and_items_at_paths) {
  const std::string_view list = R"({"path":"c","in":{"path":"allowed"}})";
  EXPECT_TRUE(matches(list, R"({"c":"FR","allowed":["DE","FR"]})"));
  EXPECT_FALSE(matches(list, R"({"c":"IT","allowed":["DE","FR"]})"));
  EXPECT_FALSE(matches(list, R"({"c":"IT","allowed":"IT"})"));
  EXPECT_FALSE(matches(list, R"({"c":"IT"})"));
  EXPECT_TRUE(matches(R"({"path":"c","in":{"path":"allowed","default":["DE"]}})", R"({"c":"DE"})"));
  const std::string_view item = R"({"path":"c","in":["DE",{"path":"home"}]})";
  EXPECT_TRUE(matches(item, R"({"c":"IT","home":"IT"})"));
  EXPECT_TRUE(matches(item, R"({"c":"DE"})"));
  EXPECT_FALSE(matches(item, R"({"c":"IT"})"));
}

TEST(Condition, a_missing_path_on_either_side_only_satisfies_not_equals) {
  for (const std::string_view data : {R"({"x":1})", R"({"y":1})", "{}"}) {
    for (const std::string op :
         {"equals", "greater", "greater_or_equal", "less", "less_or_equal", "in"}) {
      EXPECT_FALSE(matches(R"({"path":"x",")" + op + R"(":{"path":"y"}})", data)) << op << data;
    }
    EXPECT_TRUE(matches(R"({"path":"x","not_equals":{"path":"y"}})", data)) << data;
  }
}

TEST(Condition, a_default_stands_in_for_a_missing_path) {
  const std::string_view over = R"({"path":"x","greater":{"path":"limit","default":5}})";
  EXPECT_TRUE(matches(over, R"({"x":6})"));
  EXPECT_FALSE(matches(over, R"({"x":6,"limit":7})"));
  EXPECT_FALSE(matches(over, R"({"x":6,"limit":"none"})"));
  EXPECT_TRUE(matches(R"({"path":"x","equals":{"path":"y","default":null}})", R"({"x":null})"));
}

TEST(Condition, literals_that_look_like_sources_are_wrapped) {
  const std::string_view wrapped = R"({"path":"f","equals":{"value":{"path":"a.txt"}}})";
  EXPECT_TRUE(matches(wrapped, R"({"f":{"path":"a.txt"},"a":{"txt":1}})"));
  EXPECT_FALSE(matches(wrapped, R"({"f":1,"a":{"txt":1}})"));
  EXPECT_TRUE(matches(R"({"path":"f","equals":{"value":5}})", R"({"f":5})"));
  EXPECT_TRUE(matches(R"({"path":"f","less":{"value":5}})", R"({"f":4})"));
  EXPECT_TRUE(matches(R"({"path":"f","in":[{"value":{"value":5}}]})", R"({"f":{"value":5}})"));
}

TEST(Condition, other_objects_with_a_path_are_literals) {
  EXPECT_TRUE(matches(R"({"path":"f","equals":{"path":"a","size":3}})",
                      R"({"f":{"size":3,"path":"a"},"a":1})"));
  EXPECT_TRUE(matches(R"({"path":"f","equals":{"path":7}})", R"({"f":{"path":7}})"));
}

TEST(Condition, all_any_and_not_combine_conditions) {
  const std::string_view both =
      R"({"all":[{"path":"a","equals":1},{"not":{"path":"b","exists":true}}]})";
  EXPECT_TRUE(matches(both, R"({"a":1})"));
  EXPECT_FALSE(matches(both, R"({"a":1,"b":1})"));
  EXPECT_FALSE(matches(both, R"({"a":2})"));
  const std::string_view either = R"({"any":[{"path":"a","equals":1},{"path":"b","equals":1}]})";
  EXPECT_TRUE(matches(either, R"({"b":1})"));
  EXPECT_FALSE(matches(either, R"({"c":1})"));
  EXPECT_TRUE(matches(R"({"all":[]})", R"({})"));
  EXPECT_FALSE(matches(R"({"any":[]})", R"({})"));
}

TEST(Condition, data_of_any_shape_is_never_an_error) {
  for (const std::string_view data : {"", "[]", "1", "{", R"({"a":)", R"({"a":"\ud800"})"}) {
    EXPECT_FALSE(matches(R"({"path":"a","equals":"x"})", data)) << data;
    EXPECT_TRUE(matches(R"({"path":"a","not_equals":"x"})", data)) << data;
    EXPECT_FALSE(matches(R"({"path":"a.b.c","greater":1})", data)) << data;
  }
}

TEST(Condition, faults_name_their_location) {
  EXPECT_EQ(fault_location("[]"), "");
  EXPECT_EQ(fault_location("{}"), "");
  EXPECT_EQ(fault_location(R"({"path":"a"})"), "");
  EXPECT_EQ(fault_location(R"({"equals":1})"), "path");
  EXPECT_EQ(fault_location(R"({"path":1,"equals":1})"), "path");
  EXPECT_EQ(fault_location(R"({"path":"a..b","equals":1})"), "path");
  EXPECT_EQ(fault_location(R"({"path":"a","eq":1})"), "eq");
  EXPECT_EQ(fault_location(R"({"path":"a","greater":1,"less":2})"), "");
  EXPECT_EQ(fault_location(R"({"path":"a","greater":"1"})"), "greater");
  EXPECT_EQ(fault_location(R"({"path":"a","less_or_equal":null})"), "less_or_equal");
  EXPECT_EQ(fault_location(R"({"path":"a","in":"DE"})"), "in");
  EXPECT_EQ(fault_location(R"({"path":"a","equals":{"path":"b..c"}})"), "equals.path");
  EXPECT_EQ(fault_location(R"({"path":"a","greater":{"path":"b","default":"x"}})"), "greater");
  EXPECT_EQ(fault_location(R"({"path":"a","greater":{"value":"x"}})"), "greater");
  EXPECT_EQ(fault_location(R"({"path":"a","in":[1,{"path":"b..c"}]})"), "in[1].path");
  EXPECT_EQ(fault_location(R"({"path":"a","in":{"value":1}})"), "in");
  EXPECT_EQ(fault_location(R"({"path":"a","exists":{"path":"b"}})"), "exists");
  EXPECT_EQ(fault_location(R"({"path":"a","exists":1})"), "exists");
  EXPECT_EQ(fault_location(R"({"path":"a","all":[]})"), "path");
  EXPECT_EQ(fault_location(R"({"all":{}})"), "all");
  EXPECT_EQ(fault_location(R"({"not":[]})"), "not");
  EXPECT_EQ(fault_location(R"({"all":[{"path":"a","equals":1},{"equals":1}]})"), "all[1].path");
  EXPECT_EQ(fault_location(R"({"not":{"any":[{"path":"a","in":1}]}})"), "not.any[0].in");
}

TEST(Condition, nests_at_most_16_deep) {
  std::string condition = R"({"path":"a","equals":1})";
  for (int depth = 1; depth < 16; ++depth) {
    condition = R"({"not":)" + condition + "}";
  }
  EXPECT_FALSE(matches(condition, R"({"a":1})"));
  EXPECT_TRUE(matches(condition, R"({"a":2})"));
  EXPECT_NE(fault_location(R"({"not":)" + condition + "}"), "no fault");
}

}  // namespace
}  // namespace holdfast::condition_expression_test
