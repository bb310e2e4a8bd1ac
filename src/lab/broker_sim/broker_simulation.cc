#include "lab/broker_sim/broker_simulation.h"

#include "lab/broker_sim/broker_actors.h"
#include "lab/broker_sim/broker_clients.h"
#include "lab/broker_sim/broker_sim_process.h"

namespace holdfast::broker_sim {

namespace {

constexpr std::uint64_t kMostEvents = 200'000;

}  // namespace

std::optional<sim::Violation> play_brokers(const BrokerPlan& plan, sim::Trace& trace,
                                           sim::Coverage& coverage) {
  BrokerWorld world{.schedule = {},
                    .dice = sim::Dice(plan.seed),
                    .oracle = {},
                    .trace = trace,
                    .coverage = coverage,
                    .horizon_us = plan.horizon_us};
  BrokerMachine machine(world, plan.processes);
  BrokerActors actors(world, machine);
  BrokerClients clients(world, machine, actors);
  actors.set_up();
  machine.check_tables();
  for (const BrokerItem& item : plan.items) {
    world.schedule.after(item.at_us, [&, item] {
      item.act == BrokerAct::send ? clients.send(item) : actors.act(item);
    });
  }
  world.schedule.after(plan.horizon_us, [&] { machine.disarm(); });
  std::uint64_t events = 0;
  while (!world.oracle.broken().has_value() && world.schedule.step()) {
    if (++events > kMostEvents) {
      world.oracle.fail("the simulation does not end: clients are never answered");
    }
  }
  if (!world.oracle.broken().has_value()) {
    clients.check_all_answered();
    machine.check_tables();
    actors.read_all();
  }
  coverage.add("met:in_transaction", world.oracle.met_in_transaction());
  coverage.add("met:accepted_again_after_sweep", world.oracle.accepted_again());
  if (!world.oracle.broken().has_value()) {
    return std::nullopt;
  }
  return sim::Violation{trace.events(), world.schedule.now_us(), *world.oracle.broken()};
}

}  // namespace holdfast::broker_sim
