#include "delivery/contract/webhook_decision.h"

#include <algorithm>

#include "base/text.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::int64_t kJitterParts = 5;

bool waits_for_server(WebhookOutcome outcome) { return outcome == WebhookOutcome::throttled; }

// The breaker holds when the failures are enough, and twice as long after each probe that fails. A
// failure of what was on its way when it began to hold changes nothing.
void count_failure(EndpointHealth& health, const WebhookAttempt& attempt, TimeMs now) {
  const BreakerState before = breaker_of(health, now);
  ++health.consecutive_failures;
  if (!health.failing_since.has_value()) {
    health.failing_since = now;
  }
  if (before != BreakerState::open && health.consecutive_failures >= kBreakerFailures) {
    health.hold_ms = before == BreakerState::half_open
                         ? std::min(2 * std::max(health.hold_ms, kFirstHoldMs), kLongestHoldMs)
                         : kFirstHoldMs;
    health.hold_until = TimeMs{now.value + with_jitter(health.hold_ms, attempt.random)};
  }
}

}  // namespace

WebhookOutcome outcome_of_status(int status) {
  constexpr int kClass = 100;
  constexpr int kGone = 410;
  constexpr int kTooMany = 429;
  constexpr int kUnavailable = 503;
  if (status == kGone) {
    return WebhookOutcome::gone;
  }
  if (status == kTooMany || status == kUnavailable) {
    return WebhookOutcome::throttled;
  }
  switch (status / kClass) {
    case 2:
      return WebhookOutcome::delivered;
    case 3:
      return WebhookOutcome::redirected;
    case 4:
      return WebhookOutcome::rejected;
    default:
      return WebhookOutcome::failed;
  }
}

BreakerState breaker_of(const EndpointHealth& health, TimeMs now) {
  if (health.consecutive_failures < kBreakerFailures) {
    return BreakerState::closed;
  }
  return now < health.hold_until ? BreakerState::open : BreakerState::half_open;
}

std::int64_t with_jitter(std::int64_t time_ms, std::uint64_t random) {
  HOLDFAST_ASSERT(time_ms >= 0);
  const auto most = static_cast<std::uint64_t>(time_ms / kJitterParts);
  return time_ms + static_cast<std::int64_t>(random % (most + 1));
}

std::uint32_t most_in_flight(const EndpointHealth& health, std::uint32_t limit, TimeMs now) {
  if (now < health.hold_until) {
    return 0;
  }
  return breaker_of(health, now) == BreakerState::closed ? limit : 1;
}

WebhookVerdict decide_after_attempt(const EndpointHealth& health, const WebhookAttempt& attempt,
                                    TimeMs now) {
  HOLDFAST_ASSERT(attempt.outcome != WebhookOutcome::interrupted);
  WebhookVerdict verdict;
  if (attempt.outcome == WebhookOutcome::delivered) {
    verdict.progress = WebhookProgress::delivered;
    return verdict;  // the endpoint is well
  }
  verdict.health = health;
  count_failure(verdict.health, attempt, now);
  verdict.failures = attempt.failures + 1;
  const std::int64_t wait =
      std::clamp<std::int64_t>(attempt.retry_after_ms.value_or(0), 0, kLongestRetryAfterMs);
  if (waits_for_server(attempt.outcome)) {
    verdict.health.hold_until = std::max(verdict.health.hold_until, TimeMs{now.value + wait});
  }
  if (attempt.failures >= kWebhookSchedule.size()) {
    verdict.progress = WebhookProgress::dead;
  } else {
    const std::int64_t pause = with_jitter(kWebhookSchedule.at(attempt.failures), attempt.random);
    verdict.next_attempt_at =
        TimeMs{now.value + std::max(pause, waits_for_server(attempt.outcome) ? wait : 0)};
  }
  if (attempt.outcome == WebhookOutcome::gone) {
    verdict.disable = DisableReason::gone;
  } else if (now.value - verdict.health.failing_since->value >= kFailingMs) {
    verdict.disable = DisableReason::failing;
  }
  return verdict;
}

std::optional<std::int64_t> retry_after_ms(std::string_view header,
                                           std::optional<std::int64_t> date_s, TimeMs now) {
  if (const auto seconds = parse_decimal(header); seconds.has_value()) {
    constexpr std::uint64_t kMost = kLongestRetryAfterMs / kSecondsMs;
    return static_cast<std::int64_t>(std::min(*seconds, kMost)) * kSecondsMs;
  }
  if (!date_s.has_value()) {
    return std::nullopt;
  }
  return std::max<std::int64_t>(*date_s - now.value / kSecondsMs, 0) * kSecondsMs;
}

}  // namespace holdfast::delivery
