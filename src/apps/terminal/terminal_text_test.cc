#include "apps/terminal/terminal_text.h"

#include <gtest/gtest.h>

namespace holdfast::terminal_text_test {
namespace {

using Lines = std::vector<std::string>;

TEST(Text, nothing_that_moves_a_terminal_gets_through) {
  EXPECT_EQ(harmless("a\x1b[31mb\x07\nc\x7f"), "a [31mb  c ");
  EXPECT_EQ(harmless("a\u009b2Jb"), "a 2Jb");       // one character that begins a sequence
  EXPECT_EQ(harmless("a\u202eb\u2066c"), "a b c");  // turns the direction around
  EXPECT_EQ(harmless("a\u2028b"), "a b");
  EXPECT_EQ(harmless("a\xff\xc3"), "a  ");
  EXPECT_EQ(harmless("Käse 日本 ©"), "Käse 日本 ©");
}

TEST(Text, payloads_are_short_and_without_secrets) {
  const Payload payload = Payload::trusted(R"({"password":"p","cups":12})");
  EXPECT_EQ(short_json(payload, 80), R"({"password":"[REDACTED]","cups":12})");
  EXPECT_EQ(short_json(payload, 12), R"({"password..)");
  EXPECT_EQ(short_json(Payload(), 12), "");
  EXPECT_EQ(short_text(std::string(1'000'000, 'x'), 5), "xxx..");
}

TEST(Text, errors_say_what_happened) {
  const Payload error = Payload::trusted(R"({"code":"declined","message":"card\ndeclined"})");
  EXPECT_EQ(short_error(error, 80), "card declined [declined]");
  EXPECT_EQ(short_error(error, 10), "card dec..");
  EXPECT_EQ(short_error(Payload::trusted(R"({"token":"t"})"), 80), R"({"token":"[REDACTED]"})");
}

TEST(Text, times_are_relative_to_now) {
  EXPECT_EQ(from_now(TimeMs{13'000}, TimeMs{1000}), "in 12 s");
  EXPECT_EQ(from_now(TimeMs{1000}, TimeMs{201'000}), "3 min 20 s ago");
  EXPECT_EQ(from_now(TimeMs{1000}, TimeMs{1000}), "now");
  EXPECT_EQ(offset_text(TimeMs{3300}, TimeMs{1000}), "+2.3 s");
  EXPECT_EQ(offset_text(TimeMs{500}, TimeMs{1000}), "-500 ms");
}

TEST(Text, one_is_not_many) {
  EXPECT_EQ(counted(1, "run", "runs"), "1 run");
  EXPECT_EQ(counted(0, "run", "runs"), "0 runs");
  EXPECT_EQ(counted(1234, "run", "runs"), "1,234 runs");
}

TEST(Text, a_sentence_ends_once) {
  EXPECT_EQ(sentence("it waits"), "it waits.");
  EXPECT_EQ(sentence("it waits."), "it waits.");
  EXPECT_EQ(sentence("why?"), "why?");
}

TEST(Text, lines_are_broken_between_words_and_long_words_at_the_end) {
  EXPECT_EQ(wrapped("the cup of tea", 7), (Lines{"the cup", "of tea"}));
  EXPECT_EQ(wrapped("the cup of tea", 14), (Lines{"the cup of tea"}));
  EXPECT_EQ(wrapped("a teakettle", 5), (Lines{"a", "teake", "ttle"}));
  EXPECT_EQ(wrapped("日本語", 4), (Lines{"日本", "語"}));
  EXPECT_EQ(wrapped("", 5), (Lines{""}));
}

TEST(Text, a_number_stays_with_its_unit) {
  EXPECT_EQ(wrapped("it is done in 12 s, at last", 16), (Lines{"it is done in", "12 s, at last"}));
  EXPECT_EQ(wrapped("it is done (in 2 h 5 min)", 17), (Lines{"it is done", "(in 2 h 5 min)"}));
  EXPECT_EQ(wrapped("attempt 1 at once", 9), (Lines{"attempt 1", "at once"}));
}

TEST(Text, a_paragraph_keeps_its_margins) {
  const Style style{.width = 12};
  EXPECT_EQ(paragraph("one two three\nfour", {"- ", "  "}, Ink::plain, style),
            "- one two\n"
            "  three four\n");
  EXPECT_EQ(paragraph("one two three", {"- ", "  "}, Ink::bold, {.colour = true, .width = 12}),
            "- \x1b[1mone two\x1b[0m\n"
            "  \x1b[1mthree\x1b[0m\n");
}

TEST(Text, a_command_is_never_cut_and_can_be_typed_as_it_is) {
  EXPECT_EQ(command_line("holdfast work", 4, {.width = 8, .command_suffix = " --store x.db"}),
            "    holdfast work --store x.db\n");
}

TEST(Text, a_title_says_what_it_is_about) {
  EXPECT_EQ(title_line({"order", "3", "running"}, {}), "order version 3  running\n");
  EXPECT_EQ(title_line({"order"}, {}), "order\n");
  EXPECT_EQ(title_line({"order", "3", "failed"}, {.colour = true}),
            "\x1b[1morder\x1b[0m version 3  \x1b[31mfailed\x1b[0m\n");
}

}  // namespace
}  // namespace holdfast::terminal_text_test
