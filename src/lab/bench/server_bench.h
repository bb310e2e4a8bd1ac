// The benchmark of the server: a real one, in a process of its own, and a load on loopback. How
// much of what the embedded engine does is left when workers are elsewhere.
#pragma once

#include <string>

#include "lab/bench/journal_bench.h"

namespace holdfast {

struct ServerBenchOptions {
  std::string program;  // that has the command `server`
  std::string only;     // one case by its name; empty: all
  BenchEffort effort = BenchEffort::full;
};

// invalid_argument if `only` is not the name of a case.
Result<std::string> run_server_bench(const ServerBenchOptions& options, BenchWorld& world);

}  // namespace holdfast
