#include "base/uuid.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::uuid_test {
namespace {

constexpr TimeMs kTime{0x018f'1234'5678};

TEST(Uuid, new_ids_are_version_7_and_start_with_the_time) {
  SeededRandom random(1);
  for (int round = 0; round < 200; ++round) {
    const std::string text = to_string(make_uuid(kTime, random));
    ASSERT_EQ(text.size(), 36U);
    EXPECT_EQ(text.substr(0, 15), "018f1234-5678-7");
    EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos) << text;
  }
}

TEST(Uuid, sorts_by_time_as_value_and_as_text) {
  SeededRandom random(2);
  Uuid earlier = make_uuid(TimeMs{0}, random);
  for (std::int64_t time = 1; time < (1LL << 46); time *= 3) {
    const Uuid later = make_uuid(TimeMs{time}, random);
    EXPECT_LT(earlier, later);
    EXPECT_LT(to_string(earlier), to_string(later));
    earlier = later;
  }
}

TEST(Uuid, two_of_the_same_millisecond_differ) {
  SeededRandom random(3);
  EXPECT_NE(make_uuid(kTime, random), make_uuid(kTime, random));
}

TEST(Uuid, text_reads_back_in_either_case) {
  const std::string lower = "018f1234-5678-7abc-8def-0123456789ab";
  const auto parsed = parse_uuid(lower);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(to_string(parsed.value()), lower);
  EXPECT_EQ(parse_uuid("018F1234-5678-7ABC-8DEF-0123456789AB").value(), parsed.value());
}

TEST(Uuid, every_version_is_read) {
  EXPECT_TRUE(parse_uuid("00000000-0000-0000-0000-000000000000").ok());
  EXPECT_TRUE(parse_uuid("f81d4fae-7dec-11d0-a765-00a0c91e6bf6").ok());
}

TEST(Uuid, text_that_is_not_a_uuid_is_refused_and_named) {
  for (const std::string_view bad :
       {"", "018f1234", "018f1234-5678-7abc-8def-0123456789a",
        "018f1234-5678-7abc-8def-0123456789abc", "018f12345678-7abc-8def-0123456789ab-",
        "018f1234-5678-7abc-8def-0123456789ag", "018f1234_5678_7abc_8def_0123456789ab",
        "018f1234-5678-7abc-8def00123456789ab"}) {
    const auto result = parse_uuid(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(result.error().message().find(bad), std::string::npos);
  }
}

}  // namespace
}  // namespace holdfast::uuid_test
