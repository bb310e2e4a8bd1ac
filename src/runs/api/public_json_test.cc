#include <gtest/gtest.h>

#include "holdfast/json.h"

namespace holdfast::public_json_test {
namespace {

TEST(EmbedJson, members_are_read_with_their_type) {
  constexpr std::string_view kOrder =
      R"({"id":"a\"1","total":12,"price":1.5,"paid":true,"items":[1, {"x":null}]})";
  EXPECT_EQ(json_text(kOrder, "id"), "a\"1");
  EXPECT_EQ(json_integer(kOrder, "total"), 12);
  EXPECT_EQ(json_number(kOrder, "price"), 1.5);
  EXPECT_EQ(json_number(kOrder, "total"), 12.0);
  EXPECT_EQ(json_boolean(kOrder, "paid"), true);
  EXPECT_EQ(json_value(kOrder, "items"), R"([1,{"x":null}])");
  EXPECT_EQ(json_value(kOrder, "id"), R"("a\"1")");
}

TEST(EmbedJson, an_absent_member_or_one_of_another_type_is_empty) {
  EXPECT_EQ(json_text(R"({"total":12})", "total"), std::nullopt);
  EXPECT_EQ(json_text(R"({"total":12})", "other"), std::nullopt);
  EXPECT_EQ(json_integer(R"({"total":"12"})", "total"), std::nullopt);
  EXPECT_EQ(json_integer(R"({"total":1.5})", "total"), std::nullopt);
  EXPECT_EQ(json_boolean(R"({"total":1})", "total"), std::nullopt);
  EXPECT_EQ(json_value(R"({"total":1})", "other"), std::nullopt);
}

TEST(EmbedJson, a_text_that_is_not_an_object_has_no_members) {
  for (const std::string_view text : {"", "[1]", "7", "{", R"({"a":1}x)"}) {
    EXPECT_EQ(json_integer(text, "a"), std::nullopt) << text;
    EXPECT_EQ(json_text(text, "a"), std::nullopt) << text;
    EXPECT_EQ(json_value(text, "a"), std::nullopt) << text;
  }
}

TEST(EmbedJson, a_quoted_text_reads_back) {
  const std::string text = "line\nquote\" back\\slash \xc3\xa9";
  EXPECT_EQ(json_text("{\"a\":" + json_quote(text) + "}", "a"), text);
}

TEST(EmbedJson, an_object_is_built_member_by_member) {
  EXPECT_EQ(JsonObject().text(), "{}");
  EXPECT_EQ(JsonObject()
                .add("name", "a\"b")
                .add("count", 7)
                .add("big", std::uint64_t{18446744073709551615U})
                .add("price", 1.5)
                .add("paid", true)
                .add_json("items", "[1]")
                .text(),
            R"({"name":"a\"b","count":7,"big":18446744073709551615,"price":1.5,"paid":true,)"
            R"("items":[1]})");
}

}  // namespace
}  // namespace holdfast::public_json_test
