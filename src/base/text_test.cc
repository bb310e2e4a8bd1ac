#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

namespace holdfast::text_test {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Utf8, a_sequence_encodes_one_character) {
  EXPECT_EQ(code_point("A"), 0x41U);
  EXPECT_EQ(code_point("\xff"), 0xffU);
  EXPECT_EQ(code_point("é"), 0xe9U);
  EXPECT_EQ(code_point("€"), 0x20acU);
  EXPECT_EQ(code_point("🙂"), 0x1f642U);
}

TEST(Utf8, length_of_the_first_sequence) {
  EXPECT_EQ(utf8_sequence_length("a"), 1U);
  EXPECT_EQ(utf8_sequence_length(std::string_view("\0", 1)), 1U);
  EXPECT_EQ(utf8_sequence_length("\xc2\x80"), 2U);
  EXPECT_EQ(utf8_sequence_length("\xdf\xbf rest"), 2U);
  EXPECT_EQ(utf8_sequence_length("\xe0\xa0\x80"), 3U);
  EXPECT_EQ(utf8_sequence_length("\xed\x9f\xbf"), 3U);
  EXPECT_EQ(utf8_sequence_length("\xef\xbf\xbf"), 3U);
  EXPECT_EQ(utf8_sequence_length("\xf0\x90\x80\x80"), 4U);
  EXPECT_EQ(utf8_sequence_length("\xf4\x8f\xbf\xbf"), 4U);
}

TEST(Utf8, invalid_utf8_has_length_0) {
  EXPECT_EQ(utf8_sequence_length(""), 0U);
  EXPECT_EQ(utf8_sequence_length("\x80"), 0U) << "continuation byte first";
  EXPECT_EQ(utf8_sequence_length("\xc0\x80"), 0U) << "overlong";
  EXPECT_EQ(utf8_sequence_length("\xc1\xbf"), 0U) << "overlong";
  EXPECT_EQ(utf8_sequence_length("\xe0\x9f\xbf"), 0U) << "overlong";
  EXPECT_EQ(utf8_sequence_length("\xf0\x8f\xbf\xbf"), 0U) << "overlong";
  EXPECT_EQ(utf8_sequence_length("\xed\xa0\x80"), 0U) << "surrogate";
  EXPECT_EQ(utf8_sequence_length("\xf4\x90\x80\x80"), 0U) << "above U+10FFFF";
  EXPECT_EQ(utf8_sequence_length("\xf5\x80\x80\x80"), 0U) << "above U+10FFFF";
  EXPECT_EQ(utf8_sequence_length("\xff"), 0U);
  EXPECT_EQ(utf8_sequence_length("\xc2"), 0U) << "cut off";
  EXPECT_EQ(utf8_sequence_length("\xe2\x82"), 0U) << "cut off";
  EXPECT_EQ(utf8_sequence_length("\xe2\x82z"), 0U) << "cut off";
}

TEST(Decimal, reads_the_one_spelling_of_each_number) {
  EXPECT_EQ(parse_decimal("0"), 0U);
  EXPECT_EQ(parse_decimal("42"), 42U);
  EXPECT_EQ(parse_decimal("18446744073709551615"), kMax);
}

TEST(Decimal, any_other_spelling_is_rejected) {
  for (const std::string_view bad :
       {"", "-1", "+1", "01", "00", " 1", "1 ", "1a", "0x1", "1.0", "18446744073709551616"}) {
    EXPECT_EQ(parse_decimal(bad), std::nullopt) << bad;
  }
}

TEST(SortableHex, sorts_as_the_numbers_do) {
  EXPECT_EQ(sortable_hex(0), "0000000000000000");
  EXPECT_EQ(sortable_hex(kMax), "ffffffffffffffff");
  EXPECT_LT(sortable_hex(9), sortable_hex(10));
  EXPECT_LT(sortable_hex(255), sortable_hex(256));
}

TEST(SortableHex, reads_only_its_own_spelling) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{0xabcdef}, kMax}) {
    EXPECT_EQ(parse_sortable_hex(sortable_hex(value)), value);
  }
  for (const std::string_view bad :
       {"", "0", "000000000000000G", "00000000000000AB", "00000000000000001", "-000000000000001"}) {
    EXPECT_EQ(parse_sortable_hex(bad), std::nullopt) << bad;
  }
}

TEST(WithThousands, puts_a_comma_after_every_third_digit) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(with_thousands(kMax), "18,446,744,073,709,551,615");
}

TEST(HumanBytes, uses_the_unit_that_fits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.0 kB");
  EXPECT_EQ(human_bytes(12'345'678), "12.3 MB");
  EXPECT_EQ(human_bytes(999'949), "999.9 kB");
  EXPECT_EQ(human_bytes(999'950), "1.0 MB") << "never 1000.0 kB";
  EXPECT_EQ(human_bytes(kMax), "18446744.1 TB");
}

}  // namespace
}  // namespace holdfast::text_test
