#include "base/quote.h"

#include <gtest/gtest.h>

namespace holdfast::quote_test {
namespace {

TEST(Quote, leaves_readable_text_as_it_is) {
  EXPECT_EQ(quote(""), "\"\"");
  EXPECT_EQ(quote("Europe/Berlin"), "\"Europe/Berlin\"");
  EXPECT_EQ(quote("Grüße 😀 'x'"), "\"Grüße 😀 'x'\"");
  EXPECT_EQ(printable("a \"b\" \\c"), "a \"b\" \\c");
}

TEST(Quote, escapes_quotes_and_backslashes) { EXPECT_EQ(quote("a\"b\\c"), R"("a\"b\\c")"); }

TEST(Quote, never_shows_control_characters) {
  EXPECT_EQ(quote("a\nb\tc\rd"), R"("a\nb\tc\rd")");
  EXPECT_EQ(quote("\x1b[31mred"), R"("\x1b[31mred")");
  EXPECT_EQ(quote(std::string_view("\0\x7f", 2)), R"("\x00\x7f")");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            R"(\u{009b}31m)");  // CSI in one character
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b\xE2\x80\xA8"),
            R"(a\u{202e}b\u{2028})");
}

TEST(Quote, shows_bytes_that_are_not_utf8_by_their_number) {
  EXPECT_EQ(printable("a\xFF"
                      "b\xC3"),
            R"(a\xffb\xc3)");
}

TEST(Quote, cuts_long_text_at_a_whole_character) {
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("abcd", 3), "abc...");
  EXPECT_EQ(printable("abä", 3), "ab...");
  EXPECT_EQ(printable(std::string(1000, 'a')), std::string(1000, 'a'));
  EXPECT_EQ(quote(std::string(129, 'a')), "\"" + std::string(128, 'a') + "...\"");
}

}  // namespace
}  // namespace holdfast::quote_test
