#include "storage/log/store_folder.h"

#include <unistd.h>

#include <filesystem>

namespace holdfast {

Result<void> check_folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return {};
  }
  const auto refused = [&](ErrorCode code, const std::string& why) {
    return Error{code, "cannot create " + path + ": " + why}.with("path", path);
  };
  if (std::filesystem::is_directory(folder, error)) {
    return euidaccess(folder.c_str(), W_OK | X_OK) == 0
               ? Result<void>()
               : refused(ErrorCode::permission_denied,
                         "the folder " + folder + " is not writable; choose another folder");
  }
  if (std::filesystem::exists(folder, error)) {
    return refused(ErrorCode::invalid_argument,
                   folder + " is not a folder; choose a path inside a folder");
  }
  return refused(ErrorCode::not_found, "the folder " + folder +
                                           " does not exist; create it (mkdir -p " + folder +
                                           "), or choose another folder");
}

}  // namespace holdfast
