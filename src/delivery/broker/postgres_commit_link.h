// PostgresCommitLink: the brokers on one PostgreSQL database notify each other of commits. Those of
// this process, as its CommitNotifier sees them, are sent with NOTIFY; those of others, received
// with LISTEN, are given to it.
//
// It has a thread and a connection of its own, so that no commit waits for a notification: many
// commits share one, and a connection that is lost is made again, with growing pauses. After each
// connect the notifier is notified, because something may have been missed.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/owned_fd.h"
#include "base/random.h"
#include "base/threads.h"
#include "delivery/broker/commit_notifier.h"
#include "holdfast/result.h"
#include "storage/postgres/postgres_client.h"
#include "storage/postgres/postgres_url.h"

namespace holdfast::delivery {

class PostgresCommitLink {
 public:
  // commits must outlive the link. Does not wait for the connection.
  static Result<std::unique_ptr<PostgresCommitLink>> start(PostgresUrl url,
                                                           CommitNotifier& commits);
  ~PostgresCommitLink();
  PostgresCommitLink(const PostgresCommitLink&) = delete;
  PostgresCommitLink& operator=(const PostgresCommitLink&) = delete;

 private:
  PostgresCommitLink(PostgresUrl url, CommitNotifier& commits, OwnedFd event);
  void wake() const;
  void run();
  Result<void> serve_connection();

  const PostgresUrl url_;
  const std::string channel_;  // quoted
  CommitNotifier& commits_;
  OwnedFd event_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> committed_{false};  // here, and not sent yet
  SystemRandom random_;
  std::unique_ptr<PgConnection> connection_;  // belongs to the thread
  CommitWatcher watcher_;
  ThreadGroup thread_;
};

}  // namespace holdfast::delivery
