#include "apps/daemon/daemon_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace holdfast::delivery {

namespace {

constexpr mode_t kOthers = 0077;

Error file_failure(const std::string& path, std::string_view action, int number) {
  const ErrorCode code = number == ENOENT                      ? ErrorCode::not_found
                         : number == EACCES || number == EPERM ? ErrorCode::permission_denied
                         : number == ENOSPC                    ? ErrorCode::disk_full
                                                               : ErrorCode::io_error;
  return Error{code, fmt::format("cannot {} {}: {}", action, path, std::strerror(number))};
}

bool write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written <= 0) {
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Result<void> DaemonFolder::prepare() const {
  std::error_code error;
  const auto parent = std::filesystem::path(path_).parent_path();
  if (!parent.empty()) {
    std::filesystem::create_directories(parent, error);
  }
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    return file_failure(path_, "create", errno);
  }
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) {
    return file_failure(path_, "open", errno);
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & kOthers) != 0) {
    return Error{ErrorCode::unsafe_store,
                 fmt::format("{} must be a folder of your own that others may not enter: "
                             "chmod 700 {}",
                             path_, path_)};
  }
  return {};
}

Result<OwnedFd> DaemonFolder::lock() const {
  const std::string name = file("lock");
  OwnedFd held(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!held.is_open()) {
    return file_failure(name, "open", errno);
  }
  if (::flock(held.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::busy, fmt::format("a daemon runs on {} already", path_)};
  }
  return held;
}

Result<void> DaemonFolder::write(std::string_view name, std::string_view text, mode_t mode) const {
  const std::string path = file(name);
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  OwnedFd out(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!out.is_open()) {
    return file_failure(fresh, "create", errno);
  }
  // The umask may be narrower than the mode.
  if (::fchmod(out.get(), mode) != 0 || !write_whole(out.get(), text) || ::fsync(out.get()) != 0 ||
      ::rename(fresh.c_str(), path.c_str()) != 0) {
    return file_failure(path, "write", errno);
  }
  const OwnedFd folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::fsync(folder.get()) != 0) {
    return file_failure(path_, "sync", errno);
  }
  return {};
}

Result<std::string> DaemonFolder::read(std::string_view name) const {
  const std::string path = file(name);
  const OwnedFd in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.is_open()) {
    return file_failure(path, "read", errno);
  }
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(in.get(), buffer.data(), buffer.size());
    if (got < 0) {
      return file_failure(path, "read", errno);
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

bool DaemonFolder::has(std::string_view name) const {
  return ::access(file(name).c_str(), F_OK) == 0;
}

void DaemonFolder::remove(std::string_view name) const { ::unlink(file(name).c_str()); }

}  // namespace holdfast::delivery
