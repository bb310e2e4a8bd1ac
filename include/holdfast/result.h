// Result<T>: a value or an Error. Accessing the one that is absent is a programmer error (abort).
//
//   HOLDFAST_TRY(auto head, log.head());   // on error: return it from this function
//   HOLDFAST_CHECK(log.close());           // the same for Result<void>
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "holdfast/assert.h"
#include "holdfast/error.h"

namespace holdfast {

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that `return value;` and `return Error{...};` both work.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }

  [[nodiscard]] const T& value() const& {
    HOLDFAST_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T& value() & {
    HOLDFAST_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    HOLDFAST_ASSERT(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  [[nodiscard]] const Error& error() const& {
    HOLDFAST_ASSERT(!ok());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && {
    HOLDFAST_ASSERT(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  [[nodiscard]] const Error& error() const& {
    HOLDFAST_ASSERT(!ok());
    return *error_;
  }
  [[nodiscard]] Error&& error() && {
    HOLDFAST_ASSERT(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace holdfast

#define HOLDFAST_CONCAT_INNER(a, b) a##b
#define HOLDFAST_CONCAT(a, b) HOLDFAST_CONCAT_INNER(a, b)

#define HOLDFAST_TRY_INNER(result, declaration, ...) \
  auto result = (__VA_ARGS__);                       \
  if (!result.ok()) {                                \
    return std::move(result).error();                \
  }                                                  \
  declaration = std::move(result).value()

#define HOLDFAST_TRY(declaration, ...) \
  HOLDFAST_TRY_INNER(HOLDFAST_CONCAT(holdfast_result_, __LINE__), declaration, __VA_ARGS__)

#define HOLDFAST_CHECK_INNER(result, ...)            \
  do {                                               \
    if (auto result = (__VA_ARGS__); !result.ok()) { \
      return std::move(result).error();              \
    }                                                \
  } while (false)

// The name differs from line to line, so that the argument may hold a lambda with checks.
#define HOLDFAST_CHECK(...) \
  HOLDFAST_CHECK_INNER(HOLDFAST_CONCAT(holdfast_check_, __LINE__), __VA_ARGS__)
