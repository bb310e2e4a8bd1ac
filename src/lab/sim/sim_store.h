// SimStore: one process's handle on the disk that all of them share, where everything goes wrong
// that the contract of a store allows, when the simulation says so.
#pragma once

#include <memory>
#include <string>

#include "base/fields.h"
#include "storage/log/memory_store.h"
#include "storage/log/pass_through_store.h"

namespace holdfast::sim {

// What becomes of the next write.
enum class WriteFate : std::uint8_t {
  good,
  lost,          // an I/O error, and nothing is there
  landed,        // an I/O error, and it is there all the same
  full,          // no space
  busy,          // others hold the store
  conflict,      // "another writer was first", though none was
  crash_lost,    // the process dies, nothing is there
  crash_landed,  // the process dies, it is there
  crash_split,   // the process dies, a first part is there: what stores without batches leave
};

}  // namespace holdfast::sim

namespace holdfast {
template <>
inline constexpr std::string_view kEnumNames<sim::WriteFate>[] = {
    "good",     "lost",       "landed",       "full",       "busy",
    "conflict", "crash_lost", "crash_landed", "crash_split"};
}  // namespace holdfast

namespace holdfast::sim {

class StoreEvents {
 public:
  virtual ~StoreEvents() = default;
  // Asked once for each write. side: a checkpoint, a directory or a seal, not a batch.
  virtual WriteFate fate_of_write(bool side) = 0;
  virtual bool read_fails() = 0;
  // Whether a process goes on after a failure, as one on PostgreSQL does; else it ends.
  virtual bool can_reconnect() = 0;
  // How many of the entries of a batch a process leaves that dies in the middle of it.
  virtual std::size_t split_after(std::string_view body) = 0;
  // A batch is durable. whole: all of what was to be written.
  virtual void landed(const RowView& row, bool whole) = 0;
  // The process is dead: nothing it does from here on can be seen.
  virtual void died() = 0;
};

// `events` must outlive the store.
std::unique_ptr<Store> make_sim_store(std::unique_ptr<Store> disk, StoreEvents& events);

// The first entries of a batch body as a body of their own.
std::string first_entries(std::string_view body, std::size_t count);

}  // namespace holdfast::sim
