// Results in tests: take the value or fail, and compare codes.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "holdfast/result.h"

namespace holdfast {

// Fails the test with the error's text instead of an assertion deep inside Result.
template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().text();
    throw std::runtime_error(result.error().text());
  }
  return std::move(result).value();
}
inline void must(const Result<void>& result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().text();
    throw std::runtime_error(result.error().text());
  }
}

// The code of a result, which tests compare with an ErrorCode or with its name; "ok" for a value.
class ResultCode {
 public:
  explicit ResultCode(std::optional<ErrorCode> code) : code_(code) {}

  [[nodiscard]] std::string_view name() const {
    return code_.has_value() ? error_info(*code_).name : "ok";
  }
  operator std::string() const { return std::string(name()); }  // NOLINT: tests collect names

  friend bool operator==(const ResultCode& left, const ResultCode& right) = default;
  friend bool operator==(const ResultCode& left, ErrorCode right) { return left.code_ == right; }
  friend bool operator==(const ResultCode& left, std::string_view right) {
    return left.name() == right;
  }
  friend std::ostream& operator<<(std::ostream& out, const ResultCode& code) {
    return out << code.name();
  }

 private:
  std::optional<ErrorCode> code_;
};

template <typename T>
ResultCode code_of(const Result<T>& result) {
  return ResultCode(result.ok() ? std::nullopt : std::optional(result.error().code()));
}

}  // namespace holdfast
