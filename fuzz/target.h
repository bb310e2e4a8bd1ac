// A fuzz target: a function that takes any bytes and checks laws that hold for all of them. One
// source is two programs: with HOLDFAST_FUZZ the fuzzer drives it, without it the target is found
// by its name in fuzz_replay_test, which walks the corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::fuzz {

// A law that does not hold. Nobody catches it in a fuzzer, so the stack is still there to be seen.
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

// The part before the first line break; `rest` is what stands behind it. How targets that need
// several texts cut them out of one.
inline std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return line;
}

// The first byte says which of several readers gets the rest.
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
