#include "mesh/store/blob_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/blake3.h"
#include "base/encoding.h"
#include "base/owned_fd.h"
#include "storage/sqlite/sqlite_path.h"

namespace holdfast::mesh {

namespace {

constexpr std::string_view kUnfinished = "unfinished-";

Result<void> write_all(const std::string& path, int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return file_error(path, errno);
    }
    bytes = bytes.subspan(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> sync_path(const std::string& path, int flags) {
  const OwnedFd file(::open(path.c_str(), flags | O_CLOEXEC));
  if (!file.is_open() || ::fsync(file.get()) != 0) {
    return file_error(path, errno);
  }
  return {};
}

Result<std::vector<std::string>> names_in(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (folder == nullptr) {
    return file_error(path, errno);
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder.get())) {
    names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<BlobFolder> BlobFolder::open(std::string path, Fault fault) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return file_error(path, errno);
  }
  HOLDFAST_TRY(const auto names, names_in(path));
  for (const std::string& name : names) {
    if (name.starts_with(kUnfinished) && ::unlink((path + "/" + name).c_str()) != 0) {
      return file_error(path, errno);
    }
  }
  return BlobFolder(std::move(path), std::move(fault));
}

std::string BlobFolder::file_of(const Digest& hash) const { return path_ + "/" + to_hex(hash); }

bool BlobFolder::has(const Digest& hash) const { return file_exists(file_of(hash)); }

Result<Digest> BlobFolder::put(std::span<const std::byte> content) {
  if (content.size() > kMaxBlobBytes) {
    return Error{ErrorCode::too_large, "a content has at most 1 GiB"};
  }
  const Digest hash = blake3(content);
  const std::string file = file_of(hash);
  if (file_exists(file)) {
    // The process that made it may have died before the name was on disk.
    HOLDFAST_CHECK(sync_path(path_, O_RDONLY | O_DIRECTORY));
    return hash;
  }
  const std::string unfinished = path_ + "/" + std::string(kUnfinished) + to_hex(hash);
  OwnedFd fd(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.is_open()) {
    return file_error(unfinished, errno);
  }
  HOLDFAST_CHECK(reach(BlobFault::created));
  HOLDFAST_CHECK(write_all(unfinished, fd.get(), content));
  HOLDFAST_CHECK(reach(BlobFault::written));
  if (::fsync(fd.get()) != 0) {
    return file_error(unfinished, errno);
  }
  HOLDFAST_CHECK(reach(BlobFault::synced));
  if (::rename(unfinished.c_str(), file.c_str()) != 0) {
    return file_error(file, errno);
  }
  HOLDFAST_CHECK(sync_path(path_, O_RDONLY | O_DIRECTORY));
  HOLDFAST_CHECK(reach(BlobFault::renamed));
  return hash;
}

Result<std::vector<std::byte>> BlobFolder::get(const Digest& hash) const {
  const std::string file = file_of(hash);
  const OwnedFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
    return errno == ENOENT ? Error{ErrorCode::not_found, "no content " + to_hex(hash)}
                           : file_error(file, errno);
  }
  std::vector<std::byte> content(static_cast<std::size_t>(status.st_size));
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = ::read(fd.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno != EINTR) {
      return file_error(file, errno);
    }
    if (got == 0) {
      break;
    }
    size += got < 0 ? 0 : static_cast<std::size_t>(got);
  }
  if (size != content.size() || blake3(content) != hash) {
    return Error{ErrorCode::corrupt_log, file + " does not have the content of its name"};
  }
  return content;
}

Result<void> BlobFolder::remove(const Digest& hash) {
  const std::string file = file_of(hash);
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) {
    return file_error(file, errno);
  }
  return sync_path(path_, O_RDONLY | O_DIRECTORY);
}

Result<std::vector<Digest>> BlobFolder::list() const {
  HOLDFAST_TRY(const auto names, names_in(path_));
  std::vector<Digest> hashes;
  for (const std::string& name : names) {
    const auto bytes = from_hex(name);
    if (bytes.ok() && bytes.value().size() == Digest{}.size()) {
      std::copy(bytes.value().begin(), bytes.value().end(), hashes.emplace_back().begin());
    }
  }
  return hashes;
}

}  // namespace holdfast::mesh
