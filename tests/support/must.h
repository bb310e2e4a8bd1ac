// Results in tests: take the value or fail, and compare codes.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
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

template <typename T>
std::string code_of(const Result<T>& result) {
  return result.ok() ? "ok" : std::string(error_info(result.error().code()).name);
}

}  // namespace holdfast
