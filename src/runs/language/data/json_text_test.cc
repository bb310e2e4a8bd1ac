#include "runs/language/data/json_text.h"

#include <gtest/gtest.h>

namespace holdfast::json_text_test {
namespace {

std::string again(std::string_view text) { return json_text(Json::parse(text).value()); }

TEST(JsonText, keeps_the_order_of_members) {
  EXPECT_EQ(again(R"( { "b" : 1 , "a" : [ true , null , { } , [ ] ] } )"),
            R"({"b":1,"a":[true,null,{},[]]})");
}

TEST(JsonText, writes_scalars_as_they_read) {
  for (const std::string_view text :
       {"null", "true", "false", "0", "-1", "9223372036854775807", "18446744073709551615", "1.5",
        "1.0", "-0.0", "1e+300", R"("")", R"("a\"\\\n")", "\"\xC3\xA4\""}) {
    EXPECT_EQ(again(text), text);
  }
  EXPECT_EQ(again(R"("\u0041")"), R"("A")");
}

TEST(JsonText, a_number_too_large_to_read_stays_one) {
  EXPECT_EQ(again("[1e400,-1e400]"), "[1e999,-1e999]");
  EXPECT_EQ(again(again("[1e400,-1e400]")), "[1e999,-1e999]");
}

}  // namespace
}  // namespace holdfast::json_text_test
