// HOLDFAST_ASSERT: a check for programmer errors, on in every build. It prints the condition
// and its location to stderr and aborts. Bad input, disks and peers are errors, not assertions.
#pragma once

namespace holdfast {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace holdfast

#define HOLDFAST_ASSERT(condition)                                  \
  do {                                                              \
    if (!(condition)) {                                             \
      ::holdfast::assertion_failed(#condition, __FILE__, __LINE__); \
    }                                                               \
  } while (false)
