#include "base/json_slice.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/json_value.h"

namespace holdfast::json_slice_test {
namespace {

std::vector<std::string> slices(std::string_view text) {
  JsonSlicer slicer(text);
  std::vector<std::string> found;
  while (const auto member = slicer.next()) {
    found.push_back(std::string(member->name) + "=" + std::string(member->value));
  }
  found.emplace_back(slicer.valid() ? "valid" : "broken");
  return found;
}

TEST(JsonSlice, members_come_as_they_are_written) {
  EXPECT_EQ(slices(R"({"a":1,"b":{"c":[1,"}"]},"d":"x\"y"})"),
            (std::vector<std::string>{"a=1", R"(b={"c":[1,"}"]})", R"(d="x\"y")", "valid"}));
  EXPECT_EQ(slices(R"([true,null,-1.5e3])"),
            (std::vector<std::string>{"=true", "=null", "=-1.5e3", "valid"}));
  EXPECT_EQ(slices("{}"), (std::vector<std::string>{"valid"}));
  EXPECT_EQ(slices("[]"), (std::vector<std::string>{"valid"}));
}

TEST(JsonSlice, text_that_is_not_json_is_found) {
  for (const char* text : {"", "1", "{", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1 ,2]",
                           "[1,,2]", "{\"a\":01}", "{\"a\":tru}", "{\"a\":\"\\x\"}", "[\"\n\"]",
                           "[\"\xff\"]", "[1.]", "[1e]", "[-]", "[\"\\u12g4\"]", "{'a':1}"}) {
    EXPECT_EQ(slices(text).back(), "broken") << text;
  }
}

TEST(JsonSlice, agrees_with_the_parser) {
  for (const char* text : {"1", "-0", "0.5", "1E+2", "\"\"", "\"\\u00e9\"", "null", "[[],{}]",
                           "{\"a\":{\"b\":[1,2,{\"c\":null}]}}", "01", "1.", "+1", "nul", "\"",
                           "[1]]", "{\"a\" :1}"}) {
    const auto parsed = JsonText::parse(text);
    EXPECT_EQ(is_compact_json(text), parsed.ok() && parsed.value().view() == text) << text;
  }
  const std::string deep(kMaxJsonDepth, '[');
  EXPECT_TRUE(is_compact_json(deep + std::string(kMaxJsonDepth, ']')));
  EXPECT_FALSE(is_compact_json("[" + deep + std::string(kMaxJsonDepth + 1, ']')));
}

TEST(JsonSlice, strings_are_unescaped) {
  EXPECT_EQ(json_string_value(R"("plain")"), "plain");
  EXPECT_EQ(json_string_value(R"("a\"b\u00e9\n")"), "a\"b\xc3\xa9\n");
  EXPECT_EQ(json_string_value("12"), std::nullopt);
}

}  // namespace
}  // namespace holdfast::json_slice_test
