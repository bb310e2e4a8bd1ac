#include "delivery/contract/max_age.h"

#include <fmt/format.h>

#include <algorithm>

#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint32_t kMinMarginHours = 24;
constexpr std::int64_t kHourMs = 3'600'000;

std::uint32_t window_hours(const DedupeWindow& window) {
  HOLDFAST_ASSERT(window.retention_days >= kMinRetentionDays);
  HOLDFAST_ASSERT(window.retention_days <= kMaxRetentionDays);
  return window.retention_days * 24;
}

std::uint32_t margin_hours(std::uint32_t hours) {
  return std::max(kMinMarginHours, (hours + 9) / 10);
}

}  // namespace

Result<std::uint32_t> max_age_hours(const DedupeWindow& window, const MaxAgeSettings& settings) {
  if (window.mode == DedupeMode::permanent) {
    return settings.override_hours.value_or(std::min(settings.default_hours, kMaxAgeCapHours));
  }
  if (window.retention_days < kMinRetentionDays || window.retention_days > kMaxRetentionDays) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the broker keeps dedupe rows for {} days; {} to {} are supported",
                             window.retention_days, kMinRetentionDays, kMaxRetentionDays)}
        .with("error", kBelowFloor);
  }
  const std::uint32_t hours = window_hours(window);
  if (!settings.override_hours.has_value()) {
    return std::min(hours - margin_hours(hours), kMaxAgeCapHours);
  }
  const std::uint32_t highest = *highest_override_hours(window);
  if (*settings.override_hours > highest) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the maximum age of {} hours is above {}, the dedupe window of the "
                             "broker less {} hours; lower max_age_hours_override",
                             *settings.override_hours, highest, kMinMarginHours)}
        .with("error", kAboveWindow);
  }
  return *settings.override_hours;
}

std::optional<std::uint32_t> highest_override_hours(const DedupeWindow& window) {
  if (window.mode == DedupeMode::permanent) {
    return std::nullopt;
  }
  return window_hours(window) - kMinMarginHours;
}

bool is_stale_retry(TimeMs first_sent_at, TimeMs now, const DedupeWindow& window) {
  const auto highest = highest_override_hours(window);
  return highest.has_value() &&
         first_sent_at.value < now.value - static_cast<std::int64_t>(*highest) * kHourMs;
}

}  // namespace holdfast::delivery
