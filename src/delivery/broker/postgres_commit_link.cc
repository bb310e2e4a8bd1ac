#include "delivery/broker/postgres_commit_link.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/encoding.h"
#include "base/hash.h"
#include "base/retry_pause.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kChannelDigits = 32;

// Channels belong to the database, so the name says which schema. A name has at most 63 bytes.
std::string commit_channel(const PostgresUrl& url) {
  return fmt::format("\"holdfast_broker_{}\"",
                     to_hex(sha256(url.schema)).substr(0, kChannelDigits));
}

}  // namespace

PostgresCommitLink::PostgresCommitLink(PostgresUrl url, CommitNotifier& commits, OwnedFd event)
    : url_(std::move(url)),
      channel_(commit_channel(url_)),
      commits_(commits),
      event_(std::move(event)),
      watcher_(commits, [this](CommitOrigin origin) {
        if (origin == CommitOrigin::local) {
          committed_ = true;
          wake();
        }
      }) {}

Result<std::unique_ptr<PostgresCommitLink>> PostgresCommitLink::start(PostgresUrl url,
                                                                      CommitNotifier& commits) {
  OwnedFd event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event.is_open()) {
    return Error{ErrorCode::io_error,
                 fmt::format("cannot create an event descriptor: {}", std::strerror(errno))};
  }
  std::unique_ptr<PostgresCommitLink> link(
      new PostgresCommitLink(std::move(url), commits, std::move(event)));
  HOLDFAST_CHECK(link->thread_.start([raw = link.get()] { raw->run(); }));
  return link;
}

PostgresCommitLink::~PostgresCommitLink() {
  stopping_ = true;
  wake();
  thread_.join();
}

void PostgresCommitLink::wake() const { static_cast<void>(eventfd_write(event_.get(), 1)); }

void PostgresCommitLink::run() {
  RetryPause pause(random_);
  while (!stopping_) {
    if (serve_connection().ok()) {
      continue;
    }
    if (connection_ != nullptr) {
      pause.reset();  // it had been connected
      connection_.reset();
    }
    // A commit does not end the pause: the next connect notifies.
    const auto end = std::chrono::steady_clock::now() + pause.next();
    for (auto left = end - std::chrono::steady_clock::now(); left.count() > 0 && !stopping_;
         left = end - std::chrono::steady_clock::now()) {
      pollfd event{event_.get(), POLLIN, 0};
      poll(&event, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
      eventfd_t count = 0;
      static_cast<void>(eventfd_read(event_.get(), &count));
    }
  }
}

// One round on a connection, which is made first. An error: it is of no use any more.
Result<void> PostgresCommitLink::serve_connection() {
  if (connection_ == nullptr) {
    HOLDFAST_TRY(connection_, PgConnection::connect(url_, PgSession::write));
    HOLDFAST_CHECK(connection_->run("LISTEN " + channel_));
    commits_.notify(CommitOrigin::remote);
  }
  if (committed_.exchange(false)) {
    auto sent = connection_->run("NOTIFY " + channel_);
    if (!sent.ok()) {
      committed_ = true;
      return sent;
    }
  }
  HOLDFAST_TRY(const PgWake why, connection_->wait_for_others(event_.get()));
  if (why == PgWake::interrupted) {
    eventfd_t count = 0;
    static_cast<void>(eventfd_read(event_.get(), &count));
  } else {
    commits_.notify(CommitOrigin::remote);
  }
  return {};
}

}  // namespace holdfast::delivery
