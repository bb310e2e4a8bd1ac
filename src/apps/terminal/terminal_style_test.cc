#include "apps/terminal/terminal_style.h"

#include <gtest/gtest.h>

namespace holdfast::terminal_style_test {
namespace {

TEST(Style, paints_only_when_it_has_colour) {
  EXPECT_EQ(Style{}.paint(Ink::red, "no"), "no");
  const Style style{.colour = true};
  EXPECT_EQ(style.paint(Ink::red, "no"), "\x1b[31mno\x1b[0m");
  EXPECT_EQ(style.paint(Ink::bold, "no"), "\x1b[1mno\x1b[0m");
  EXPECT_EQ(style.paint(Ink::plain, "no"), "no");
  EXPECT_EQ(style.paint(Ink::red, ""), "");
}

TEST(Style, good_bad_and_waiting_differ) {
  EXPECT_EQ(ink_of_status("completed"), Ink::green);
  EXPECT_EQ(ink_of_status("failed"), Ink::red);
  EXPECT_EQ(ink_of_status("FAULT"), Ink::red);
  EXPECT_EQ(ink_of_status("paused"), Ink::yellow);
  EXPECT_EQ(ink_of_status("running"), Ink::blue);
  EXPECT_EQ(ink_of_status("abandoned"), Ink::dim);
  EXPECT_EQ(ink_of_status("never heard of"), Ink::plain);
}

TEST(Style, columns_are_not_bytes) {
  EXPECT_EQ(columns_of(""), 0U);
  EXPECT_EQ(columns_of("tea"), 3U);
  EXPECT_EQ(columns_of("Käse"), 4U);
  EXPECT_EQ(columns_of("├─ █"), 4U);
  EXPECT_EQ(columns_of("日本"), 4U);
  EXPECT_EQ(columns_of("e\u0301"), 1U);
  EXPECT_EQ(columns_of("\xff\xfe"), 2U);
}

TEST(Style, what_is_too_long_is_cut_off) {
  EXPECT_EQ(cut("kettle", 6), "kettle");
  EXPECT_EQ(cut("kettle", 5), "ket..");
  EXPECT_EQ(cut("kettle", 2), "..");
  EXPECT_EQ(cut("kettle", 1), ".");
  EXPECT_EQ(cut("kettle", 0), "");
  EXPECT_EQ(cut("日本語", 5), "日..");
  EXPECT_EQ(cut("äöüäöü", 5), "äöü..");
}

TEST(Style, what_is_too_short_is_filled_up) {
  EXPECT_EQ(padded("tea", 5), "tea  ");
  EXPECT_EQ(padded("tea", 3), "tea");
  EXPECT_EQ(padded("kettle", 5), "ket..");
  EXPECT_EQ(padded("日本語", 6), "日本語");
  EXPECT_EQ(padded("日本語", 5), "日.. ");
  EXPECT_EQ(padded("", 2), "  ");
}

}  // namespace
}  // namespace holdfast::terminal_style_test
