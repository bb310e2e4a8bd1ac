// OutboxStore: the transactions of outbox.db. Calls that arrive while a transaction runs share the
// next one and its sync; each has a savepoint of its own, and gets its reply after the commit.
//
// Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "delivery/broker/group_runner.h"
#include "delivery/broker/sql_session.h"
#include "delivery/daemon/outbox_schema.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

// Where tests stop or kill the process.
enum class OutboxFault : std::uint8_t {
  send_begun,     // no row yet
  send_inserted,  // before the commit
  claimed,        // before the commit
  completed,      // before the commit
  requeue_checked,
  requeue_aborted,
  requeue_inserted,
  before_commit,
  after_commit,
};

struct OutboxStoreOptions {
  std::chrono::milliseconds busy_timeout{5'000};
  std::string vfs = {};
  std::function<Result<void>(OutboxFault)> fault = {};
};

// What a call sees of the transaction it is in.
struct OutboxTransaction {
  SqlSession& sql;
  std::uint64_t& waiting;  // rows that are pending or inflight
  std::uint64_t bytes;     // of the file, when the transaction began
  const std::function<Result<void>(OutboxFault)>& fault;

  Result<void> reach(OutboxFault point) const { return fault ? fault(point) : Result<void>(); }
};

class OutboxStore {
 public:
  static Result<std::unique_ptr<OutboxStore>> open(const std::string& path,
                                                   OutboxStoreOptions options);
  OutboxStore(const OutboxStore&) = delete;
  OutboxStore& operator=(const OutboxStore&) = delete;

  using Work = std::function<Result<void>(OutboxTransaction&)>;
  // An error of the work undoes what it wrote and is the reply; its neighbours are not affected.
  // busy: too many calls wait. Any other error of the commit: no call of the group is durable.
  Result<void> write(Work work);
  // In one snapshot. The work must not write.
  Result<void> read(const std::function<Result<void>(SqlSession&)>& work);

  // Rows that are pending or inflight, and the bytes of the file, at the last commit.
  [[nodiscard]] std::uint64_t waiting() const { return waiting_now_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_now_; }

 private:
  struct Done {};
  using Group = GroupRunner<Work, Done>;

  OutboxStore(DaemonFile files, OutboxStoreOptions options);
  std::vector<Result<Done>> run_group(std::vector<Work> group);
  Result<void> run_works(std::vector<Work>& group, std::vector<Result<Done>>& replies);
  Result<void> finish(Result<void> done);
  Result<void> count();

  DaemonFile files_;
  OutboxStoreOptions options_;
  std::unique_ptr<SqlSession> write_session_;
  std::unique_ptr<SqlSession> read_session_;  // guarded by read_mutex_
  std::uint64_t waiting_ = 0;                 // of the thread that runs the group
  std::atomic<std::uint64_t> waiting_now_ = 0;
  std::atomic<std::uint64_t> bytes_now_ = 0;
  std::mutex read_mutex_;
  Group group_;
};

}  // namespace holdfast::delivery
