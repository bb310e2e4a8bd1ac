// Error: what went wrong, where, and what the caller may do next. The code is for programs,
// the message for people, the fields for both; the context chain grows on the way up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/error_codes.h"

namespace holdfast {

enum class ErrorCode : std::uint16_t {
#define HOLDFAST_ENUMERATOR(name, number, http, exit, next, line) name = (number),
  HOLDFAST_ERROR_CODES(HOLDFAST_ENUMERATOR)
#undef HOLDFAST_ENUMERATOR
};

enum class WhatNext : std::uint8_t {
  permanent,  // doing the same again fails again
  retry,      // nothing happened; the same call may succeed later
  refresh,    // the caller's view is out of date: read again, decide again
  in_doubt,   // it may have happened: read back, never blindly repeat
};

struct ErrorInfo {
  ErrorCode code;
  std::string_view name;
  int http_status;
  int exit_code;
  WhatNext what_next;
  std::string_view line;
};

std::span<const ErrorInfo> error_table();
const ErrorInfo& error_info(ErrorCode code);
// Stored data is damaged: the codes with exit code 3.
bool is_damage(ErrorCode code);
std::string_view to_string(WhatNext next);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message);

  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] WhatNext what_next() const { return what_next_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& fields() const {
    return fields_;
  }
  [[nodiscard]] const std::vector<std::string>& context() const { return context_; }
  // The value of a field, or an empty view when there is none.
  [[nodiscard]] std::string_view field(std::string_view name) const;

  Error&& with(std::string_view name, std::string_view value) &&;
  Error&& with(std::string_view name, std::uint64_t value) &&;
  Error&& with(WhatNext next) &&;
  // Adds an outer frame: what was being done when the error came up.
  Error&& in(std::string frame) &&;

  // One line: outermost context first, then the message.
  [[nodiscard]] std::string text() const;
  // {"code","number","message","context","what_next","fields"}
  [[nodiscard]] std::string json() const;

 private:
  ErrorCode code_;
  WhatNext what_next_;
  std::string message_;
  std::vector<std::pair<std::string, std::string>> fields_;
  std::vector<std::string> context_;
};

}  // namespace holdfast
