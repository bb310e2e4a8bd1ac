#include "lab/sim/fault_injector.h"

#include <algorithm>
#include <map>

#include "lab/sim/simulation.h"
#include "runs/inspect/inspector.h"
#include "storage/journal/journal_keys.h"
#include "storage/journal/journal_verify.h"

namespace holdfast::sim {

namespace {

std::shared_ptr<MemoryDisk> copy_of(const MemoryDisk& disk) {
  auto copy = std::make_shared<MemoryDisk>();
  copy->format = disk.format;
  copy->state = disk.state;
  copy->rows = disk.rows;
  copy->side = disk.side;
  return copy;
}

std::string checkpoint_name() { return checkpoint_key(live_checkpoint_name().text()); }

void flip(std::string& bytes, const Dice& dice) {
  const std::uint64_t bit = dice.below(bytes.size() * 8, "bit");
  bytes[bit / 8] =
      static_cast<char>(static_cast<unsigned char>(bytes[bit / 8]) ^ (1U << (bit % 8)));
}

// Everything that can be read from a journal, as one text; or the first error.
Result<std::string> everything(const std::shared_ptr<MemoryDisk>& disk,
                               const std::vector<RunId>& runs) {
  HOLDFAST_TRY(const auto journal, open_disk(disk, OpenMode::read));
  HOLDFAST_TRY(const VerifyReport report, verify_journal(journal->log()));
  std::string all = std::to_string(report.entries) + " ";
  for (const RunId& id : runs) {
    HOLDFAST_TRY(const auto entries, journal->load(run_thread(id)));
    for (const Entry& entry : entries) {
      all += entry.raw;
    }
  }
  Definitions definitions(*journal);
  LiveState state(*journal, definitions, {.cached_bytes = 100'000});
  HOLDFAST_CHECK(state.restore());
  HOLDFAST_TRY(const Position head, journal->catch_up());
  HOLDFAST_CHECK(state.read_up_to(head));
  return all + state.encode();
}

}  // namespace

bool FaultInjector::act(Act act, const Dice& dice) {
  static const std::map<Act, bool (FaultInjector::*)(const Dice&)> of_disk{
      {Act::lose_checkpoint, &FaultInjector::lose_checkpoint},
      {Act::stale_checkpoint, &FaultInjector::restore_old_checkpoint},
      {Act::damage_checkpoint, &FaultInjector::damage_checkpoint},
      {Act::flip_bit, &FaultInjector::flip_bit},
      {Act::tear_batch, &FaultInjector::tear_batch},
      {Act::foreign_write, &FaultInjector::write_foreign},
  };
  if (const auto known = of_disk.find(act); known != of_disk.end()) {
    return (this->*known->second)(dice);
  }
  Process* process = simulation_.some_process(dice);
  const bool done =
      process != nullptr &&
      (maintain(act, *process) || disturb(act, *process, dice) || fail_write(act, *process, dice));
  if (process != nullptr) {
    process->end_if_died();
  }
  return done;
}

void FaultInjector::end() {
  for (const auto& process : simulation_.processes()) {
    process->end_faults();
    if (process->up()) {
      process->wake();
    }
  }
}

bool FaultInjector::maintain(Act act, Process& process) {
  const auto count = [&](const char* what, bool ok) {
    simulation_.count(std::string("maintenance:") + what + (ok ? "" : "_failed"));
    return true;
  };
  if (act == Act::seal) {
    return count("seal", process.journal().seal().ok());
  }
  if (act == Act::save_directory) {
    return count("save_directory", process.journal().save_directory().ok());
  }
  if (act == Act::checkpoint) {
    process.core().request_checkpoint();
    process.wake();
  }
  return act == Act::checkpoint;
}

// Faults that affect a process as a whole.
bool FaultInjector::disturb(Act act, Process& process, const Dice& dice) {
  const auto seconds = [&](std::uint64_t below) {
    return static_cast<std::int64_t>(dice.below(below, "seconds")) * kSecond;
  };
  if (act == Act::crash) {
    process.kill("killed");
  } else if (act == Act::slow_disk) {
    process.write_slowly(seconds(40));
  } else if (act == Act::stall) {
    process.stall_for(seconds(70));
  } else if (act == Act::clock_jump) {
    process.clock().set(seconds(240) / 1000 - 120'000, 0);
    process.wake();
  } else {
    return false;
  }
  return true;
}

bool FaultInjector::fail_write(Act act, Process& process, const Dice& dice) {
  const bool landed = dice.chance(50, "landed");
  if (act == Act::io_error && dice.chance(25, "read")) {
    process.next_read_fails();
    return true;
  }
  const std::map<Act, WriteFate> fates{
      {Act::crash_in_write, landed ? WriteFate::crash_landed : WriteFate::crash_lost},
      {Act::split_write, WriteFate::crash_split},
      {Act::io_error, landed ? WriteFate::landed : WriteFate::lost},
      {Act::disk_full, WriteFate::full},
      {Act::busy, WriteFate::busy},
      {Act::conflict, WriteFate::conflict},
  };
  const auto fate = fates.find(act);
  if (fate == fates.end()) {
    return false;
  }
  const bool side = dice.chance(20, "side") && act != Act::split_write;
  side ? process.next_side_write(fate->second) : process.next_write(fate->second);
  return true;
}

// A checkpoint or the directory, which are stored to shorten a start; nullptr if there is none.
std::string* FaultInjector::some_checkpoint(const Dice& dice) {
  auto& side = simulation_.disk().side;
  const auto found =
      side.find(dice.chance(70, "live") ? checkpoint_name() : std::string(kDirectoryKey));
  return found == side.end() || found->second.empty() ? nullptr : &found->second;
}

// The process reads the checkpoint when it starts again.
void FaultInjector::restart_process(const Dice& dice) {
  if (Process* process = simulation_.some_process(dice); process != nullptr) {
    process->kill("killed to read the checkpoint");
  }
}

bool FaultInjector::lose_checkpoint(const Dice& dice) {
  auto& side = simulation_.disk().side;
  const bool there = side.erase(checkpoint_name()) + side.erase(std::string(kDirectoryKey)) > 0;
  restart_process(dice);
  return there;
}

bool FaultInjector::restore_old_checkpoint(const Dice& dice) {
  const auto found = simulation_.disk().side.find(checkpoint_name());
  if (found == simulation_.disk().side.end()) {
    return false;
  }
  const auto wait = static_cast<std::int64_t>(1 + dice.below(20, "wait")) * kSecond;
  simulation_.schedule().after(wait, [this, dice, old = found->second] {
    if (!simulation_.faults_ended()) {
      simulation_.disk().side[checkpoint_name()] = old;
      restart_process(dice);
    }
  });
  return true;
}

bool FaultInjector::damage_checkpoint(const Dice& dice) {
  std::string* bytes = some_checkpoint(dice);
  if (bytes == nullptr) {
    return false;
  }
  if (dice.chance(30, "cut")) {
    bytes->resize(dice.below(bytes->size(), "size"));
  } else {
    flip(*bytes, dice);
  }
  restart_process(dice);
  return true;
}

bool FaultInjector::flip_bit(const Dice& dice) {
  const auto damaged = copy_of(simulation_.disk());
  if (damaged->rows.empty()) {
    return false;
  }
  auto row = std::next(damaged->rows.begin(),
                       static_cast<std::ptrdiff_t>(dice.below(damaged->rows.size(), "row")));
  std::string what = "a bit of batch " + std::to_string(row->first.value);
  const std::uint64_t part = dice.below(10, "place");
  if (part < 6) {
    flip(row->second.body, dice);
  } else if (part < 8) {
    Digest& digest = part == 6 ? row->second.body_hash : row->second.chain;
    digest[dice.below(digest.size(), "byte")] ^= std::byte{1};
    what += part == 6 ? " (hash)" : " (chain)";
  } else {
    auto value = std::find_if(damaged->side.begin(), damaged->side.end(),
                              [&](const auto& pair) { return dice.chance(30, pair.first); });
    if (value == damaged->side.end() || value->second.empty()) {
      return false;
    }
    flip(value->second, dice);
    what = "a bit of " + value->first;
  }
  expect_error_or_same_state(damaged, what);
  return true;
}

bool FaultInjector::tear_batch(const Dice& dice) {
  const auto damaged = copy_of(simulation_.disk());
  if (damaged->rows.empty()) {
    return false;
  }
  auto& [position, row] = *damaged->rows.rbegin();
  row.body.resize(dice.below(row.body.size(), "size"));
  expect_error_or_same_state(damaged, "the end of batch " + std::to_string(position.value));
  return true;
}

void FaultInjector::expect_error_or_same_state(const std::shared_ptr<MemoryDisk>& damaged,
                                               const std::string& what) {
  const auto good = everything(copy_of(simulation_.disk()), simulation_.runs());
  const auto seen = everything(damaged, simulation_.runs());
  if (!good.ok()) {
    simulation_.report_violation("the store cannot be read: " + good.error().text());
  } else if (seen.ok() && seen.value() != good.value() && simulation_.oracle_enabled()) {
    simulation_.report_violation(what +
                                 " is damaged, and other facts are returned without an error");
  } else if (!seen.ok() && !is_damage(seen.error().code())) {
    simulation_.report_violation(
        what + " is damaged, but the error does not report damage: " + seen.error().text());
  } else {
    simulation_.count(seen.ok() ? "damage:harmless" : "damage:reported");
  }
}

bool FaultInjector::write_foreign(const Dice& dice) {
  simulation_.disable_oracle();
  return store_foreign_facts(simulation_, dice);
}

}  // namespace holdfast::sim
