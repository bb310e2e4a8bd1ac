#include "delivery/daemon/outbox_store.h"

namespace holdfast::delivery {

namespace {

constexpr int kOutboxWalPages = 1000;
constexpr std::string_view kWaitingRows =
    "SELECT count(*) FROM outbox WHERE status IN ('pending', 'inflight')";

Result<std::uint64_t> number_of(SqlSession& session, std::string_view sql) {
  HOLDFAST_TRY(const SqlRows rows, session.query(sql, {}));
  return static_cast<std::uint64_t>(rows.at(0).at(0).integer);
}

}  // namespace

OutboxStore::OutboxStore(DaemonFile files, OutboxStoreOptions options)
    : files_(std::move(files)),
      options_(std::move(options)),
      write_session_(make_sqlite_session(*files_.writer)),
      read_session_(make_sqlite_session(*files_.reader)),
      group_([this](std::vector<Work> group) { return run_group(std::move(group)); }) {}

Result<std::unique_ptr<OutboxStore>> OutboxStore::open(const std::string& path,
                                                       OutboxStoreOptions options) {
  HOLDFAST_TRY(DaemonFile files,
               open_daemon_file(outbox_file_kind(), path, options.busy_timeout, options.vfs));
  std::unique_ptr<OutboxStore> store(new OutboxStore(std::move(files), std::move(options)));
  HOLDFAST_CHECK(store->count());
  return store;
}

Result<void> OutboxStore::count() {
  HOLDFAST_TRY(waiting_, number_of(*write_session_, kWaitingRows));
  HOLDFAST_TRY(bytes_now_, number_of(*write_session_, kFileBytes));
  waiting_now_ = waiting_;
  return {};
}

Result<void> OutboxStore::write(Work work) {
  const auto done = group_.run(std::move(work));
  return done.ok() ? Result<void>() : done.error();
}

Result<void> OutboxStore::read(const std::function<Result<void>(SqlSession&)>& work) {
  const std::lock_guard lock(read_mutex_);
  HOLDFAST_CHECK(files_.reader->exec("BEGIN"));
  auto done = work(*read_session_);
  static_cast<void>(files_.reader->exec("ROLLBACK"));
  return done;
}

std::vector<Result<OutboxStore::Done>> OutboxStore::run_group(std::vector<Work> group) {
  std::vector<Result<Done>> replies;
  replies.reserve(group.size());
  const std::uint64_t before = waiting_;
  auto done = files_.writer->exec("BEGIN IMMEDIATE");
  if (done.ok()) {
    done = finish(run_works(group, replies));
  }
  if (!done.ok()) {
    waiting_ = before;
    static_cast<void>(count());  // what a failed commit has left, where it can be read
    replies.assign(group.size(), done.error());
  }
  waiting_now_ = waiting_;
  return replies;
}

Result<void> OutboxStore::run_works(std::vector<Work>& group, std::vector<Result<Done>>& replies) {
  HOLDFAST_TRY(const std::uint64_t bytes, number_of(*write_session_, kFileBytes));
  bytes_now_ = bytes;
  OutboxTransaction transaction{*write_session_, waiting_, bytes, options_.fault};
  for (Work& work : group) {
    const std::uint64_t before = waiting_;
    HOLDFAST_CHECK(write_session_->execute("SAVEPOINT work", {}));
    const auto done = work(transaction);
    if (!done.ok()) {
      // When SQLite has given up the whole transaction, there is no savepoint to return to: that is
      // a failure of the group.
      HOLDFAST_CHECK(write_session_->execute("ROLLBACK TO work", {}));
      waiting_ = before;
    }
    HOLDFAST_CHECK(write_session_->execute("RELEASE work", {}));
    replies.push_back(done.ok() ? Result<Done>(Done{}) : done.error());
  }
  return transaction.reach(OutboxFault::before_commit);
}

Result<void> OutboxStore::finish(Result<void> done) {
  if (done.ok()) {
    done = files_.writer->exec("COMMIT");
  }
  if (!done.ok()) {
    static_cast<void>(files_.writer->exec("ROLLBACK"));  // fails when SQLite has done it already
    return done;
  }
  // What is left in the WAL is durable; the next commit tries again.
  static_cast<void>(files_.writer->checkpoint_if_longer(kOutboxWalPages));
  return options_.fault ? options_.fault(OutboxFault::after_commit) : Result<void>();
}

}  // namespace holdfast::delivery
