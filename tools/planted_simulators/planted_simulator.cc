// The simulator of runs without the rest of the program, for scripts/mutants.sh: the same report as
// `holdfast simulate --no-shrink --json`, as far as tools/hunt_bugs.py reads it.
//
// usage: planted_simulator SEEDS
#include <cstdio>
#include <cstdlib>

#include "base/json_writer.h"
#include "lab/sim/simulate.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: planted_simulator SEEDS\n", stderr);
    return 2;
  }
  holdfast::sim::SimulateOptions options;
  options.seeds = std::strtoull(argv[1], nullptr, 10);
  options.shrink = false;
  const auto report = holdfast::sim::simulate(options);
  holdfast::JsonWriter json;
  json.begin_object().member("ok", !report.failed.has_value()).member("simulations", report.seeds);
  if (report.failed.has_value()) {
    json.key("failed").begin_object().member("what", report.failed->violation.what).end_object();
  }
  json.end_object();
  std::puts(std::move(json).take().c_str());
  return report.failed.has_value() ? 1 : 0;
}
