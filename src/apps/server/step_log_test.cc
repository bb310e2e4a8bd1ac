#include "apps/server/step_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace holdfast::step_log_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LogLine line(std::string_view json, std::string_view step = "greet") {
  return {RunId{}, SharedText("order"), SharedText(step), Payload::trusted(json), TimeMs{1}};
}

class StepLogTest : public testing::Test {
 protected:
  // What stands in the log when everything was handed over.
  std::vector<std::string> logged(const std::vector<std::vector<LogLine>>& commits,
                                  StepLog::Limits limits = {}, LogForm form = LogForm::text) {
    std::vector<std::string> lines;
    ServerLog log(clock_, LogLevel::info, form,
                  [&](std::string_view text) { lines.emplace_back(text); });
    {
      StepLog steps(log, clock_, limits);
      for (const auto& commit : commits) {
        steps.add(commit);
      }
    }
    return lines;
  }

  ManualClock clock_{TimeMs{1'700'000'000'000}};
};

TEST_F(StepLogTest, a_line_has_level_run_step_and_text) {
  const auto lines = logged({{line(R"({"level":"warning","message":"hello \"ann\""})")}});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "2023-11-14T22:13:20.000Z warning log step run=" + to_string(RunId{}) +
                          " workflow=order step=greet text=\"hello \\\"ann\\\"\"\n");
}

TEST_F(StepLogTest, lines_below_the_level_of_the_log_are_not_written) {
  EXPECT_TRUE(logged({{line(R"({"level":"debug","message":"x"})")}}).empty());
}

TEST_F(StepLogTest, control_characters_are_escaped) {
  // ESC, line breaks, DEL, and CSI as one character of Latin-1.
  const std::string hostile =
      "{\"level\":\"error\",\"message\":\"a\\u001b[2J\\nfake\\r \x7f \xC2\x9B"
      "31m\"}";
  for (const LogForm form : {LogForm::text, LogForm::json}) {
    const auto lines = logged({{line(hostile)}}, {}, form);
    ASSERT_EQ(lines.size(), 1U);
    const std::string& text = lines[0];
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      EXPECT_TRUE(byte >= 0x20 && byte != 0x7f) << i;
    }
    EXPECT_THAT(text, Not(HasSubstr("\xC2\x9B")));
    EXPECT_THAT(text, HasSubstr("\\u001b[2J\\nfake"));
    EXPECT_THAT(text, HasSubstr("\\u009b31m"));
  }
}

TEST_F(StepLogTest, long_messages_are_cut_between_characters) {
  const std::string message = "{\"level\":\"info\",\"message\":\"" + std::string(9, 'x') +
                              "\xC3\xBC" + std::string(10'000, 'y') + "\"}";
  const auto lines = logged({{line(message)}}, {.message_bytes = 10});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("\"" + std::string(9, 'x') + "…\""));
}

TEST_F(StepLogTest, lines_beyond_the_rate_are_omitted_and_counted) {
  const std::vector<LogLine> many(100, line(R"({"level":"info","message":"x"})"));
  const auto lines = logged({many, many}, {.per_second = 10, .burst = 50});
  std::size_t written = 0;
  std::uint64_t left_out = 0;
  for (const std::string& text : lines) {
    const std::size_t count = text.find("count=");
    written += count == std::string::npos ? 1 : 0;
    left_out += count == std::string::npos ? 0 : std::stoull(text.substr(count + 6));
  }
  EXPECT_EQ(written, 50U);
  EXPECT_EQ(left_out, 150U);
}

TEST_F(StepLogTest, a_log_that_blocks_does_not_block_the_engine) {
  std::atomic<bool> stuck = true;
  std::atomic<std::size_t> written = 0;
  ServerLog log(clock_, LogLevel::info, LogForm::text, [&](std::string_view) {
    stuck.wait(true);
    ++written;
  });
  {
    StepLog steps(log, clock_, {.burst = 10});
    for (int i = 0; i < 1000; ++i) {
      steps.add({line(R"({"level":"info","message":"x"})")});
    }
    stuck = false;
    stuck.notify_all();
  }
  EXPECT_GT(written, 10U) << "the lines that may wait, and the count of the omitted ones";
  EXPECT_LE(written, 12U);
}

}  // namespace
}  // namespace holdfast::step_log_test
