// The benchmark of the workflow language: conditions, lists, joins and waits, each against plain
// chains of the same engine in the same run.
#pragma once

#include <cstdint>
#include <string>

#include "lab/bench/journal_bench.h"

namespace holdfast {

struct WorkflowBenchOptions {
  std::string store;           // see BenchStore::create
  std::string only;            // one case by its name; empty: all
  std::uint64_t sleeping = 0;  // runs of the case with many asleep; 0: what effort says
  BenchEffort effort = BenchEffort::full;
  AfterBench after = AfterBench::remove;
};

// Returns what stays behind, for people; empty when nothing does. invalid_argument when `only`
// is no case.
Result<std::string> run_workflow_bench(const WorkflowBenchOptions& options, BenchWorld& world);

}  // namespace holdfast
