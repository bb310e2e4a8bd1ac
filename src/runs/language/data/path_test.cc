#include "runs/language/data/path.h"

#include <gtest/gtest.h>

namespace holdfast::path_test {
namespace {

using Parts = std::vector<std::string>;

DataPath path(std::string_view text) {
  auto parsed = DataPath::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return std::move(parsed).value();
}

std::string found(std::string_view object, std::string_view text) {
  std::string storage;
  const ObjectView view(object);
  const auto value = find_value(view, path(text), storage);
  return value.has_value() ? std::string(*value) : "nothing";
}

TEST(DataPath, parts_are_separated_by_dots) {
  EXPECT_EQ(path("order.lines.0.sku").parts(), (Parts{"order", "lines", "0", "sku"}));
  EXPECT_EQ(path("a").parts(), Parts{"a"});
  EXPECT_EQ(path("\xC3\xA4.\xE2\x82\xAC uro").parts(), (Parts{"\xC3\xA4", "\xE2\x82\xAC uro"}));
}

TEST(DataPath, a_dollar_or_nothing_is_the_whole) {
  EXPECT_TRUE(path("").parts().empty());
  EXPECT_TRUE(path("$").parts().empty());
  EXPECT_EQ(path("$.a.b"), path("a.b"));
  EXPECT_EQ(path("$a").parts(), Parts{"$a"});
  EXPECT_EQ(path("a.$").parts(), (Parts{"a", "$"}));
}

TEST(DataPath, dots_and_backslashes_in_names_are_escaped) {
  EXPECT_EQ(path(R"(a\.b.c\\d)").parts(), (Parts{"a.b", R"(c\d)"}));
  EXPECT_EQ(path(R"(\..\\)").parts(), (Parts{".", R"(\)"}));
}

TEST(DataPath, text_reads_back_as_the_same_path) {
  for (const std::string_view text :
       {"", "$", "a", "$.a", "a.b.0", R"(a\.b.c\\d)", "$.$", "$.$.a", "a.$", "$a", R"(\.)"}) {
    EXPECT_EQ(path(path(text).text()), path(text)) << text;
  }
  EXPECT_EQ(path("$.a.b").text(), "a.b");
  EXPECT_EQ(path("").text(), "$");
}

TEST(DataPath, refuses_empty_parts_and_escapes_of_nothing) {
  for (const std::string_view text :
       {".", "a.", ".a", "a..b", "$.", "$..a", R"(a\)", R"(a\b)", R"(\$)",
        R"(a\.)"
        R"(.)"}) {
    const auto parsed = DataPath::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(parsed.error().field("path"), text);
  }
}

TEST(DataPath, has_limits) {
  EXPECT_TRUE(DataPath::parse(std::string(1024, 'a')).ok());
  EXPECT_FALSE(DataPath::parse(std::string(1025, 'a')).ok());
  std::string text = "a";
  for (int i = 1; i < 64; ++i) {
    text += ".a";
  }
  EXPECT_EQ(path(text).parts().size(), 64U);
  EXPECT_FALSE(DataPath::parse(text + ".a").ok());
}

TEST(FindValue, follows_objects_and_lists) {
  const std::string_view object = R"({"order":{"lines":[{"sku":"x"},{"sku":"y"}],"n":null}})";
  EXPECT_EQ(found(object, "order.lines.1.sku"), R"("y")");
  EXPECT_EQ(found(object, "order.lines.0"), R"({"sku":"x"})");
  EXPECT_EQ(found(object, "order.n"), "null");
  EXPECT_EQ(found(object, "$"), object);
  EXPECT_EQ(found(object, "order.lines.2"), "nothing");
  EXPECT_EQ(found(object, "order.lines.sku"), "nothing");
  EXPECT_EQ(found(object, "order.lines.-1"), "nothing");
  EXPECT_EQ(found(object, "order.lines.01"), "nothing");
  EXPECT_EQ(found(object, "order.lines.18446744073709551616"), "nothing");
  EXPECT_EQ(found(object, "order.n.x"), "nothing");
  EXPECT_EQ(found(object, "order.lines.0.sku.0"), "nothing");
  EXPECT_EQ(found(object, "Order"), "nothing");
}

TEST(FindValue, digits_are_a_name_in_an_object) {
  EXPECT_EQ(found(R"({"a":{"0":"zero","00":1}})", "a.0"), R"("zero")");
  EXPECT_EQ(found(R"({"a":{"0":"zero","00":1}})", "a.00"), "1");
}

TEST(FindValue, names_are_compared_as_they_read) {
  EXPECT_EQ(found(R"({"\u0061":1})", "a"), "1");
  EXPECT_EQ(found(R"({"a\"b":1})", "a\"b"), "1");
  EXPECT_EQ(found(R"({"a\\b":1})", R"(a\\b)"), "1");
  EXPECT_EQ(found(R"({"a.b":1,"a":{"b":2}})", R"(a\.b)"), "1");
  EXPECT_EQ(found(R"({"\ud83d\ude00":1})", "\xF0\x9F\x98\x80"), "1");
  EXPECT_EQ(found(R"({"x":{"\u00e4":1}})", "x.\xC3\xA4"), "1");
  EXPECT_EQ(found(R"({"\ud800":1,"a":2})", "a"), "2");
}

TEST(FindValue, of_duplicate_names_the_last_counts) {
  EXPECT_EQ(found(R"({"a":1,"b":2,"a":3})", "a"), "3");
  EXPECT_EQ(found(R"({"a":1,"\u0061":{"x":1,"x":2}})", "a.x"), "2");
}

TEST(FindValue, finds_values_as_deep_as_a_path_allows) {
  std::string object = "1";
  std::string text;
  for (int i = 0; i < 64; ++i) {
    object = R"({"a":)" + object + "}";
    text += i == 0 ? "a" : ".a";
  }
  EXPECT_EQ(found(object, text), "1");
}

TEST(FindValue, nothing_is_found_in_a_value_that_is_not_an_object) {
  for (const std::string_view text : {"", "[1]", "1", R"("a")", "{", R"({"a":1)", R"({"a":1}x)"}) {
    EXPECT_EQ(found(text, "a"), "nothing") << text;
    EXPECT_EQ(found(text, "0"), "nothing") << text;
  }
}

TEST(FoundParts, counts_the_existing_parts_of_a_path) {
  const ObjectView view(R"({"a":{"b":[1]}})");
  EXPECT_EQ(found_parts(view, path("$")), 0U);
  EXPECT_EQ(found_parts(view, path("x.b")), 0U);
  EXPECT_EQ(found_parts(view, path("a.x.b")), 1U);
  EXPECT_EQ(found_parts(view, path("a.b.1")), 2U);
  EXPECT_EQ(found_parts(view, path("a.b.0")), 3U);
  EXPECT_EQ(found_parts(view, path("a.b.0.c")), 3U);
}

}  // namespace
}  // namespace holdfast::path_test
