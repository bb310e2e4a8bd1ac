#include "apps/server/server_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/json_value.h"
#include "tests/support/must.h"

namespace holdfast::server_log_test {
namespace {

// 2023-11-14T22:13:20Z
constexpr TimeMs kNow{1'700'000'000'000};

class ServerLogTest : public testing::Test {
 protected:
  std::vector<std::string> lines_;
  ManualClock clock_{kNow};

  ServerLog log(LogForm form, LogLevel level = LogLevel::debug) {
    return {clock_, level, form, [this](std::string_view line) { lines_.emplace_back(line); }};
  }
};

TEST_F(ServerLogTest, text_lines_are_words) {
  ServerLog log = this->log(LogForm::text);
  log.write(LogLevel::info, "listening", {{"at", "http://127.0.0.1:8080"}, {"threads", "2"}});
  EXPECT_EQ(lines_.at(0),
            "2023-11-14T22:13:20.000Z info listening at=http://127.0.0.1:8080 threads=2\n");
}

TEST_F(ServerLogTest, text_lines_quote_values_that_are_not_one_word) {
  ServerLog log = this->log(LogForm::text);
  log.write(
      LogLevel::error, "no",
      {{"a", ""}, {"b", "two words"}, {"c", "x=y"}, {"d", "q\"q"}, {"e", "l\nl"}, {"f", "ok"}});
  EXPECT_EQ(lines_.at(0),
            "2023-11-14T22:13:20.000Z error no a=\"\" b=\"two words\" c=\"x=y\" "
            "d=\"q\\\"q\" e=\"l\\nl\" f=ok\n");
}

TEST_F(ServerLogTest, json_lines_are_one_valid_object_each) {
  ServerLog log = this->log(LogForm::json);
  const std::string hostile = "\"\\\n\r\t\x01 \xC3\xBC</script>";
  log.write(LogLevel::warning, hostile, {{"why", hostile}, {"status", "500"}});
  const std::string& line = lines_.at(0);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << "only the one at the end";
  EXPECT_EQ(line.back(), '\n');
  const Json object = must(Json::parse(line.substr(0, line.size() - 1)));
  EXPECT_EQ(object.find("at")->string(), "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(object.find("level")->string(), "warning");
  EXPECT_EQ(object.find("message")->string(), hostile);
  EXPECT_EQ(object.find("why")->string(), hostile);
  EXPECT_EQ(object.find("status")->string(), "500");
}

TEST_F(ServerLogTest, a_line_stays_one_line_with_any_value) {
  for (const LogForm form : {LogForm::text, LogForm::json}) {
    lines_.clear();
    ServerLog log = this->log(form);
    log.write(LogLevel::info, "m", {{"a", std::string("x\0y\x7f\x1b[31m\r\n", 11)}});
    const std::string& line = lines_.at(0);
    EXPECT_EQ(std::count_if(line.begin(), line.end() - 1, [](char c) { return c >= 0 && c < ' '; }),
              0)
        << line;
  }
}

TEST_F(ServerLogTest, lines_below_the_level_are_not_written) {
  ServerLog log = this->log(LogForm::text, LogLevel::warning);
  EXPECT_FALSE(log.enabled(LogLevel::info));
  EXPECT_TRUE(log.enabled(LogLevel::warning));
  log.write(LogLevel::debug, "d");
  log.write(LogLevel::info, "i");
  log.write(LogLevel::warning, "w");
  log.write(LogLevel::error, "e");
  EXPECT_EQ(lines_.size(), 2U);
}

TEST_F(ServerLogTest, lines_of_many_threads_are_not_mixed) {
  ServerLog log = this->log(LogForm::text);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log] {
      for (int i = 0; i < 500; ++i) {
        log.write(LogLevel::info, "m", {{"k", "v"}});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(lines_.size(), 2000U) << "the sink is called by one thread at a time";
}

}  // namespace
}  // namespace holdfast::server_log_test
