#include "storage/sqlite/sqlite_path.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace holdfast {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

bool file_exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

std::string real_file(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as many as the system follows
  std::filesystem::path at = path;
  std::error_code failed;
  for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(at, failed); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(at, failed);
    at = at.parent_path() / target;  // an absolute target replaces the rest
  }
  return at.string();
}

Error file_error(const std::string& path, int number) {
  const std::string why = std::strerror(number);
  switch (number) {
    case EACCES:
    case EPERM:
    case EROFS:
      return Error{ErrorCode::permission_denied, path + ": " + why};
    case ENOENT:
    case ENOTDIR:
      return Error{ErrorCode::not_found, path + ": " + why};
    default:
      return Error{ErrorCode::io_error, path + ": " + why};
  }
}

}  // namespace holdfast
