#include "runs/language/yaml/source_text.h"

#include <gtest/gtest.h>

namespace holdfast::source_text_test {
namespace {

SourceText source(std::string_view text) {
  auto made = SourceText::create(text);
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

// line:column of the first location where `part` stands.
std::string location_of(const SourceText& text, std::string_view part) {
  const SourceLocation location = text.location(text.readable().find(part));
  return std::to_string(location.line) + ":" + std::to_string(location.column);
}

std::string refused(std::string_view text) {
  const auto made = SourceText::create(text);
  EXPECT_FALSE(made.ok());
  return made.ok() ? "" : made.error().message();
}

TEST(SourceText, lines_and_columns_count_from_one) {
  const SourceText text = source("ab\ncd\r\n\nx");
  EXPECT_EQ(location_of(text, "ab"), "1:1");
  EXPECT_EQ(location_of(text, "b"), "1:2");
  EXPECT_EQ(location_of(text, "cd"), "2:1");
  EXPECT_EQ(location_of(text, "x"), "4:1");
  EXPECT_EQ(text.location(1000), (SourceLocation{4, 2}));
  EXPECT_EQ(source("").location(0), (SourceLocation{1, 1}));
}

TEST(SourceText, columns_are_characters) { EXPECT_EQ(location_of(source("äö€😀x"), "x"), "1:5"); }

TEST(SourceText, a_byte_order_mark_is_not_a_character) {
  const SourceText text = source("\xef\xbb\xbfx: 1");
  EXPECT_EQ(text.readable(), "x: 1");
  EXPECT_EQ(location_of(text, "x"), "1:1");
}

TEST(SourceText, pairs_of_surrogates_in_json_are_one_escape) {
  const SourceText text = source(R"({"a":"\ud83d\ude00\uD83D\uDE01","b":1})"
                                 "\n"
                                 R"( )");
  EXPECT_EQ(text.readable(), "{\"a\":\"\\U0001f600\\U0001f601\",\"b\":1}\n ");
  EXPECT_EQ(location_of(text, "\"b\""), "1:33");
  EXPECT_EQ(source(R"({"a":"\\ud83d\\ude00"})").readable(), R"({"a":"\\ud83d\\ude00"})");
  EXPECT_EQ(source(R"(a: '\ud83d\ude00')").readable(), R"(a: '\ud83d\ude00')");
}

TEST(SourceText, invalid_text_is_refused_with_its_location) {
  EXPECT_EQ(refused("a: 1\nb: \xff"), "line 2, column 4: the text is not valid UTF-8");
  EXPECT_EQ(refused(std::string_view("a\0b", 3)), "line 1, column 2: control character 0x00");
  EXPECT_EQ(refused("a: \x1b[31m"), "line 1, column 4: control character 0x1b");
  EXPECT_NE(refused(std::string(kMaxSourceBytes + 1, ' ')).find("longer than 1 MiB"),
            std::string::npos);
}

TEST(SourceText, the_error_has_fields_for_programs) {
  const auto made = SourceText::create("a: 1\nb: \xff");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::invalid_definition);
  EXPECT_EQ(made.error().field("line"), "2");
  EXPECT_EQ(made.error().field("column"), "4");
  EXPECT_EQ(made.error().field("reason"), "the text is not valid UTF-8");
}

}  // namespace
}  // namespace holdfast::source_text_test
