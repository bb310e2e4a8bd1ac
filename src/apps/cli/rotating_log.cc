#include "apps/cli/rotating_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace holdfast::cli {

Result<void> RotatingLog::open() {
  OwnedFd fresh(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  struct stat status {};
  if (!fresh.is_open() || ::fstat(fresh.get(), &status) != 0) {
    return Error{ErrorCode::io_error,
                 fmt::format("cannot open {}: {}", path_, std::strerror(errno))};
  }
  // What a library or the end of the process prints must not be lost.
  ::dup2(fresh.get(), STDOUT_FILENO);
  ::dup2(fresh.get(), STDERR_FILENO);
  file_ = std::move(fresh);
  bytes_ = static_cast<std::size_t>(status.st_size);
  return {};
}

void RotatingLog::write(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (bytes_ > 0 && bytes_ + line.size() > limits_.file_bytes) {
    rotate();
  }
  while (!line.empty()) {
    const ssize_t written = ::write(file_.get(), line.data(), line.size());
    if (written <= 0) {
      return;
    }
    bytes_ += static_cast<std::size_t>(written);
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

void RotatingLog::rotate() {
  constexpr ::time_t kDaySeconds = 86'400;
  ::unlink(old(limits_.old_files).c_str());
  for (int number = limits_.old_files; number > 1; --number) {
    static_cast<void>(std::rename(old(number - 1).c_str(), old(number).c_str()));
    struct stat status {};
    if (::stat(old(number).c_str(), &status) == 0 &&
        status.st_mtime + limits_.days * kDaySeconds < ::time(nullptr)) {
      ::unlink(old(number).c_str());
    }
  }
  static_cast<void>(std::rename(path_.c_str(), old(1).c_str()));
  static_cast<void>(open());  // else the old file grows on
}

}  // namespace holdfast::cli
