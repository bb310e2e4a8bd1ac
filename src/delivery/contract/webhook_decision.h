// What follows an attempt to deliver a message to a webhook: what the response means, when the next
// attempt is due, whether the endpoint is left alone for a while, and whether it is disabled.
//
// Two clocks run: each delivery has its schedule, and the endpoint has a circuit breaker. After
// consecutive failures the breaker holds the endpoint: nothing is sent to it, and no delivery loses
// an attempt. Then one delivery probes it, and its outcome closes the breaker or holds again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/fields.h"

namespace holdfast::delivery {

// interrupted: the broker ended before it knew the outcome.
HOLDFAST_ENUM(WebhookOutcome, delivered, redirected, gone, throttled, rejected, failed, unreachable,
              untrusted, timed_out, broken, forbidden_address, interrupted);

// The meaning of a status: only 2xx delivers, and a redirect is a failure.
WebhookOutcome outcome_of_status(int status);

HOLDFAST_ENUM(WebhookState, active, disabled);
// Why an endpoint is disabled: by an operator, by its answer 410, or after days of failures.
HOLDFAST_ENUM(DisableReason, by_operator, gone, failing);

// What is known of an endpoint. A new one, and one that is enabled again, has none of it.
struct EndpointHealth {
  std::uint32_t consecutive_failures = 0;
  std::optional<TimeMs> failing_since = {};  // the first failure after the last success
  TimeMs hold_until = {};                    // nothing is sent before
  std::int64_t hold_ms = 0;                  // how long the breaker has held the last time

  friend bool operator==(const EndpointHealth&, const EndpointHealth&) = default;
};

HOLDFAST_ENUM(BreakerState, closed, open, half_open);
BreakerState breaker_of(const EndpointHealth& health, TimeMs now);

inline constexpr std::int64_t kSecondsMs = 1000;
inline constexpr std::int64_t kMinutesMs = 60 * kSecondsMs;
inline constexpr std::int64_t kHoursMs = 60 * kMinutesMs;
inline constexpr std::int64_t kDaysMs = 24 * kHoursMs;

// From a failure to the next attempt. After as many failures and one more a delivery is dead.
inline constexpr std::array<std::int64_t, 7> kWebhookSchedule{
    5 * kSecondsMs, 5 * kMinutesMs, 30 * kMinutesMs, 2 * kHoursMs,
    5 * kHoursMs,   10 * kHoursMs,  10 * kHoursMs};
inline constexpr std::uint32_t kBreakerFailures = 5;
inline constexpr std::int64_t kFirstHoldMs = 30 * kSecondsMs;
inline constexpr std::int64_t kLongestHoldMs = 10 * kMinutesMs;
inline constexpr std::int64_t kLongestRetryAfterMs = 24 * kHoursMs;
inline constexpr std::int64_t kFailingMs = 5 * kDaysMs;
// A delivery that was interrupted so often is dead: it may be what ends the broker.
inline constexpr std::uint32_t kMostInterruptions = 100;

// The time with up to a fifth more, so that what failed together is not tried together.
std::int64_t with_jitter(std::int64_t time_ms, std::uint64_t random);

// How many deliveries may be on their way to an endpoint; limit: its own.
std::uint32_t most_in_flight(const EndpointHealth& health, std::uint32_t limit, TimeMs now);

struct WebhookAttempt {
  WebhookOutcome outcome = WebhookOutcome::failed;
  std::optional<std::int64_t> retry_after_ms = {};  // of the response
  std::uint32_t failures = 0;                       // of the delivery, before this attempt
  std::uint64_t random = 0;
};

enum class WebhookProgress : std::uint8_t { delivered, queued, dead };

struct WebhookVerdict {
  WebhookProgress progress = WebhookProgress::queued;
  std::uint32_t failures = 0;
  TimeMs next_attempt_at = {};  // of a queued one
  EndpointHealth health = {};   // from now on
  std::optional<DisableReason> disable = {};
};

// Not for interrupted attempts.
WebhookVerdict decide_after_attempt(const EndpointHealth& health, const WebhookAttempt& attempt,
                                    TimeMs now);

// The time that a header Retry-After names: seconds, or a date, which the caller has parsed.
std::optional<std::int64_t> retry_after_ms(std::string_view header,
                                           std::optional<std::int64_t> date_s, TimeMs now);

}  // namespace holdfast::delivery
