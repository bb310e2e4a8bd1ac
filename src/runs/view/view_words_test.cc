#include "runs/view/view_words.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

namespace holdfast::view_words_test {
namespace {

Payload json(std::string_view text) { return Payload::trusted(text); }

TEST(DurationText, takes_the_two_biggest_units) {
  const std::vector<std::pair<std::int64_t, std::string>> cases = {
      {0, "0 ms"},
      {1, "1 ms"},
      {999, "999 ms"},
      {1000, "1 s"},
      {1001, "1.0 s"},
      {1099, "1.0 s"},
      {1100, "1.1 s"},
      {2500, "2.5 s"},
      {59'000, "59 s"},
      {59'999, "59.9 s"},
      {60'000, "1 min"},
      {60'999, "1 min"},
      {61'000, "1 min 1 s"},
      {200'000, "3 min 20 s"},
      {3'599'999, "59 min 59 s"},
      {3'600'000, "1 h"},
      {7'500'000, "2 h 5 min"},
      {86'399'999, "23 h 59 min"},
      {86'400'000, "1 d"},
      {90'000'000, "1 d 1 h"},
      {273'600'000, "3 d 4 h"},
      {-2500, "-2.5 s"},
      {-1, "-1 ms"},
  };
  for (const auto& [ms, text] : cases) {
    EXPECT_EQ(duration_text(ms), text) << ms;
  }
}

TEST(DurationText, has_words_for_every_number) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(duration_text(most), "106751991167 d 7 h");
  EXPECT_EQ(duration_text(-most), "-106751991167 d 7 h");
  EXPECT_EQ(duration_text(-most - 1), "-106751991167 d 7 h");
}

TEST(ErrorText, says_the_message_and_the_code) {
  EXPECT_EQ(error_text(json(R"({"code":"card_error","message":"card declined"})")),
            "card declined [card_error]");
  EXPECT_EQ(error_text(json(R"({"message":"card declined"})")), "card declined");
  EXPECT_EQ(error_text(json(R"({"code":"card_error"})")), "card_error");
  EXPECT_EQ(error_text(json(R"({"code":7,"message":["no"]})")), R"({"code":7,"message":["no"]})");
  EXPECT_EQ(error_text(json(R"({"why":"so"})")), R"({"why":"so"})");
  EXPECT_EQ(error_text(json("{}")), "{}");
}

TEST(ErrorText, says_what_a_process_said_last) {
  EXPECT_EQ(error_text(json(R"({"code":"exit","message":"exit code 3",)"
                            R"("details":{"stderr":"first\nno such file\r\n \n"}})")),
            "exit code 3: no such file [exit]");
  EXPECT_EQ(error_text(json(R"({"details":{"stderr":"no such file"}})")), "no such file");
  EXPECT_EQ(error_text(json(R"({"code":"exit","details":{"stderr":"no"}})")), "no [exit]");
  for (const std::string_view details : {R"({"stderr":""})", R"({"stderr":"\n \n"})",
                                         R"({"stderr":7})", R"([1])", R"("x")", "null", "{}"}) {
    EXPECT_EQ(error_text(json(R"({"message":"it failed","details":)" + std::string(details) + "}")),
              "it failed")
        << details;
  }
}

TEST(ErrorText, is_the_text_itself_when_it_is_not_an_object) {
  EXPECT_EQ(error_text(json(R"("broken")")), R"("broken")");
  EXPECT_EQ(error_text(json("[1,2]")), "[1,2]");
  EXPECT_EQ(error_text(json("null")), "null");
  EXPECT_EQ(error_text(Payload()), "");
}

TEST(ErrorText, does_not_show_what_a_key_calls_a_secret) {
  EXPECT_EQ(error_text(json(R"({"password":"hunter2"})")), R"({"password":"[REDACTED]"})");
  EXPECT_EQ(error_text(json(R"([{"token":"t-1"}])")), R"([{"token":"[REDACTED]"}])");
}

TEST(ErrorText, is_one_harmless_line_that_ends) {
  EXPECT_EQ(error_text(json(R"({"message":"a\nb\u001b[31mc\u009b2J"})")), "a b [31mc 2J");
  const std::string long_one(300, 'x');
  EXPECT_EQ(error_text(json(R"({"message":")" + long_one + R"(","code":"c"})")),
            std::string(200, 'x') + "...");
  EXPECT_EQ(error_text(json("\"" + long_one + "\"")), "\"" + std::string(199, 'x') + "...");
}

TEST(OneLine, has_nothing_that_a_terminal_could_take_for_more_than_a_character) {
  for (int byte = 0; byte < 0x20; ++byte) {
    EXPECT_EQ(one_line("a" + std::string(1, static_cast<char>(byte)) + "b"), "a b") << byte;
  }
  EXPECT_EQ(one_line("a\x7f"), "a ");
  for (int low = 0x80; low <= 0x9f; ++low) {  // U+0080 to U+009F
    EXPECT_EQ(one_line("a\xc2" + std::string(1, static_cast<char>(low)) + "b"), "a b") << low;
  }
  for (const std::string_view turn :
       {"\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e",
        "\u2066", "\u2067", "\u2068", "\u2069"}) {
    EXPECT_EQ(one_line("a" + std::string(turn) + "b"), "a b");
    EXPECT_EQ(harmless("a" + std::string(turn) + "b"), "a b");
  }
  EXPECT_EQ(one_line("a\xff\xc3"), "a  ") << "invalid UTF-8";
  for (const std::string_view fine : {"", "a b", "\u00a0", "\u00a9", "\u2010", "\u2027", "\u202f",
                                      "\u2065", "\u206a", "Käse 日本 🙂"}) {
    EXPECT_EQ(one_line(fine), fine);
    EXPECT_EQ(harmless(fine), fine);
  }
}

TEST(OneLine, is_cut_between_characters_and_ends_with_dots) {
  EXPECT_EQ(one_line("abcd", 4), "abcd");
  EXPECT_EQ(one_line("abcde", 4), "abcd...");
  EXPECT_EQ(one_line("abc日", 5), "abc...");
  EXPECT_EQ(one_line("abc日", 6), "abc日");
  EXPECT_EQ(one_line("日", 0), "...");
  EXPECT_EQ(one_line("", 0), "");
  EXPECT_EQ(harmless(std::string(500, 'x')), std::string(500, 'x'));
}

TEST(StepOfKey, finds_the_step_in_every_kind_of_key) {
  const std::string run = "0198a000-0000-7000-8000-000000000001:";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"charge:1", "charge"},
      {"charge:12", "charge"},
      {"charge@2:1", "charge@2"},
      {"charge@2[7]:3", "charge@2[7]"},
      {"compensate:charge:1", "compensate:charge"},
      {"charge:1:deferred", "charge"},
      {"charge:1:deferred:12", "charge"},
      {"charge:1:timeout", "charge"},
      {"charge:2:begin", "charge"},
      {"charge:1:deferred:2:begin", "charge"},
      {"compensate:charge:1:deferred:3", "compensate:charge"},
      {"deferred:1", "deferred"},
      {"compensate:deferred:1", "compensate:deferred"},
  };
  for (const auto& [rest, step] : cases) {
    EXPECT_EQ(step_of_key(run + rest), step) << rest;
  }
}

TEST(StepOfKey, is_the_whole_key_when_it_is_none_of_ours) {
  for (const std::string_view key :
       {"", "charge", "charge:1", "a key of another program as long as one of ours:1",
        "0198a000-0000-7000-8000-000000000001",
        "0198a000-0000-7000-8000-000000000001:", "0198a000-0000-7000-8000-000000000001:charge",
        "0198a000-0000-7000-8000-000000000001:charge:x"}) {
    EXPECT_EQ(step_of_key(key), key);
  }
}

TEST(HandlerText, knows_what_every_worker_has) {
  EXPECT_EQ(handler_text("__exec__"), "exec");
  EXPECT_EQ(handler_text("__http__"), "http");
  EXPECT_EQ(handler_text("charge"), "charge");
}

TEST(Words, one_thing_and_several_are_counted_in_their_own_words) {
  EXPECT_EQ(counted(0, "attempt"), "0 attempts");
  EXPECT_EQ(counted(1, "attempt"), "1 attempt");
  EXPECT_EQ(counted(2, "attempt"), "2 attempts");
  EXPECT_EQ(counted(1, "entry is", "entries are"), "1 entry is");
  EXPECT_EQ(counted(1000, "entry is", "entries are"), "1,000 entries are");
}

}  // namespace
}  // namespace holdfast::view_words_test
