#include "base/json_value.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/json_writer.h"

namespace holdfast::json_value_test {
namespace {

std::string compact(std::string_view text) {
  const auto parsed = JsonText::parse(text);
  return parsed.ok() ? std::string(parsed.value().view()) : parsed.error().text();
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonText, drops_white_space_between_tokens_only) {
  EXPECT_EQ(compact(" { \"a b\" :\t[ 1 ,\r\n 2 ] } \n"), R"({"a b":[1,2]})");
  EXPECT_EQ(compact(R"("  kept \" {  } \\" )"), R"("  kept \" {  } \\")");
  EXPECT_EQ(compact(" null "), "null");
}

TEST(JsonText, keeps_every_number_as_it_was_written) {
  for (const std::string_view number :
       {"0", "-0", "1.50", "1E+2", "123456789012345678901234567890", "0.1000000000000000055"}) {
    EXPECT_EQ(compact(number), number);
  }
}

TEST(JsonText, is_the_empty_object_by_default) {
  EXPECT_EQ(JsonText().view(), "{}");
  EXPECT_TRUE(JsonText().is_object());
  EXPECT_FALSE(JsonText::parse("[]").value().is_object());
}

TEST(JsonText, text_that_is_not_one_json_value_is_refused) {
  for (const std::string_view bad :
       {"",     " ",          "{",        "[1",      "\"a",       "{\"a\"}",     "{\"a\":}",
        "[1,]", "{\"a\":1,}", "{a:1}",    "'a'",     "01",        "+1",          ".5",
        "1.",   "NaN",        "Infinity", "tru",     "nul",       "1 2",         "{} {}",
        "[]]",  "// c\n1",    "\"\n\"",   "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\""}) {
    const auto parsed = JsonText::parse(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().code(), ErrorCode::invalid_json) << bad;
    EXPECT_FALSE(Json::parse(bad).ok()) << bad;
  }
}

TEST(JsonText, bytes_that_are_not_utf8_are_refused) {
  for (const std::string_view bad : {"\"\x80\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xff\"",
                                     "\"\xe2\x82\"", "{\"\xff\":1}"}) {
    EXPECT_FALSE(JsonText::parse(bad).ok());
    EXPECT_FALSE(Json::parse(bad).ok());
  }
  EXPECT_FALSE(JsonText::parse(std::string_view("\"\0\"", 3)).ok());
}

TEST(JsonText, errors_name_the_location) {
  const auto in_middle = JsonText::parse("[1, x]");
  ASSERT_FALSE(in_middle.ok());
  EXPECT_EQ(in_middle.error().field("offset"), "4");
  const auto behind = JsonText::parse("[]  x");
  ASSERT_FALSE(behind.ok());
  EXPECT_EQ(behind.error().field("offset"), "4");
  const auto of_value = Json::parse("[1, x]");
  ASSERT_FALSE(of_value.ok());
  EXPECT_EQ(of_value.error().field("offset"), "4");
}

TEST(JsonText, nesting_has_a_limit) {
  EXPECT_TRUE(JsonText::parse(nested(kMaxJsonDepth)).ok());
  EXPECT_TRUE(Json::parse(nested(kMaxJsonDepth)).ok());
  EXPECT_FALSE(JsonText::parse(nested(kMaxJsonDepth + 1)).ok());
  EXPECT_FALSE(Json::parse(nested(kMaxJsonDepth + 1)).ok());
  EXPECT_FALSE(JsonText::parse(nested(1'000'000)).ok());
}

TEST(Json, knows_the_kind_of_each_value) {
  const Json list = Json::parse(R"([null,true,1,1.5,"s",[],{}])").value();
  ASSERT_EQ(list.size(), 7U);
  EXPECT_EQ(list.kind(), Json::Kind::array);
  EXPECT_EQ(list.item(0).kind(), Json::Kind::null);
  EXPECT_EQ(list.item(1).boolean(), true);
  EXPECT_EQ(list.item(2).integer(), 1);
  EXPECT_EQ(list.item(3).kind(), Json::Kind::number);
  EXPECT_EQ(list.item(3).number(), 1.5);
  EXPECT_EQ(list.item(4).string(), "s");
  EXPECT_EQ(list.item(5).kind(), Json::Kind::array);
  EXPECT_EQ(list.item(6).kind(), Json::Kind::object);
}

TEST(Json, access_as_another_kind_is_empty) {
  const Json text = Json::parse("\"1\"").value();
  EXPECT_EQ(text.boolean(), std::nullopt);
  EXPECT_EQ(text.integer(), std::nullopt);
  EXPECT_EQ(text.unsigned_integer(), std::nullopt);
  EXPECT_EQ(text.number(), std::nullopt);
  EXPECT_EQ(text.size(), 0U);
  EXPECT_FALSE(text.find("a").has_value());
  EXPECT_EQ(Json::parse("1.0").value().integer(), std::nullopt);
  EXPECT_EQ(Json::parse("1").value().string(), std::nullopt);
}

TEST(Json, integers_of_64_bits_are_exact) {
  const Json largest = Json::parse("18446744073709551615").value();
  EXPECT_EQ(largest.kind(), Json::Kind::integer);
  EXPECT_EQ(largest.unsigned_integer(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(largest.integer(), std::nullopt);
  const Json smallest = Json::parse("-9223372036854775808").value();
  EXPECT_EQ(smallest.integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(smallest.unsigned_integer(), std::nullopt);
  EXPECT_EQ(Json::parse("7").value().unsigned_integer(), 7U);
  EXPECT_EQ(Json::parse("7").value().number(), 7.0);
  EXPECT_EQ(Json::parse("18446744073709551616").value().kind(), Json::Kind::number);
}

TEST(Json, members_are_found_by_name_and_by_index) {
  const Json object = Json::parse(R"({"b":1,"a":{"c":2}})").value();
  EXPECT_EQ(object.size(), 2U);
  EXPECT_EQ(object.member(0).first, "b");
  EXPECT_EQ(object.member(1).second.find("c")->integer(), 2);
  EXPECT_FALSE(object.find("c").has_value());
}

TEST(Json, a_part_keeps_the_document_alive) {
  const auto part = [] { return *Json::parse(R"({"a":"kept"})").value().find("a"); }();
  EXPECT_EQ(part.string(), "kept");
}

TEST(Json, escapes_are_resolved) {
  EXPECT_EQ(Json::parse(R"("\u00e9\ud83d\ude00\n\/")").value().string(), "é😀\n/");
  EXPECT_EQ(Json::parse(R"("a\u0000b")").value().string(), std::string_view("a\0b", 3));
}

std::string written(std::string_view value) {
  std::string out;
  append_json_string(out, value);
  return out;
}

TEST(JsonWriter, strings_are_escaped_as_little_as_json_permits) {
  EXPECT_EQ(written(""), R"("")");
  EXPECT_EQ(written("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(written("\n\r\t\b\f\x1f\x7f"), "\"\\n\\r\\t\\u0008\\u000c\\u001f\x7f\"");
  EXPECT_EQ(written(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(written("é😀"), "\"é😀\"");
}

TEST(JsonWriter, bytes_that_are_not_utf8_become_the_replacement_character) {
  EXPECT_EQ(written("a\xff\x62"), "\"a\ufffd\x62\"");
  EXPECT_EQ(written("\xc0\x80"), "\"\ufffd\ufffd\"");
  EXPECT_EQ(written("\xe2\x82"), "\"\ufffd\ufffd\"");
}

TEST(JsonWriter, every_byte_reads_back_or_is_replaced) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string value(1, static_cast<char>(byte));
    const auto back = Json::parse(written(value));
    ASSERT_TRUE(back.ok()) << byte;
    EXPECT_EQ(back.value().string(), byte < 0x80 ? value : "\ufffd") << byte;
  }
}

TEST(JsonWriter, writes_nested_values_without_white_space) {
  JsonWriter writer;
  writer.begin_object().key("list").begin_array();
  writer.integer(-1).unsigned_integer(2).boolean(true).null().string("s");
  writer.begin_array().end_array().begin_object().end_object();
  writer.end_array().member("raw", JsonText::parse("[ 1 ]").value()).member("flag", false);
  writer.key("empty").begin_object().end_object().member("text", "t").end_object();
  EXPECT_EQ(std::move(writer).take_text().view(),
            R"({"list":[-1,2,true,null,"s",[],{}],"raw":[1],"flag":false,"empty":{},"text":"t"})");
}

TEST(JsonWriter, numbers_read_back_as_the_same_number) {
  for (const double value :
       {0.0, 0.1, 1.0, -2.5, 1e15, 1e16, 1e300, 5e-324, 123456789.125,
        std::numeric_limits<double>::max(), std::numeric_limits<double>::min(), 1.0 / 3.0}) {
    JsonWriter writer;
    writer.number(value);
    const std::string text = std::move(writer).take();
    EXPECT_EQ(Json::parse(text).value().number(), value) << text;
  }
}

TEST(JsonWriter, numbers_that_json_lacks_become_null) {
  JsonWriter writer;
  writer.begin_array();
  writer.number(std::numeric_limits<double>::infinity());
  writer.number(std::numeric_limits<double>::quiet_NaN());
  writer.end_array();
  EXPECT_EQ(std::move(writer).take(), "[null,null]");
}

TEST(JsonWriter, extreme_integers_are_exact) {
  JsonWriter writer;
  writer.begin_array().integer(std::numeric_limits<std::int64_t>::min());
  writer.unsigned_integer(std::numeric_limits<std::uint64_t>::max()).end_array();
  EXPECT_EQ(std::move(writer).take(), "[-9223372036854775808,18446744073709551615]");
}

TEST(JsonWriterDeathTest, a_wrong_order_of_calls_stops_the_process) {
  EXPECT_DEATH(JsonWriter().begin_object().string("no key"), "assertion failed");
  EXPECT_DEATH(JsonWriter().begin_array().end_object(), "assertion failed");
  EXPECT_DEATH(JsonWriter().integer(1).integer(2), "assertion failed");
  EXPECT_DEATH(static_cast<void>(JsonWriter().begin_array().key("k")), "assertion failed");
  EXPECT_DEATH(static_cast<void>(JsonWriter().take()), "assertion failed");
}

}  // namespace
}  // namespace holdfast::json_value_test
