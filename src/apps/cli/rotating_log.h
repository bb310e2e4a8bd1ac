// RotatingLog: the log file of a process in the background. When it has reached its size, it is
// renamed to PATH.1, older ones to PATH.2 and so on; the oldest, and those of more than 14 days,
// are removed. Standard output and error go to the file too.
//
// Any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "holdfast/result.h"

namespace holdfast::cli {

struct LogLimits {
  std::size_t file_bytes = 20U << 20U;
  int old_files = 4;
  int days = 14;
};

class RotatingLog {
 public:
  explicit RotatingLog(std::string path, LogLimits limits = {})
      : path_(std::move(path)), limits_(limits) {}

  // Appends to the file of before. io_error.
  Result<void> open();
  // A line that cannot be written is lost.
  void write(std::string_view line);

 private:
  void rotate();
  [[nodiscard]] std::string old(int number) const { return path_ + "." + std::to_string(number); }

  const std::string path_;
  const LogLimits limits_;
  std::mutex mutex_;  // guards what follows
  OwnedFd file_;
  std::size_t bytes_ = 0;
};

}  // namespace holdfast::cli
