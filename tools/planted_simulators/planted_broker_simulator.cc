// The simulator of brokers without the rest of the program, for scripts/mutants.sh: the same report
// as `holdfast simulate --broker --no-shrink --json`, as far as tools/hunt_bugs.py reads it.
//
// usage: planted_broker_simulator SEEDS
#include <cstdio>
#include <cstdlib>

#include "base/json_writer.h"
#include "lab/broker_sim/simulate_broker.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: planted_broker_simulator SEEDS\n", stderr);
    return 2;
  }
  holdfast::broker_sim::BrokerSimulateOptions options;
  options.seeds = std::strtoull(argv[1], nullptr, 10);
  options.shrink = false;
  const auto report = holdfast::broker_sim::simulate_brokers(options);
  holdfast::JsonWriter json;
  json.begin_object().member("ok", !report.failed.has_value()).member("simulations", report.seeds);
  if (report.failed.has_value()) {
    json.key("failed").begin_object().member("what", report.failed->violation.what).end_object();
  }
  json.end_object();
  std::puts(std::move(json).take().c_str());
  return report.failed.has_value() ? 1 : 0;
}
