// NewFile: a file that appears under its name only when it is complete and on disk.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "base/owned_fd.h"
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

  [[nodiscard]] const std::string& temporary() const { return temporary_; }

  // Everything written is then on disk. Fails as `write` does, or as a write of a file.
  Result<void> write(const std::function<Result<void>(std::ostream&)>& write);
  // After write(): gives the file its name.
  Result<void> finish();

 private:
  explicit NewFile(const std::string& path);

  [[nodiscard]] Error error(int number) const;
  std::string path_;
  std::string temporary_;
  OwnedFd fd_;
};

}  // namespace holdfast::cli
