#include "base/clock.h"

#include <fmt/format.h>

#include <chrono>

namespace holdfast {

TimeMs SystemClock::now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return TimeMs{std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count()};
}

std::string format_time(TimeMs time) {
  const auto whole =
      std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(time.value));
  const auto rest_ms = time.value - std::chrono::milliseconds(whole).count();
  const std::chrono::sys_days day{std::chrono::floor<std::chrono::days>(whole)};
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{whole - day.time_since_epoch()};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     rest_ms);
}

}  // namespace holdfast
