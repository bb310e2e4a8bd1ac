#include "lab/bench/bench_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace holdfast {

namespace {

// /tmp is often in memory, so its speed would mean nothing.
std::string temporary_parent() {
  const char* const chosen = getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/var/tmp";
}

}  // namespace

Result<std::string> make_temporary_directory() {
  std::string path = temporary_parent() + "/holdfast_bench_XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Error{ErrorCode::permission_denied,
                 fmt::format("cannot create directory {}: {}", path, std::strerror(errno))};
  }
  return path;
}

Result<BenchFolder> BenchFolder::create() {
  HOLDFAST_TRY(std::string path, make_temporary_directory());
  return BenchFolder(std::move(path));
}

BenchFolder::~BenchFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace holdfast
