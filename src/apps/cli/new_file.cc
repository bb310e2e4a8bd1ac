#include "apps/cli/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "apps/cli/fd_stream.h"

namespace holdfast::cli {

namespace {

Error file_error(const std::string& path, int number) {
  const std::string text = fmt::format("{}: {}", path, std::strerror(number));
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return Error{ErrorCode::not_found, text};
    case EACCES:
    case EPERM:
    case EROFS:
      return Error{ErrorCode::permission_denied, text};
    case ENOSPC:
    case EDQUOT:
      return Error{ErrorCode::disk_full, text};
    default:
      return Error{ErrorCode::io_error, text};
  }
}

}  // namespace

Result<void> check_new_file(const std::string& path, bool replace) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return {};  // creating it reports what is wrong
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::already_exists,
                 fmt::format("{} is not a regular file; omit FILE for standard output", path)};
  }
  if (!replace) {
    return Error{ErrorCode::already_exists,
                 fmt::format("{} already exists; --force replaces it", path)};
  }
  return {};
}

NewFile::NewFile(const std::string& path)
    : path_(path), temporary_(fmt::format("{}.XXXXXX", path)) {}

Result<std::unique_ptr<NewFile>> NewFile::create(const std::string& path) {
  std::unique_ptr<NewFile> file(new NewFile(path));
  file->fd_ = OwnedFd(mkostemp(file->temporary_.data(), O_CLOEXEC));
  if (!file->fd_.is_open()) {
    return file_error(path, errno);
  }
  // mkostemp creates private files; this one gets the permissions of any new file.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(file->fd_.get(), 0666U & ~mask);
  return file;
}

NewFile::~NewFile() {
  if (fd_.is_open()) {
    unlink(temporary_.c_str());
  }
}

Error NewFile::error(int number) const { return file_error(path_, number); }

Result<void> NewFile::write(const std::function<Result<void>(std::ostream&)>& write) {
  FdStream stream(fd_.get());
  const Result<void> written = write(stream);
  stream.flush();
  if (stream.failure() != 0) {
    return error(stream.failure());
  }
  HOLDFAST_CHECK(written);
  return fsync(fd_.get()) == 0 ? Result<void>() : Result<void>(error(errno));
}

Result<void> NewFile::finish() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return error(errno);
  }
  fd_.close();
  const auto parent = std::filesystem::path(path_).parent_path();
  const OwnedFd directory(open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY));
  const bool synced = directory.is_open() && fsync(directory.get()) == 0;
  return synced ? Result<void>() : Result<void>(error(errno));
}

}  // namespace holdfast::cli
