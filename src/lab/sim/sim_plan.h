// Plan: what will be done to the engine in one simulation, drawn from the seed before it begins:
// who is there, what clients ask for and when, what breaks and when. Each item is drawn alone, so
// a part of the items is a plan too.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "holdfast/result.h"

namespace holdfast::sim {

enum class Act : std::uint8_t {
  // What clients do.
  start,
  start_again,
  event,
  resolve,
  cancel,
  replay,
  attributes,
  archive,
  mutate_graph,
  register_again,
  // What those do who look after a store.
  seal,
  save_directory,
  checkpoint,
  // What breaks.
  crash,
  crash_in_write,
  split_write,
  io_error,
  disk_full,
  busy,
  conflict,
  slow_disk,
  stall,
  clock_jump,
  lose_checkpoint,
  stale_checkpoint,
  damage_checkpoint,
  flip_bit,
  tear_batch,
  foreign_write,
};

// What can be asked for with --faults; each is some acts, or a habit of workers.
enum class Fault : std::uint8_t {
  crash,       // processes die: between any two steps of the loop, and while they write
  split,       // they die and leave half of what they wrote, as other stores would
  io,          // errors of the disk, full disks, busy stores, slow disks
  conflict,    // others were first
  stall,       // processes that stand still for longer than a lease
  clock,       // clocks that differ, drift and jump
  checkpoint,  // checkpoints that are gone, old or garbage
  damage,      // bits that flip, batches that are cut off
  worker,      // workers that fail, stall, die, repeat themselves, come late, show wrong tokens
  stale,       // clients that repeat themselves and ask for what is over
  foreign,     // facts of writers who keep no rule
};
}  // namespace holdfast::sim

namespace holdfast {
template <>
inline constexpr std::string_view kEnumNames<sim::Act>[] = {"start",
                                                            "start_again",
                                                            "event",
                                                            "resolve",
                                                            "cancel",
                                                            "replay",
                                                            "attributes",
                                                            "archive",
                                                            "mutate_graph",
                                                            "register_again",
                                                            "seal",
                                                            "save_directory",
                                                            "checkpoint",
                                                            "crash",
                                                            "crash_in_write",
                                                            "split_write",
                                                            "io_error",
                                                            "disk_full",
                                                            "busy",
                                                            "conflict",
                                                            "slow_disk",
                                                            "stall",
                                                            "clock_jump",
                                                            "lose_checkpoint",
                                                            "stale_checkpoint",
                                                            "damage_checkpoint",
                                                            "flip_bit",
                                                            "tear_batch",
                                                            "foreign_write"};
template <>
inline constexpr std::string_view kEnumNames<sim::Fault>[] = {
    "crash",      "split",  "io",     "conflict", "stall",  "clock",
    "checkpoint", "damage", "worker", "stale",    "foreign"};
}  // namespace holdfast

namespace holdfast::sim {

using Faults = std::set<Fault>;
Faults all_faults();
// "all", "none" or "crash,stale,..."; invalid_argument names the word that is none of them.
Result<Faults> parse_faults(std::string_view text);

struct Item {
  std::uint32_t number = 0;  // its name in a plan: what --only lists
  std::int64_t at_us = 0;
  Act act = Act::start;
};

struct Plan {
  std::uint64_t seed = 0;
  Faults faults;  // those that may happen in this simulation
  std::uint32_t processes = 1;
  std::uint32_t workers = 2;    // of each process
  std::int64_t horizon_us = 0;  // when faults end and everything must come to rest
  std::vector<Item> items;      // by time
};

// What a fault does at certain times; nothing: it is a habit.
const std::vector<Act>& acts_of(Fault fault);

// Most simulations have few kinds of faults: together they would hide each other.
Plan make_plan(std::uint64_t seed, const Faults& allowed);
// The same with some of its items only.
Plan part_of(const Plan& plan, const std::set<std::uint32_t>& numbers);

}  // namespace holdfast::sim
