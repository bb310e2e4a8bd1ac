#include "lab/sim/sim_plan.h"

#include <algorithm>
#include <map>

#include "lab/sim/sim_dice.h"
#include "lab/sim/sim_schedule.h"

namespace holdfast::sim {

namespace {

// The acts of each fault; a fault without acts changes behaviour instead.
const std::map<Fault, std::vector<Act>>& acts_of_faults() {
  static const std::map<Fault, std::vector<Act>> acts{
      {Fault::crash, {Act::crash, Act::crash_in_write}},
      {Fault::split, {Act::split_write}},
      {Fault::io, {Act::io_error, Act::disk_full, Act::busy, Act::slow_disk}},
      {Fault::conflict, {Act::conflict}},
      {Fault::stall, {Act::stall}},
      {Fault::clock, {Act::clock_jump}},
      {Fault::checkpoint, {Act::lose_checkpoint, Act::stale_checkpoint, Act::damage_checkpoint}},
      {Fault::damage, {Act::flip_bit, Act::tear_batch}},
      {Fault::stale, {Act::start_again}},
      {Fault::foreign, {Act::foreign_write}},
      {Fault::backend, {Act::backend_outage, Act::backend_loss}},
  };
  return acts;
}

Act client_act(const Dice& dice) {
  static constexpr Act kActs[] = {
      Act::event,          Act::event,          Act::event,          Act::resolve, Act::resolve,
      Act::cancel,         Act::replay,         Act::attributes,     Act::archive, Act::start,
      Act::mutate_graph,   Act::register_again, Act::register_newer, Act::migrate, Act::migrate,
      Act::pause_schedule, Act::close_circuit};
  return kActs[dice.below(std::size(kActs), "client act")];
}

}  // namespace

const std::vector<Act>& acts_of(Fault fault) {
  static const std::vector<Act> none;
  const auto acts = acts_of_faults().find(fault);
  return acts == acts_of_faults().end() ? none : acts->second;
}

Faults all_faults() {
  Faults all;
  for (std::size_t i = 0; i < std::size(kEnumNames<Fault>); ++i) {
    all.insert(static_cast<Fault>(i));
  }
  return all;
}

Result<Faults> parse_faults(std::string_view text) {
  if (text == "all") {
    return all_faults();
  }
  Faults faults;
  while (!text.empty() && text != "none") {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    const auto& names = kEnumNames<Fault>;
    const auto* const name = std::find(std::begin(names), std::end(names), word);
    if (name == std::end(names)) {
      return Error{ErrorCode::invalid_argument,
                   "unknown fault \"" + std::string(word) +
                       "\"; use all, none, or some of crash, split, io, conflict, stall, clock, "
                       "checkpoint, damage, worker, stale, foreign and backend"};
    }
    faults.insert(static_cast<Fault>(name - std::begin(names)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return faults;
}

Plan make_plan(std::uint64_t seed, const Faults& allowed) {
  const Dice dice = Dice(seed).about("plan");
  Plan plan;
  plan.seed = seed;
  plan.processes = 1 + static_cast<std::uint32_t>(dice.below(3, "processes"));
  plan.workers = 1 + static_cast<std::uint32_t>(dice.below(4, "workers"));
  plan.horizon_us = static_cast<std::int64_t>(5 + dice.below(120, "horizon")) * kSecond;
  plan.carried = dice.chance(50, "carried");
  for (const Fault fault : allowed) {
    // Foreign facts disable the oracle, so they are rare.
    const std::uint64_t percent = fault == Fault::foreign ? 10 : 35;
    if (dice.chance(percent, to_text(fault))) {
      plan.faults.insert(fault);
    }
  }
  const auto add = [&](Act act, std::string_view why, std::uint64_t which) {
    const auto number = static_cast<std::uint32_t>(plan.items.size());
    const Dice own = dice.about(why, which);
    plan.items.push_back(Item{
        number,
        static_cast<std::int64_t>(own.below(static_cast<std::uint64_t>(plan.horizon_us), "at")),
        act});
  };
  const std::uint64_t starts = 1 + dice.below(8, "starts");
  for (std::uint64_t i = 0; i < starts; ++i) {
    add(Act::start, "start", i);
  }
  const std::uint64_t others = dice.below(20, "client acts");
  for (std::uint64_t i = 0; i < others; ++i) {
    add(client_act(dice.about("client", i)), "client", i);
  }
  const std::uint64_t maintenance = dice.below(4, "keeping");
  for (std::uint64_t i = 0; i < maintenance; ++i) {
    static constexpr Act kMaintenance[] = {Act::seal, Act::save_directory, Act::checkpoint};
    add(kMaintenance[dice.below(std::size(kMaintenance), "keep", i)], "keeping", i);
  }
  for (const Fault fault : plan.faults) {
    const auto acts = acts_of_faults().find(fault);
    if (acts == acts_of_faults().end()) {
      continue;
    }
    const std::uint64_t times = 1 + dice.below(6, "times", static_cast<std::uint64_t>(fault));
    for (std::uint64_t i = 0; i < times; ++i) {
      const Dice own = dice.about(to_text(fault), i);
      add(acts->second[own.below(acts->second.size(), "which")], to_text(fault), 1000 + i);
    }
  }
  std::stable_sort(plan.items.begin(), plan.items.end(),
                   [](const Item& left, const Item& right) { return left.at_us < right.at_us; });
  return plan;
}

Plan part_of(const Plan& plan, const std::set<std::uint32_t>& numbers) {
  Plan part = plan;
  std::erase_if(part.items, [&](const Item& item) { return !numbers.contains(item.number); });
  return part;
}

}  // namespace holdfast::sim
