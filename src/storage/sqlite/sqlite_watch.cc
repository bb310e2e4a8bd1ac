#include "storage/sqlite/sqlite_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "storage/sqlite/sqlite_path.h"

namespace holdfast {

void announce_sqlite_commit(const std::string& path) {
  const OwnedFd opened(open((path + "-wal").c_str(), O_RDONLY | O_CLOEXEC));
}

Result<std::unique_ptr<SqliteFileWatch>> SqliteFileWatch::create(const std::string& path) {
  const std::string folder = folder_of(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  OwnedFd events(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!events.is_open() || inotify_add_watch(events.get(), folder.c_str(), IN_CLOSE_NOWRITE) < 0) {
    return file_error(path, errno);
  }
  return std::unique_ptr<SqliteFileWatch>(new SqliteFileWatch(std::move(events), name + "-wal"));
}

Result<void> SqliteFileWatch::wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd watched{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&watched, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      return {};
    }
    if (ready < 0) {
      return file_error(name_, errno);
    }
    alignas(inotify_event) std::array<char, 4096> events;
    bool ours = false;
    ssize_t got = 0;
    while ((got = read(fd_.get(), events.data(), events.size())) > 0) {
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
        const std::string_view file = event->len > 0 ? event->name : "";
        ours = ours || file == name_ || (event->mask & IN_Q_OVERFLOW) != 0;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    if (ours) {
      return {};
    }
  }
}

}  // namespace holdfast
