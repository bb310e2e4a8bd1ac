// SimStore: one process's handle on the disk that all processes share. It injects every failure
// that the contract of a store allows, as the simulation decides.
#pragma once

#include <memory>
#include <string>

#include "base/fields.h"
#include "storage/journal/journal.h"
#include "storage/log/memory_store.h"
#include "storage/log/pass_through_store.h"

namespace holdfast::sim {

// The fate of the next write.
HOLDFAST_ENUM(WriteFate, good,
              lost,          // I/O error; the write is lost
              landed,        // I/O error, but the write is durable
              full,          // no space left
              busy,          // another writer holds the store
              conflict,      // a conflict is reported although there was no other writer
              crash_lost,    // the process dies; the write is lost
              crash_landed,  // the process dies; the write is durable
              crash_split,  // the process dies; only the first entries are durable, as with a store
                            // without atomic batches
);

class StoreEvents {
 public:
  virtual ~StoreEvents() = default;
  // Called once for each write. side: a checkpoint, a directory or a seal, not a batch.
  virtual WriteFate fate_of_write(bool side) = 0;
  virtual bool read_fails() = 0;
  // Whether a process continues after a failure, as on PostgreSQL; otherwise it ends.
  virtual bool can_reconnect() = 0;
  // The number of entries of a batch that are durable if the process dies while writing it.
  virtual std::size_t split_after(std::string_view body) = 0;
  // A batch is durable. whole: with all of its entries.
  virtual void landed(const RowView& row, bool whole) = 0;
  // The process has died: nothing that it does from now on is visible.
  virtual void died() = 0;
};

// The journal on a disk, without faults.
Result<std::unique_ptr<Journal>> open_disk(const std::shared_ptr<MemoryDisk>& disk, OpenMode mode);

// `events` must outlive the store.
std::unique_ptr<Store> make_sim_store(std::unique_ptr<Store> disk, StoreEvents& events);

// A batch body that contains only the first `count` entries of another.
std::string first_entries(std::string_view body, std::size_t count);

}  // namespace holdfast::sim
