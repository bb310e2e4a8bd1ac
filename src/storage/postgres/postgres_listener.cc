#include "storage/postgres/postgres_listener.h"

#include <algorithm>

namespace holdfast {

namespace {

constexpr std::chrono::seconds kRecheck{1};

}  // namespace

Result<void> PostgresListener::wait(const std::function<Result<bool>()>& moved,
                                    std::chrono::steady_clock::time_point deadline) {
  while (true) {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = rounds_;
    lock.unlock();
    HOLDFAST_TRY(const bool there, moved());
    if (there || std::chrono::steady_clock::now() >= deadline) {
      return {};
    }
    lock.lock();
    if (watched_) {
      changed_.wait_until(lock, deadline, [&] { return !watched_ || rounds_ != round; });
      continue;
    }
    if (rounds_ != round) {
      continue;
    }
    watched_ = true;
    lock.unlock();
    auto watched = watch(moved, deadline);
    lock.lock();
    watched_ = false;
    ++rounds_;
    changed_.notify_all();
    if (!watched.ok()) {
      return watched;
    }
  }
}

Result<void> PostgresListener::watch(const std::function<Result<bool>()>& moved, Time deadline) {
  if (connection_ == nullptr || connection_->lost()) {
    HOLDFAST_CHECK(connect());
    // It may have moved before the LISTEN.
    HOLDFAST_TRY(const bool there, moved());
    if (there) {
      return {};
    }
  }
  const Time recheck = std::chrono::steady_clock::now() + kRecheck;
  auto notified =
      connection_->wait_for_notification(can_listen_ ? deadline : std::min(deadline, recheck));
  if (!notified.ok() && !connection_->lost()) {
    return std::move(notified).error();
  }
  return {};  // a lost connection is made again in the next round
}

// Some servers take LISTEN and NOTIFY and do nothing with them, so it is tried out.
Result<void> PostgresListener::connect() {
  HOLDFAST_TRY(connection_, PgConnection::connect(url_, session_));
  can_listen_ = false;
  const std::string channel = "\"" + channel_ + "\"";
  const std::string probe = "\"" + channel_ + "_probe\"";
  for (const std::string& sql : {"LISTEN " + channel, "LISTEN " + probe, "NOTIFY " + probe}) {
    auto done = connection_->run(sql);
    if (!done.ok()) {
      return connection_->lost() ? std::move(done) : Result<void>();
    }
  }
  HOLDFAST_TRY(can_listen_,
               connection_->wait_for_notification(std::chrono::steady_clock::now() + kRecheck));
  return connection_->run("UNLISTEN " + probe);
}

}  // namespace holdfast
