// How long something may take, and what ends it before: a time, or somebody in another thread.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "runs/steps/owned_fd.h"

namespace holdfast::client {

using Instant = std::chrono::steady_clock::time_point;

// A stop token as something poll can wait for.
class StopSignal {
 public:
  explicit StopSignal(const std::stop_token& stop) : stop_(stop) {
    if (!stop.stop_possible()) {
      return;
    }
    fd_ = OwnedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    callback_.emplace(stop, std::function<void()>([fd = fd_.get()] {
                        const std::uint64_t one = 1;
                        static_cast<void>(!write(fd, &one, sizeof one));
                      }));
  }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }  // -1: nobody can stop it
  [[nodiscard]] bool stopped() const { return stop_.stop_requested(); }

 private:
  std::stop_token stop_;
  OwnedFd fd_;
  std::optional<std::stop_callback<std::function<void()>>> callback_;
};

struct Limits {
  Instant until;
  const StopSignal& stop;
};

}  // namespace holdfast::client
