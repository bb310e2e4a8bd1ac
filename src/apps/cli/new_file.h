// NewFile: a file that appears under its name only when it is complete and on disk.
#pragma once

#include <memory>
#include <string>

#include "holdfast/result.h"

namespace holdfast {

// Before long work: already_exists when there is one, unless it may be replaced.
Result<void> check_new_file(const std::string& path, bool replace);

class NewFile {
 public:
  // Under another name beside it. not_found, permission_denied, disk_full, io_error.
  static Result<std::unique_ptr<NewFile>> create(const std::string& path);
  // Takes it away unless it was finished.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  [[nodiscard]] int descriptor() const { return fd_; }
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  [[nodiscard]] Error error(int number) const;

  // Everything that was written is on disk.
  Result<void> sync();
  // After sync: from now on it has its name.
  Result<void> finish();

 private:
  explicit NewFile(const std::string& path);

  [[nodiscard]] Result<void> sync_directory() const;

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace holdfast
