// CommitNotifier: wakes what waits for committed rows of a broker store. Each store has one; it is
// notified after every group of accepted messages, and when deliveries can be claimed again; by
// PostgresCommitLink also for other brokers on the same database.
//
// A notification is only a hint: the tables are the truth. One may come without a row, one may
// stand for several commits, and one of another broker may be lost with its connection. What waits
// therefore reads the tables first, and again after a bounded time.
//
// Thread-safe. A notification never blocks and never fails.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace holdfast::delivery {

// Whose commit it was: that of a broker in this process, or of another.
enum class CommitOrigin : std::uint8_t { local, remote };

class CommitWatcher;

class CommitNotifier {
 public:
  using Time = std::chrono::steady_clock::time_point;

  CommitNotifier() = default;
  CommitNotifier(const CommitNotifier&) = delete;
  CommitNotifier& operator=(const CommitNotifier&) = delete;

  // Rows were committed. After the commit, never before.
  void notify(CommitOrigin origin = CommitOrigin::local);

  // How many notifications there were. To wait for rows: take count(), read the tables, and
  // wait_beyond() that count.
  [[nodiscard]] std::uint64_t count() const;
  // Returns when there were more than `seen`, or at the deadline; the count then.
  std::uint64_t wait_beyond(std::uint64_t seen, Time deadline);

 private:
  friend class CommitWatcher;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
  std::vector<CommitWatcher*> watchers_;
};

// Calls a function at each notification, from its construction to its destruction; not after.
class CommitWatcher {
 public:
  // The function runs on the thread of the notification and must not block: it may wake another
  // thread. It must not use the notifier. The notifier must outlive the watcher.
  CommitWatcher(CommitNotifier& notifier, std::function<void(CommitOrigin)> notified);
  ~CommitWatcher();
  CommitWatcher(const CommitWatcher&) = delete;
  CommitWatcher& operator=(const CommitWatcher&) = delete;

 private:
  friend class CommitNotifier;

  CommitNotifier& notifier_;
  std::function<void(CommitOrigin)> notified_;
};

}  // namespace holdfast::delivery
