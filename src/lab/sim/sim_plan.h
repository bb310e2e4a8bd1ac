// Plan: everything that will be done to the engine in one simulation, drawn from the seed before it
// starts: processes and workers, the commands of clients and their times, the faults and their
// times. Each item is drawn independently, so a subset of the items is a valid plan.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "holdfast/result.h"

namespace holdfast::sim {

HOLDFAST_ENUM(Act,
              // Commands of clients.
              start, start_again, event, resolve, cancel, replay, attributes, archive, mutate_graph,
              register_again, register_newer, migrate, pause_schedule, close_circuit,
              // Maintenance of the store.
              seal, save_directory, checkpoint,
              // Faults.
              crash, crash_in_write, split_write, io_error, disk_full, busy, conflict, slow_disk,
              stall, clock_jump, lose_checkpoint, stale_checkpoint, damage_checkpoint, flip_bit,
              tear_batch, foreign_write, backend_outage, backend_loss);

// The values of --faults; each consists of acts, or changes the behaviour of workers and clients.
HOLDFAST_ENUM(
    Fault,
    crash,       // processes die, between any two steps of the loop and during writes
    split,       // processes die and leave part of a batch, as a store without atomic batches would
    io,          // disk errors, full disks, busy and slow stores
    conflict,    // another process writes first
    stall,       // processes stop for longer than a lease
    clock,       // clocks differ, drift and jump
    checkpoint,  // checkpoints are missing, old or garbage
    damage,      // bits flip, batches are truncated
    worker,      // workers fail, stall, die, report twice, report late or present wrong tokens
    stale,       // clients repeat commands, also for runs that have ended
    foreign,     // facts from writers that ignore the rules
    backend,     // a lease backend cannot be reached, loses everything, loses and repeats messages
);

using Faults = std::set<Fault>;
Faults all_faults();
// "all", "none" or "crash,stale,..."; invalid_argument names an unknown word.
Result<Faults> parse_faults(std::string_view text);

struct Item {
  std::uint32_t number = 0;  // identifies it in the plan, and in --only
  std::int64_t at_us = 0;
  Act act = Act::start;
};

struct Plan {
  std::uint64_t seed = 0;
  Faults faults;  // the kinds of faults that may occur
  std::uint32_t processes = 1;
  std::uint32_t workers = 2;    // per process
  bool carried = false;         // a lease backend carries one of the queues
  std::int64_t horizon_us = 0;  // when the faults end
  std::vector<Item> items;      // by time
};

// The acts of a fault; empty if it changes behaviour instead.
const std::vector<Act>& acts_of(Fault fault);

// Most simulations have few kinds of faults, because many at once would hide each other.
Plan make_plan(std::uint64_t seed, const Faults& allowed);
// The plan with only these items.
Plan part_of(const Plan& plan, const std::set<std::uint32_t>& numbers);

}  // namespace holdfast::sim
