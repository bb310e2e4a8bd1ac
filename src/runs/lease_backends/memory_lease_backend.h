// The items and signals of a lease backend that lives in this process, for tests. All handles of a
// MemoryLeases share it; it is safe for use by several threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "holdfast/lease_backend.h"

namespace holdfast {

class MemoryLeases {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  // now: for tests in virtual time, which must not wait.
  explicit MemoryLeases(const LeaseBackendOptions& options,
                        std::function<Instant()> now = std::chrono::steady_clock::now)
      : options_(options), now_(std::move(now)) {}

  static std::unique_ptr<LeaseBackend> open(const std::shared_ptr<MemoryLeases>& leases);

  // As a backend that was restarted without its data.
  void lose_everything();
  // While it is unavailable every call fails.
  enum class Reachable : std::uint8_t { yes, no };
  void set_reachable(Reachable reachable);

 private:
  friend class MemoryLeaseBackend;

  struct Item {
    WorkItem item;
    enum class State : std::uint8_t { delayed, ready, delivered, dead };
    State state = State::ready;
    std::string receipt;      // of the current delivery
    Instant last_seen;        // of its worker
    std::uint64_t taken = 0;  // how often it was taken back
  };
  struct Queue {
    std::map<std::string, Item, std::less<>> items;
    std::deque<std::string> ready;  // ids; some may be stale
    std::map<std::uint64_t, LeaseSignal> signals;
    std::set<std::uint64_t> received;  // signals that a handle holds
    std::map<std::string, std::deque<LeaseAnswer>, std::less<>> answers;
    std::string epoch;
  };

  Queue& queue(std::string_view name);
  void add_signal(Queue& queue, LeaseSignal signal);
  void make_ready(Queue& queue, Item& item);
  void take_back(Queue& queue, Item& item);
  void expire(Queue& queue);
  std::optional<Delivery> next_delivery(Queue& queue);

  const LeaseBackendOptions options_;
  const std::function<Instant()> now_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool reachable_ = true;
  std::uint64_t lives_ = 1;
  std::uint64_t next_ = 0;  // receipts and signals
  std::map<std::string, Queue, std::less<>> queues_;
};

}  // namespace holdfast
