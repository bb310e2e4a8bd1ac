// Time enters the system only through Clock, so that a simulator can control it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace holdfast {

// Milliseconds since 1970-01-01T00:00:00Z.
struct TimeMs {
  std::int64_t value = 0;
  friend auto operator<=>(const TimeMs&, const TimeMs&) = default;
};

class Clock {
 public:
  virtual ~Clock() = default;
  // May be called from any thread. Wall time: it can jump either way.
  virtual TimeMs now() = 0;
};

class SystemClock final : public Clock {
 public:
  TimeMs now() override;
};

// Moves only when a test advances it. Not thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimeMs start) : now_(start) {}
  TimeMs now() override { return now_; }
  void advance_ms(std::int64_t by) { now_.value += by; }

 private:
  TimeMs now_;
};

// "2026-01-31T23:59:59.123Z"
std::string format_time(TimeMs time);

}  // namespace holdfast
