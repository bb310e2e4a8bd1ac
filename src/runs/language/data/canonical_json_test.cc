#include "runs/language/data/canonical_json.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/json_value.h"

namespace holdfast::canonical_json_test {
namespace {

TEST(CanonicalJson, members_are_sorted_and_whitespace_is_removed) {
  EXPECT_EQ(canonical_json(R"( { "b" : [ 1 , 2 ] , "a" : { "d" : null , "c" : true } } )"),
            R"({"a":{"c":true,"d":null},"b":[1,2]})");
  EXPECT_EQ(canonical_json("{}"), "{}");
  EXPECT_EQ(canonical_json("[]"), "[]");
  EXPECT_EQ(canonical_json("[[],{},[[]]]"), "[[],{},[[]]]");
  EXPECT_EQ(canonical_json("null"), "null");
}

TEST(CanonicalJson, names_are_sorted_by_their_unescaped_bytes) {
  EXPECT_EQ(canonical_json(R"({"b":1,"a!":2,"a":3,"B":4,"":5})"),
            R"({"":5,"B":4,"a":3,"a!":2,"b":1})");
  EXPECT_EQ(canonical_json(R"({"]":1,"\n":2,"[":3,"\"":4})"), R"({"\n":2,"\"":4,"[":3,"]":1})");
  EXPECT_EQ(canonical_json(R"({"\u00e4":1,"z":2})"), "{\"z\":2,\"\xC3\xA4\":1}");
}

TEST(CanonicalJson, of_duplicate_members_the_last_counts) {
  EXPECT_EQ(canonical_json(R"({"a":1,"b":2,"\u0061":3})"), R"({"a":3,"b":2})");
  EXPECT_EQ(canonical_json(R"({"a":1,"a":2,"a":[{"x":1,"x":0}]})"), R"({"a":[{"x":0}]})");
}

TEST(CanonicalJson, numbers_that_are_equal_are_written_equally) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases{
      {"1", "1"},
      {"1.0", "1"},
      {"1e0", "1"},
      {"10E-1", "1"},
      {"-0", "0"},
      {"-0.0", "0"},
      {"0e999", "0"},
      {"1.50", "1.5"},
      {"15e-1", "1.5"},
      {"1e3", "1000"},
      {"-1.0E+2", "-100"},
      {"0.1", "0.1"},
      {"0.10000000000000000000001", "0.1"},
      {"0.30000000000000004", "0.30000000000000004"},
      {"0.11935319286735585", "0.11935319286735585"},
      {"9007199254740992.0", "9007199254740992"},
      {"-9007199254740992.0", "-9007199254740992"},
      {"9007199254740994.0", "9007199254740994"},
      {"1e16", "1e+16"},
      {"1e300", "1e+300"},
      {"10e299", "1e+300"},
      {"5e-324", "5e-324"},
  };
  for (const auto& [json, canonical] : cases) {
    EXPECT_EQ(canonical_json(json), canonical) << json;
    EXPECT_EQ(canonical_json(canonical), canonical) << json;
  }
}

TEST(CanonicalJson, integers_of_64_bits_stay_exact) {
  for (const std::string_view integer : {"9007199254740993", "9223372036854775807",
                                         "-9223372036854775808", "18446744073709551615"}) {
    EXPECT_EQ(canonical_json(integer), integer);
  }
  EXPECT_EQ(canonical_json("18446744073709551616"), "1.8446744073709552e+19");
  EXPECT_EQ(canonical_json("-9223372036854775809"), "-9.223372036854776e+18");
}

TEST(CanonicalJson, a_number_that_no_double_can_hold_stays_as_it_is) {
  EXPECT_EQ(canonical_json("1e999"), "1e999");
  EXPECT_EQ(canonical_json("[-1e999]"), "[-1e999]");
}

TEST(CanonicalJson, strings_have_the_fewest_escapes) {
  EXPECT_EQ(canonical_json(R"("\u0041\/\u00e9\ud83d\ude00")"), "\"A/\xC3\xA9\xF0\x9F\x98\x80\"");
  EXPECT_EQ(canonical_json(R"("\"\\\u000a\u0009\u0001\u007f")"), "\"\\\"\\\\\\n\\t\\u0001\x7f\"");
  EXPECT_EQ(canonical_json(R"("\u0000")"), R"("\u0000")");
  EXPECT_EQ(canonical_json(R"(" a  b ")"), R"(" a  b ")");
}

TEST(CanonicalJson, half_a_surrogate_pair_stays_as_it_is) {
  EXPECT_EQ(canonical_json(R"({"b":"\ud800","\ud800":1})"), R"({"\ud800":1,"b":"\ud800"})");
}

TEST(CanonicalJson, is_as_deep_as_json_allows) {
  const std::string deep = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_EQ(canonical_json(deep), deep);
}

TEST(CanonicalJsonDeathTest, invalid_json_is_a_programmer_error) {
  for (const std::string_view text : {"", "{", "[1,]", "nul", "1 2"}) {
    EXPECT_DEATH(canonical_json(text), "compact.ok") << text;
  }
}

}  // namespace
}  // namespace holdfast::canonical_json_test
