// A fuzz target: a function that accepts any bytes and checks laws that hold for all of them. One
// source makes two programs: with HOLDFAST_FUZZ the fuzzer drives it; without it, fuzz_replay_test
// finds the target by its name and runs the corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::fuzz {

// A violated law. A fuzzer does not catch it, so the stack is preserved.
class BrokenLaw : public std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const char* law) {
  if (!holds) {
    throw BrokenLaw(law);
  }
}

using Check = void (*)(std::string_view input);

struct Target {
  std::string_view name;
  Check check;
};

// Of this program.
inline std::vector<Target>& targets() {
  static std::vector<Target> known;
  return known;
}

struct Registration {
  Registration(std::string_view name, Check check) { targets().push_back({name, check}); }
};

// The part before the first line break; `rest` is the remainder. Targets that need several texts
// split them this way.
inline std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return line;
}

// The first byte selects one of several readers for the rest.
inline char take_choice(std::string_view& rest) {
  const char choice = rest.empty() ? '\0' : rest.front();
  rest = rest.substr(rest.empty() ? 0 : 1);
  return choice;
}

}  // namespace holdfast::fuzz

#ifdef HOLDFAST_FUZZ
#define HOLDFAST_FUZZ_TARGET(name, check)                                                     \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {         \
    check(std::string_view(reinterpret_cast<const char*>(data), data == nullptr ? 0 : size)); \
    return 0;                                                                                 \
  }
#else
#define HOLDFAST_FUZZ_TARGET(name, check)                           \
  namespace {                                                       \
  const ::holdfast::fuzz::Registration kRegistration(#name, check); \
  }
#endif
