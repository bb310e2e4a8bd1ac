// BootClock: a clock that starts at the wall time and never goes backwards or jumps: it continues
// with the time since the boot of the machine, which also counts while it is suspended.
#pragma once

#include <time.h>

#include "base/clock.h"

namespace holdfast::delivery {

class BootClock final : public Clock {
 public:
  explicit BootClock(Clock& wall) : ahead_ms_(wall.now().value - since_boot_ms()) {}

  TimeMs now() override { return TimeMs{since_boot_ms() + ahead_ms_}; }

 private:
  static std::int64_t since_boot_ms() {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  }

  const std::int64_t ahead_ms_;
};

}  // namespace holdfast::delivery
