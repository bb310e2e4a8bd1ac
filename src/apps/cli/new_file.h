// NewFile: a file that appears under its name only when it is complete and on disk.
#pragma once

#include <memory>
#include <string>

#include "holdfast/result.h"

namespace holdfast::cli {

// Checked before long work. Fails with already_exists unless the file may be replaced.
Result<void> check_new_file(const std::string& path, bool replace);

class NewFile {
 public:
  // Under a temporary name beside it. Fails with not_found, permission_denied, disk_full or
  // io_error.
  static Result<std::unique_ptr<NewFile>> create(const std::string& path);
  // Removes the file unless finish() succeeded.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  [[nodiscard]] int descriptor() const { return fd_; }
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  [[nodiscard]] Error error(int number) const;

  // Everything written is then on disk.
  Result<void> sync();
  // After sync(): gives the file its name.
  Result<void> finish();

 private:
  explicit NewFile(const std::string& path);

  [[nodiscard]] Result<void> sync_directory() const;

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace holdfast::cli
