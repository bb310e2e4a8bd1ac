// What the benchmark commands share: options, and how a benchmark is run and reported.
#pragma once

#include <functional>
#include <string>

#include "apps/cli/command.h"
#include "lab/bench/journal_bench.h"

namespace holdfast::cli {

struct BenchOptions {
  std::string store = {};  // empty: a temporary file
  std::string only = {};   // empty: all cases
  bool keep = false;
  bool quick = false;

  void add_store_options(Arguments& arguments);
  void add_only(Arguments& arguments);
  void add_quick(Arguments& arguments);
  [[nodiscard]] BenchEffort effort() const {
    return quick ? BenchEffort::quick : BenchEffort::full;
  }
  [[nodiscard]] AfterBench after() const { return keep ? AfterBench::keep : AfterBench::remove; }
};

// Prints a table on a terminal, JSON lines otherwise. `bench` returns what it leaves behind.
Result<void> run_bench(const std::string& name, Context& context,
                       const std::function<Result<std::string>(BenchContext&)>& bench);

}  // namespace holdfast::cli
