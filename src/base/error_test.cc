#include "holdfast/error.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "holdfast/result.h"

namespace holdfast::error_test {
namespace {

TEST(ErrorTable, names_and_numbers_are_unique) {
  std::set<std::string_view> names;
  std::set<ErrorCode> codes;
  for (const ErrorInfo& info : error_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(codes.insert(info.code).second) << info.name;
    EXPECT_EQ(&error_info(info.code), &info);
  }
  EXPECT_FALSE(names.empty());
}

TEST(ErrorTable, exit_codes_and_http_statuses_are_in_their_ranges) {
  for (const ErrorInfo& info : error_table()) {
    EXPECT_GE(info.exit_code, 2) << info.name;
    EXPECT_LE(info.exit_code, 5) << info.name;
    EXPECT_GE(info.http_status, 400) << info.name;
    EXPECT_LE(info.http_status, 599) << info.name;
    EXPECT_FALSE(info.line.empty()) << info.name;
  }
}

// The numbers are stable forever: a change here breaks programs that were written against them.
TEST(ErrorTable, numbers_never_change) {
  EXPECT_EQ(static_cast<int>(ErrorCode::invalid_argument), 1);
  EXPECT_EQ(static_cast<int>(ErrorCode::conflict), 20);
  EXPECT_EQ(static_cast<int>(ErrorCode::corrupt_log), 40);
  EXPECT_EQ(static_cast<int>(ErrorCode::empty_entries), 60);
  EXPECT_EQ(static_cast<int>(ErrorCode::unfinished_copy), 80);
}

TEST(Error, has_the_what_next_of_its_code_unless_another_is_set) {
  EXPECT_EQ(Error(ErrorCode::conflict, "").what_next(), WhatNext::refresh);
  EXPECT_EQ(Error(ErrorCode::busy, "").what_next(), WhatNext::retry);
  EXPECT_EQ(Error(ErrorCode::io_error, "").what_next(), WhatNext::in_doubt);
  EXPECT_EQ(Error(ErrorCode::io_error, "").with(WhatNext::retry).what_next(), WhatNext::retry);
  EXPECT_EQ(to_string(WhatNext::in_doubt), "in_doubt");
}

TEST(Error, text_is_one_line_with_the_outermost_context_first) {
  const Error error = Error(ErrorCode::io_error, "fsync failed").in("append").in("sqlite:a.db");
  EXPECT_EQ(error.text(), "sqlite:a.db: append: fsync failed");
}

TEST(Error, fields_are_found_by_name) {
  const Error error =
      Error(ErrorCode::corrupt_log, "x").with("position", 7U).with("reason", "missing_batch");
  EXPECT_EQ(error.field("position"), "7");
  EXPECT_EQ(error.field("reason"), "missing_batch");
  EXPECT_EQ(error.field("other"), "");
}

TEST(Error, json_holds_everything) {
  const Error error =
      Error(ErrorCode::corrupt_log, "say \"no\"").with("position", 7U).in("inner").in("outer");
  EXPECT_EQ(error.json(),
            R"({"code":"corrupt_log","number":40,"message":"say \"no\"",)"
            R"("context":["outer","inner"],"what_next":"permanent","fields":{"position":"7"}})");
}

Result<int> half(int number) {
  if (number % 2 != 0) {
    return Error{ErrorCode::invalid_argument, "odd"};
  }
  return number / 2;
}

Result<void> must_be_even(int number) {
  HOLDFAST_CHECK(half(number));
  return {};
}

Result<int> quarter(int number) {
  HOLDFAST_TRY(const int once, half(number));
  HOLDFAST_TRY(const int twice, half(once));
  return twice;
}

TEST(Result, try_propagates_the_value_or_the_error) {
  EXPECT_EQ(quarter(12).value(), 3);
  const auto failed = quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message(), "odd");
}

TEST(Result, check_returns_the_error_only) {
  EXPECT_TRUE(must_be_even(2).ok());
  EXPECT_EQ(must_be_even(1).error().code(), ErrorCode::invalid_argument);
}

TEST(Result, carries_values_that_only_move) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> moved = std::move(result).value();
  EXPECT_EQ(*moved, 5);
}

TEST(ResultDeathTest, access_to_the_absent_part_stops_the_process) {
  EXPECT_DEATH(static_cast<void>(half(1).value()), "assertion failed: ok\\(\\)");
  EXPECT_DEATH(static_cast<void>(half(2).error()), "assertion failed: !ok\\(\\)");
}

}  // namespace
}  // namespace holdfast::error_test
