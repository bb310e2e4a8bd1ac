// Waits for the head of a log to move, with LISTEN on a connection of its own. Any number of
// threads may wait: one of them watches the socket, the others wait for that one. Where the
// server has no LISTEN (a standby, another product) the head is read again each second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "storage/postgres/postgres_client.h"

namespace holdfast {

class PostgresListener {
 public:
  PostgresListener(PostgresUrl url, PgSession session, std::string channel)
      : url_(std::move(url)), session_(session), channel_(std::move(channel)) {}

  // Returns when moved() returns true or an error, or after the deadline. It calls moved at the
  // start, after every notification, and whenever one may have been missed.
  Result<void> wait(const std::function<Result<bool>()>& moved,
                    std::chrono::steady_clock::time_point deadline);

 private:
  using Time = std::chrono::steady_clock::time_point;

  // Watches until something may have happened. The caller is the one watcher.
  Result<void> watch(const std::function<Result<bool>()>& moved, Time deadline);
  Result<void> connect();

  PostgresUrl url_;
  PgSession session_;
  std::string channel_;
  std::unique_ptr<PgConnection> connection_;  // belongs to the watcher
  bool can_listen_ = false;                   // likewise

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool watched_ = false;
  std::uint64_t rounds_ = 0;
};

}  // namespace holdfast
