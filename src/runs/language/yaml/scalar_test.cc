#include "runs/language/yaml/scalar.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace holdfast::scalar_test {
namespace {

std::string read(std::string_view tag, std::string_view text) {
  const auto found = scalar_json(tag, text);
  const auto* json = std::get_if<ScalarJson>(&found);
  return json != nullptr ? json->json : "refused";
}

std::string core(std::string_view type) { return "tag:yaml.org,2002:" + std::string(type); }

TEST(Scalar, plain_scalars_follow_the_core_schema) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"", "null"},
      {"~", "null"},
      {"null", "null"},
      {"NULL", "null"},
      {"true", "true"},
      {"False", "false"},
      {"0", "0"},
      {"-0", "0"},
      {"+12", "12"},
      {"-7", "-7"},
      {"010", "10"},
      {"0x1F", "31"},
      {"0o17", "15"},
      {"18446744073709551615", "18446744073709551615"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"0xffffffffffffffff", "18446744073709551615"},
      {"1.5", "1.5"},
      {"1.0", "1.0"},
      {"-1e3", "-1e3"},
  };
  for (const auto& [text, json] : cases) {
    EXPECT_EQ(read("?", text), json) << text;
  }
  for (const std::string_view text : {".5", "+.5", "0.5e0", "00.5"}) {
    EXPECT_EQ(std::stod(read("?", text)), 0.5) << text;
  }
  EXPECT_EQ(std::stod(read("?", "1.")), 1.0);
}

TEST(Scalar, other_plain_scalars_are_texts) {
  for (const std::string text : {"on",    "off",  "yes",   "no",         "y",
                                 "tRUE",  "nul",  "1_000", "0b1",        "0o8",
                                 "0xg",   "-0x1", "1:30",  "2026-11-16", "2026-11-16T08:30:00Z",
                                 "1.2.3", ".",    "-",     "+",          "e5",
                                 "1e",    "1e+",  "--1",   "inf",        "nan",
                                 "0x",    "5s",   "1h30m", "+-1",        ".e1"}) {
    EXPECT_EQ(read("?", text), '"' + text + '"');
  }
}

TEST(Scalar, quoted_scalars_are_texts) {
  for (const std::string text : {"", "~", "null", "true", "12", "1.5", "0x1F", ".nan"}) {
    EXPECT_EQ(read("!", text), '"' + text + '"');
    EXPECT_EQ(read(core("str"), text), '"' + text + '"');
  }
  EXPECT_EQ(read("!", "a\"b\\\n"), R"("a\"b\\\n")");
}

TEST(Scalar, numbers_that_do_not_fit_are_refused) {
  for (const std::string_view text : {"18446744073709551616", "-9223372036854775809",
                                      "0x10000000000000000", "0o7777777777777777777777777", "1e999",
                                      "-1.5e400", ".inf", "-.INF", "+.Inf", ".nan", ".NaN"}) {
    EXPECT_EQ(read("?", text), "refused") << text;
  }
}

TEST(Scalar, tags_of_the_core_schema_are_respected) {
  EXPECT_EQ(read(core("int"), "12"), "12");
  EXPECT_EQ(read(core("float"), "12"), "12");
  EXPECT_EQ(read(core("bool"), "true"), "true");
  EXPECT_EQ(read(core("null"), ""), "null");
  EXPECT_EQ(read(core("int"), "x"), "refused");
  EXPECT_EQ(read(core("int"), "1.5"), "refused");
  EXPECT_EQ(read(core("bool"), "yes"), "refused");
  EXPECT_EQ(read(core("null"), "0"), "refused");
  EXPECT_EQ(read(core("binary"), "aGk="), "refused");
  EXPECT_EQ(read(core("timestamp"), "2026-11-16"), "refused");
  EXPECT_EQ(read("!mine", "x"), "refused");
  EXPECT_TRUE(is_map_tag(core("map")) && !is_map_tag(core("seq")) && is_map_tag("?"));
  EXPECT_TRUE(is_list_tag(core("seq")) && !is_list_tag(core("map")) && !is_list_tag("!x"));
}

}  // namespace
}  // namespace holdfast::scalar_test
