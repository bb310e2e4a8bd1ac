#include "runs/run/search_attributes.h"

#include <gtest/gtest.h>

#include "tests/support/must.h"

namespace holdfast::search_attributes_test {
namespace {

Result<SearchAttributes> changed(std::string_view changes, const SearchAttributes& current = {}) {
  return with_changes(current, Payload::trusted(changes));
}

std::string quoted(std::size_t size) { return '"' + std::string(size, 'x') + '"'; }

TEST(SearchAttributes, changes_set_and_remove) {
  const SearchAttributes first = must(changed(R"({"a":1,"b":"x","c":true,"d":["x",-1,false]})"));
  EXPECT_EQ(first.size(), 4U);
  const SearchAttributes second = must(changed(R"({"a":2,"b":null,"none":null})", first));
  EXPECT_EQ(second.size(), 3U);
  EXPECT_EQ(second.at("a").view(), "2");
  EXPECT_EQ(second.at("d").view(), R"(["x",-1,false])");
}

TEST(SearchAttributes, keys_are_plain_and_short) {
  for (const std::string& key : {std::string("a"), std::string("a_b.c-9"), std::string(64, 'k')}) {
    EXPECT_TRUE(changed("{\"" + key + "\":1}").ok()) << key;
  }
  for (const std::string& key :
       {std::string(), std::string("A"), std::string("1a"), std::string("_a"), std::string("a b"),
        std::string("aB"), std::string(65, 'k'), std::string(R"(a\u0062)")}) {
    EXPECT_EQ(code_of(changed("{\"" + key + "\":1}")), "invalid_argument") << key;
  }
  EXPECT_EQ(changed(R"({"A":1})").error().field("attribute"), "A");
}

TEST(SearchAttributes, values_are_texts_integers_flags_or_short_lists_of_those) {
  const auto code = [](const std::string& value) {
    return code_of(changed("{\"a\":" + value + "}"));
  };
  const auto list = [](int size) {
    std::string items;
    for (int i = 0; i < size; ++i) {
      items += i == 0 ? "1" : ",1";
    }
    return "[" + items + "]";
  };
  for (const std::string& value :
       {quoted(256), std::string("9223372036854775807"), list(0), list(16), std::string("false")}) {
    EXPECT_EQ(code(value), "ok") << value;
  }
  for (const std::string& value :
       {quoted(257), std::string("9223372036854775808"), std::string("1.5"), std::string("{}"),
        list(17), std::string("[[]]"), std::string("[null]"), "[" + quoted(257) + "]"}) {
    EXPECT_EQ(code(value), "invalid_argument") << value;
  }
}

TEST(SearchAttributes, there_are_at_most_32) {
  SearchAttributes many;
  for (int i = 0; i < 32; ++i) {
    many.emplace("a" + std::to_string(i), Payload::trusted("1"));
  }
  EXPECT_TRUE(changed(R"({"a0":2})", many).ok());
  EXPECT_TRUE(changed(R"({"a0":null,"b":1})", many).ok());
  EXPECT_EQ(code_of(changed(R"({"b":1})", many)), "invalid_argument");
}

TEST(SearchAttributes, they_are_at_most_4096_bytes_of_json) {
  SearchAttributes large;
  for (int i = 0; i < 15; ++i) {
    large.emplace("a" + std::to_string(10 + i), Payload::trusted(quoted(256)));
  }
  // {"a10":"…",…} is 15 * (5 + 1 + 258) bytes, 14 commas and 2 braces; one more needs 5 and a
  // comma.
  constexpr std::size_t kUsed = 15 * 264 + 14 + 2;
  constexpr std::size_t kLeft = 4096 - kUsed - 1 - 4;
  EXPECT_TRUE(changed("{\"b\":" + quoted(kLeft - 2) + "}", large).ok());
  EXPECT_EQ(code_of(changed("{\"b\":" + quoted(kLeft - 1) + "}", large)), "invalid_argument");
}

TEST(SearchAttributes, changes_are_an_object) {
  for (const std::string_view text : {"", "[]", "1", "null"}) {
    EXPECT_EQ(code_of(changed(text)), "invalid_argument") << text;
  }
  EXPECT_TRUE(changed("{}").ok());
}

}  // namespace
}  // namespace holdfast::search_attributes_test
