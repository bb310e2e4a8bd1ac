// What commands that serve until they are stopped share: the event that ends them, and the log on
// standard error.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::cli {

// Waits for a signal, or for the failure of the store.
class StopEvent {
 public:
  void set(std::optional<Error> why = std::nullopt) {
    const std::scoped_lock lock(mutex_);
    set_ = true;
    failure_ = std::move(why);
    changed_.notify_all();
  }
  std::optional<Error> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return set_; });
    return failure_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
  std::optional<Error> failure_;
};

// To standard error, as it is.
void write_log_line(std::string_view line);

}  // namespace holdfast::cli
