// The benchmark of the server: a real server process and a load on loopback. It compares remote
// workers with the embedded engine.
#pragma once

#include <string>

#include "lab/bench/journal_bench.h"

namespace holdfast {

struct ServerBenchOptions {
  std::string program;  // the program that has the command `server`
  std::string only;     // the name of one case; empty: all
  BenchEffort effort = BenchEffort::full;
};

// invalid_argument if `only` is not the name of a case.
Result<std::string> run_server_bench(const ServerBenchOptions& options, BenchContext& context);

}  // namespace holdfast
