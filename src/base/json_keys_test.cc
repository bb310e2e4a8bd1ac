#include "base/json_keys.h"

#include <gtest/gtest.h>

namespace holdfast::json_keys_test {
namespace {

std::string repeated(std::string_view text) {
  const auto json = JsonText::parse(text);
  EXPECT_TRUE(json.ok()) << text;
  return find_repeated_key(json.value()).value_or("none");
}

TEST(JsonKeys, a_key_may_appear_once_in_each_object) {
  for (const std::string_view text :
       {"{}", "[]", "1", R"("a")", R"({"a":1,"b":1})", R"({"a":{"a":{"a":1}},"b":{"a":2}})",
        R"([{"a":1},{"a":1}])", R"({"a":["b","b","a"],"b":"a"})", R"({"a":"\"a\":1,\"a\":2"})",
        R"({"a":1,"A":2,"":3})"}) {
    EXPECT_EQ(repeated(text), "none") << text;
  }
}

TEST(JsonKeys, a_key_that_appears_twice_is_found_at_any_depth) {
  EXPECT_EQ(repeated(R"({"total":1,"total":2})"), "total");
  EXPECT_EQ(repeated(R"({"a":{"x":1},"b":2,"a":3})"), "a");
  EXPECT_EQ(repeated(R"({"order":{"lines":[{"sku":1},{"n":[[]],"sku":1,"sku":2}]}})"),
            "order.lines[1].sku");
  EXPECT_EQ(repeated(R"([[0,{"a":1,"a":1}]])"), "[0][1].a");
  EXPECT_EQ(repeated("{ \"a\" : 1 ,\n \"a\" : 1 }"), "a");
}

TEST(JsonKeys, are_compared_as_they_read) {
  EXPECT_EQ(repeated(R"({"a":1,"\u0061":2})"), "a");
  EXPECT_EQ(repeated(R"({"\\":1,"\"":2,"\"\\":3})"), "none");
}

TEST(JsonKeys, the_error_names_the_key) {
  const auto json = JsonText::parse(R"({"a":{"b":1,"b":2}})");
  const auto checked = check_unique_keys(json.value());
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code(), ErrorCode::invalid_json);
  EXPECT_EQ(checked.error().field("key"), "a.b");
  EXPECT_TRUE(check_unique_keys(JsonText()).ok());
}

}  // namespace
}  // namespace holdfast::json_keys_test
