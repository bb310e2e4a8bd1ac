// BenchFolder: a new folder for the files of a benchmark, under $TMPDIR or /var/tmp; removed with
// the object.
#pragma once

#include <string>
#include <utility>

#include "holdfast/result.h"

namespace holdfast {

class BenchFolder {
 public:
  // permission_denied.
  static Result<BenchFolder> create();
  BenchFolder(BenchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  BenchFolder& operator=(BenchFolder&&) = delete;
  ~BenchFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit BenchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// A new directory there, which the caller removes.
Result<std::string> make_temporary_directory();

}  // namespace holdfast
