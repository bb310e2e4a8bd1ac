// LogStore: the storage that a host application can supply to an engine.
//
//   class MyLog final : public holdfast::LogStore { ... };
//   auto engine = holdfast::Engine::open(std::make_unique<MyLog>(...));
//
// A log store keeps one log: records at dense positions start..head, and a small key-value side
// store. A record is a sequence of bytes that the engine wrote; the store does not interpret it.
// The engine adds hashes to each record and verifies them on every read. Any database or service
// with a conditional write can implement this interface.
//
// Contract. holdfast/log_contract.h provides tests for it.
//
//  1. Compare-and-append. append(position, bytes) stores the record if and only if `position` is
//     head + 1 at the moment of the write. Otherwise it returns conflict and stores nothing. This
//     holds between all handles on the log, in all processes.
//  2. Durability. When append or update returns success, the change survives a crash of the
//     process and of the machine. A change is stored whole or not at all.
//  3. Visibility. state, read, get and scan show durable changes only. A change that one handle
//     has reported as successful is visible to every other handle from then on.
//  4. Reads. read returns the bytes exactly as they were appended, in order. Records below
//     `start` are gone.
//  5. Side store. update applies all puts, deletes and the trim in one atomic step, or none. Keys
//     are ordered by their bytes. Values may be empty and may contain any byte.
//  6. Failures. conflict, busy and read_only mean that nothing was written; the engine may try
//     again. After any other error of append or update the outcome is unknown: the engine stops
//     writing to this handle. With can_reconnect() it calls reconnect() and reads the outcome
//     back; otherwise the host opens the log again and a new engine on it.
//  7. Threads. Every member may be called from any thread at any time. Reads may run while an
//     append waits for the disk. Members must not throw.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

struct LogState {
  // Chosen at random when the log is created; the same for every handle and never changed.
  std::array<std::byte, 16> id{};
  std::uint64_t start = 1;  // the oldest record that is kept; head + 1 when there is none
  std::uint64_t head = 0;   // the newest record; 0 in a new log
};

struct LogRecord {
  std::uint64_t position = 0;
  std::string bytes;
};

struct LogReadLimit {
  std::size_t max_records = 4096;
  // Stop after the record that reaches this many bytes. At least one record is returned.
  std::size_t max_bytes = 4U << 20U;
};

struct LogPair {
  std::string key;
  std::string value;
};

// Removes all records below `start`.
struct LogTrim {
  std::uint64_t expected_start = 1;  // conflict when the log has another start
  std::uint64_t start = 1;           // at most head
};

struct LogUpdate {
  std::vector<LogPair> puts;
  std::vector<std::string> deletes;  // applied before the puts
  std::optional<LogTrim> trim;
};

struct LogScan {
  enum class Order : std::uint8_t { ascending, descending };
  std::string prefix;  // only keys that begin with it
  // Begin at this key (inclusive, in scan order) instead of at the first key of the prefix.
  std::optional<std::string> from = {};
  Order order = Order::ascending;
  std::size_t max_pairs = 1000;
  // Stop after the pair that reaches this many bytes of values. At least one pair is returned.
  std::size_t max_bytes = 8U << 20U;
};

class LogStore {
 public:
  virtual ~LogStore() = default;

  virtual Result<LogState> state() = 0;

  virtual Result<void> append(std::uint64_t position, std::string_view bytes) = 0;
  // Records with a position of at least `from`, in order; empty after the end of the log.
  virtual Result<std::vector<LogRecord>> read(std::uint64_t from, const LogReadLimit& limit) = 0;

  virtual Result<void> update(const LogUpdate& update) = 0;
  // One value, or none, for each key, in the order of the keys.
  virtual Result<std::vector<std::optional<std::string>>> get(
      std::span<const std::string> keys) = 0;
  virtual Result<std::vector<LogPair>> scan(const LogScan& scan) = 0;

  // Returns when the head has moved past known_head, or after the timeout. It may return early:
  // the caller reads state(). It must use no processor time while nothing happens.
  virtual Result<void> wait_for_change(std::uint64_t known_head,
                                       std::chrono::milliseconds timeout) = 0;
  // From now on wait_for_change returns at once, in calls that already wait too.
  virtual void interrupt_waits() = 0;

  // Whether reconnect() can make this handle usable after a failure.
  [[nodiscard]] virtual bool can_reconnect() const { return false; }
  // After a failure: makes reads and writes work again. Later reads must show whether an append
  // whose outcome was unknown has been stored. Any error: the engine calls it again later.
  virtual Result<void> reconnect();

  // Returns space that trims have freed to the system. By default it does nothing.
  virtual Result<void> reclaim();
  virtual Result<std::uint64_t> size_bytes() = 0;
  // For messages. It must not contain a secret.
  [[nodiscard]] virtual std::string name() const = 0;
};

inline Result<void> LogStore::reconnect() {
  return Error{ErrorCode::log_stopped, name() + " must be opened again after a failure"};
}

inline Result<void> LogStore::reclaim() { return {}; }

}  // namespace holdfast
