// The benchmark of the workflow language: conditions, lists, joins and waits, each compared with
// plain chains on the same engine in the same run.
#pragma once

#include <cstdint>
#include <string>

#include "lab/bench/journal_bench.h"

namespace holdfast {

struct WorkflowBenchOptions {
  std::string store;           // see BenchStore::create
  std::string only;            // the name of one case; empty: all
  std::uint64_t sleeping = 0;  // runs in the case `asleep`; 0: depends on effort
  BenchEffort effort = BenchEffort::full;
  AfterBench after = AfterBench::remove;
};

// Returns a text about what remains; empty if nothing does. invalid_argument if `only` is not a
// case.
Result<std::string> run_workflow_bench(const WorkflowBenchOptions& options, BenchContext& context);

}  // namespace holdfast
