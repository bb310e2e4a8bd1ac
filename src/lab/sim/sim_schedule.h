// Schedule: virtual time. Events happen in the order of their times; events that are due at the
// same time happen in the order in which they were scheduled.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"

namespace holdfast::sim {

// Virtual time is counted in microseconds.
inline constexpr std::int64_t kMs = 1000;
inline constexpr std::int64_t kSecond = 1'000'000;

class Schedule {
 public:
  [[nodiscard]] std::int64_t now_us() const { return now_us_; }
  void after(std::int64_t delay_us, std::function<void()> what) {
    waiting_.emplace(std::pair(now_us_ + delay_us, ++count_), std::move(what));
  }
  // Advances to the next event and executes it; false if there is none.
  bool step() {
    if (waiting_.empty()) {
      return false;
    }
    auto next = waiting_.extract(waiting_.begin());
    now_us_ = next.key().first;
    next.mapped()();
    return true;
  }

 private:
  std::int64_t now_us_ = 0;
  std::uint64_t count_ = 0;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> waiting_;
};

// The clock of one process. It can start with an offset, drift, and be set.
class SimClock final : public Clock {
 public:
  static constexpr std::int64_t kBegin = 1'700'000'000'000;

  explicit SimClock(const Schedule& schedule) : schedule_(schedule) {}
  TimeMs now() override {
    const std::int64_t us = schedule_.now_us() + schedule_.now_us() / 1'000'000 * drift_ppm_;
    return TimeMs{kBegin + us / 1000 + offset_ms_};
  }
  void set(std::int64_t offset_ms, std::int64_t drift_ppm) {
    offset_ms_ = offset_ms;
    drift_ppm_ = drift_ppm;
  }
  [[nodiscard]] std::int64_t offset_ms() const { return offset_ms_; }

 private:
  const Schedule& schedule_;
  std::int64_t offset_ms_ = 0;
  std::int64_t drift_ppm_ = 0;
};

}  // namespace holdfast::sim
