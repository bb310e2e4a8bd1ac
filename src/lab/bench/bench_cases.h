// The cases of a benchmark: a table of what can be measured, by name.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "lab/bench/benchmarks.h"

namespace holdfast {

// Run: what the cases share; it has a BenchContext called context.
template <typename Run>
struct BenchCase {
  std::string_view name;
  std::string_view note;  // shown while the case is measured
  Result<void> (*measure)(Run&);
};

// Measures the case called `only`, or all cases in order if it is empty. invalid_argument if there
// is no case of that name.
template <typename Run, std::size_t kCount>
Result<void> run_cases(const std::array<BenchCase<Run>, kCount>& cases, std::string_view only,
                       Run& run) {
  bool known = only.empty();
  std::string names;
  for (const BenchCase<Run>& one : cases) {
    names += (names.empty() ? "" : ", ") + std::string(one.name);
    if (only.empty() || only == one.name) {
      known = true;
      if (run.context.note) {
        run.context.note(one.note);
      }
      HOLDFAST_CHECK(one.measure(run));
    }
  }
  if (!known) {
    return Error{ErrorCode::invalid_argument,
                 "unknown case \"" + std::string(only) + "\"; use one of: " + names};
  }
  return {};
}

}  // namespace holdfast
