// The cases of a benchmark: a table of what can be measured, each by its name.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "lab/bench/journal_bench.h"

namespace holdfast {

// Run: what the cases share; it has a BenchWorld called world.
template <typename Run>
struct BenchCase {
  std::string_view name;
  std::string_view note;  // for people, while it is measured
  Result<void> (*measure)(Run&);
};

// The case called `only`, or all of them in order when it is empty. invalid_argument when there
// is none of that name.
template <typename Run, std::size_t kCount>
Result<void> run_cases(const std::array<BenchCase<Run>, kCount>& cases, std::string_view only,
                       Run& run) {
  bool known = only.empty();
  std::string names;
  for (const BenchCase<Run>& one : cases) {
    names += (names.empty() ? "" : ", ") + std::string(one.name);
    if (only.empty() || only == one.name) {
      known = true;
      if (run.world.note) {
        run.world.note(one.note);
      }
      HOLDFAST_CHECK(one.measure(run));
    }
  }
  if (!known) {
    return Error{ErrorCode::invalid_argument,
                 "there is no case " + std::string(only) + "; the cases are " + names};
  }
  return {};
}

}  // namespace holdfast
