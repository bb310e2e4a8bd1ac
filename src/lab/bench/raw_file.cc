#include "lab/bench/raw_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace holdfast {

namespace {

Error raw_error(std::string_view what) {
  return Error{ErrorCode::io_error,
               fmt::format("raw file of the benchmark: {}: {}", what, std::strerror(errno))};
}

// The fraction of an open file that is in memory; 1 if the system does not report it.
double cached_part(int descriptor, std::size_t size) {
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    return 1;
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((size + page - 1) / page);
  const bool reported = mincore(mapped, size, pages.data()) == 0;
  munmap(mapped, size);
  const auto cached =
      std::count_if(pages.begin(), pages.end(), [](unsigned char flags) { return flags & 1U; });
  return reported ? static_cast<double>(cached) / static_cast<double>(pages.size()) : 1;
}

}  // namespace

Result<std::unique_ptr<RawFile>> RawFile::create(const std::string& directory) {
  std::string path = directory + "/holdfast_raw_XXXXXX";
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0) {
    return raw_error("cannot create it");
  }
  unlink(path.c_str());
  return std::unique_ptr<RawFile>(new RawFile(descriptor));
}

RawFile::~RawFile() { close(fd_); }

Result<void> RawFile::append_and_sync(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd_, bytes.data(), bytes.size());
    if (wrote < 0) {
      return raw_error("cannot write");
    }
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (fdatasync(fd_) != 0) {
    return raw_error("cannot sync");
  }
  return {};
}

bool drop_page_cache(const std::string& path) {
  constexpr double kStillCold = 0.01;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return false;
  }
  struct stat status {};
  // Only clean pages can be dropped, so dirty ones are written first.
  const bool advised = fstat(descriptor, &status) == 0 && status.st_size > 0 &&
                       fsync(descriptor) == 0 &&
                       posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0;
  const bool cold =
      advised && cached_part(descriptor, static_cast<std::size_t>(status.st_size)) < kStillCold;
  close(descriptor);
  return cold;
}

}  // namespace holdfast
