// How long an outbox keeps trying. A retry is safe only while the broker still holds the dedupe
// row of the first transmission, so the maximum age of a row ends before the dedupe window does.
//
// All arithmetic is in whole hours: the margin is a tenth of the window, rounded up, at least 24.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/fields.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

enum class DedupeMode : std::uint8_t { retention_scoped, permanent };

// How long a broker keeps dedupe rows.
struct DedupeWindow {
  DedupeMode mode = DedupeMode::retention_scoped;
  std::uint32_t retention_days = 365;  // of retention_scoped
};

inline constexpr std::int64_t kDayMs = 86'400'000;
inline constexpr std::uint32_t kMinRetentionDays = 7;
inline constexpr std::uint32_t kMaxRetentionDays = 36'500;
inline constexpr std::uint32_t kMaxAgeCapHours = 720;

struct MaxAgeSettings {
  std::uint32_t default_hours = 168;  // where the broker keeps rows for ever
  std::optional<std::uint32_t> override_hours;
};

inline constexpr std::string_view kBelowFloor = "feature_param_below_floor";
inline constexpr std::string_view kAboveWindow = "outbox_max_age_above_dedupe_window";

// How many hours after its first transmission a row may still be sent. The cap of 720 hours
// applies to what is derived, not to an override; an override must end 24 hours before the window.
// invalid_argument, whose field "error" is kBelowFloor or kAboveWindow.
Result<std::uint32_t> max_age_hours(const DedupeWindow& window, const MaxAgeSettings& settings);

// The largest override: the window less 24 hours. window.retention_days must not be below the
// minimum. No value: any override is safe.
std::optional<std::uint32_t> highest_override_hours(const DedupeWindow& window);

// Whether a message without a dedupe row may be one whose row was swept: first sent so long ago
// that no outbox within its limits would still send it. An override is never refused.
bool is_stale_retry(TimeMs first_sent_at, TimeMs now, const DedupeWindow& window);

}  // namespace holdfast::delivery

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<delivery::DedupeMode>[] = {"retention_scoped",
                                                                        "permanent"};

}  // namespace holdfast
