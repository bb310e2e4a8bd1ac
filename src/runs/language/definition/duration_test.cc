#include "runs/language/definition/duration.h"

#include <gtest/gtest.h>

namespace holdfast::duration_test {
namespace {

TEST(Duration, numbers_with_units) {
  EXPECT_EQ(parse_duration("200ms"), 200U);
  EXPECT_EQ(parse_duration("5s"), 5000U);
  EXPECT_EQ(parse_duration("2m"), 120'000U);
  EXPECT_EQ(parse_duration("1h30m"), 5'400'000U);
  EXPECT_EQ(parse_duration("1d2h3m4s5ms"), 93'784'005U);
  EXPECT_EQ(parse_duration("0s"), 0U);
  EXPECT_EQ(parse_duration("90m"), 5'400'000U);
}

TEST(Duration, any_other_text_is_rejected) {
  for (const std::string_view text :
       {"", "5", "s", "5 s", " 5s", "5s ", "1.5s", "-5s", "5S", "5sec", "30m1h", "1h1h", "5ms3s",
        "1h30", "h1", "5\xc2\xb5s"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Duration, a_duration_that_overflows_is_too_long) {
  EXPECT_EQ(parse_duration("99999999999999999999999999d"), UINT64_MAX);
  EXPECT_EQ(parse_duration("213503982335d"), UINT64_MAX);
  EXPECT_EQ(parse_duration("18446744073709551615ms"), UINT64_MAX);
}

}  // namespace
}  // namespace holdfast::duration_test
