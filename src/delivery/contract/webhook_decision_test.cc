// The numbers in the names are those of docs/delivery-tests.md.
#include "delivery/contract/webhook_decision.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "delivery/contract/webhook_signature.h"

namespace holdfast::delivery::webhook_decision_test {
namespace {

constexpr TimeMs kNow{1'700'000'000'000};

TimeMs later(std::int64_t by_ms) { return TimeMs{kNow.value + by_ms}; }

WebhookVerdict fail(const EndpointHealth& health, std::uint32_t failures = 0, TimeMs now = kNow,
                    WebhookOutcome outcome = WebhookOutcome::failed,
                    std::optional<std::int64_t> retry_after = {}) {
  return decide_after_attempt(health, {outcome, retry_after, failures, 0}, now);
}

EndpointHealth after_failures(std::uint32_t count, TimeMs now = kNow) {
  EndpointHealth health;
  for (std::uint32_t i = 0; i < count; ++i) {
    health = fail(health, 0, now).health;
  }
  return health;
}

WebhookSecret secret(const std::string& text) { return WebhookSecret::parse(text).value(); }

const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

// Of the test suite of Standard Webhooks.
TEST(WebhookSignature, WH_01_the_vector_of_standard_webhooks) {
  EXPECT_EQ(sign_webhook(std::array{secret(kSecret)}, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                         R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, WH_01_each_byte_counts) {
  const auto sign = [](std::string_view id, std::int64_t at, std::string_view body) {
    return sign_webhook(std::array{secret(kSecret)}, id, at, body);
  };
  const std::string one = sign("a", 1, "{}");
  EXPECT_NE(sign("b", 1, "{}"), one);
  EXPECT_NE(sign("a", 2, "{}"), one);
  EXPECT_NE(sign("a", 1, "{} "), one);
  EXPECT_NE(sign("a", 1, std::string_view("{}\0", 3)), one);
}

TEST(WebhookSignature, WH_06_each_secret_signs) {
  const WebhookSecret other = WebhookSecret::from_bytes(as_bytes(std::string(32, 'x')));
  const auto both = std::array{other, secret(kSecret)};
  const std::string signatures = sign_webhook(both, "a", 1, "{}");
  EXPECT_EQ(signatures, sign_webhook(std::array{other}, "a", 1, "{}") + " " +
                            sign_webhook(std::array{secret(kSecret)}, "a", 1, "{}"));
}

TEST(WebhookSignature, secrets_have_one_form) {
  EXPECT_EQ(secret(kSecret).text(), kSecret);
  const std::string short_key = "whsec_" + std::string(28, 'A') + "AA==";
  for (const std::string& text :
       {std::string(), std::string("whsec_"), kSecret.substr(6), kSecret + "=", short_key,
        "whsec_" + std::string(88, 'A'), "WHSEC_" + kSecret.substr(6)}) {
    const auto parsed = WebhookSecret::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    if (text.size() > 10) {
      EXPECT_EQ(parsed.error().text().find(text.substr(6)), std::string::npos)
          << "a secret is never shown";
    }
  }
}

TEST(WebhookSignature, WH_05_the_id_depends_on_message_and_endpoint_only) {
  EXPECT_EQ(webhook_id_of("E", "M"), "msg_M_E");
}

TEST(WebhookDecision, WH_02_only_2xx_delivers) {
  for (int status = 100; status < 1000; ++status) {
    const WebhookOutcome outcome = outcome_of_status(status);
    EXPECT_EQ(outcome == WebhookOutcome::delivered, status >= 200 && status < 300) << status;
    EXPECT_EQ(outcome == WebhookOutcome::redirected, status >= 300 && status < 400) << status;
    EXPECT_EQ(outcome == WebhookOutcome::gone, status == 410) << status;
    EXPECT_EQ(outcome == WebhookOutcome::throttled, status == 429 || status == 503) << status;
    EXPECT_EQ(outcome == WebhookOutcome::rejected,
              status >= 400 && status < 500 && status != 410 && status != 429)
        << status;
  }
}

TEST(WebhookDecision, WH_04_each_failure_has_its_pause_and_the_last_is_the_end) {
  const std::vector<std::int64_t> seconds{5, 300, 1800, 7200, 18000, 36000, 36000};
  for (std::uint32_t failures = 0; failures < seconds.size(); ++failures) {
    const WebhookVerdict verdict = fail({}, failures);
    EXPECT_EQ(verdict.progress, WebhookProgress::queued);
    EXPECT_EQ(verdict.failures, failures + 1);
    EXPECT_EQ(verdict.next_attempt_at, later(seconds[failures] * 1000)) << failures;
  }
  EXPECT_EQ(fail({}, 7).progress, WebhookProgress::dead);
  EXPECT_EQ(fail({}, 7).failures, 8U);
}

TEST(WebhookDecision, WH_04_jitter_adds_at_most_a_fifth) {
  std::int64_t least = INT64_MAX;
  std::int64_t most = 0;
  for (std::uint64_t random = 0; random < 3000; ++random) {
    const std::int64_t time = with_jitter(5000, random);
    least = std::min(least, time);
    most = std::max(most, time);
  }
  EXPECT_EQ(least, 5000);
  EXPECT_EQ(most, 6000);
  EXPECT_EQ(with_jitter(0, UINT64_MAX), 0);
}

TEST(WebhookDecision, WH_03_gone_disables_at_once_and_the_delivery_waits) {
  const WebhookVerdict verdict = fail({}, 0, kNow, WebhookOutcome::gone);
  EXPECT_EQ(verdict.disable, DisableReason::gone);
  EXPECT_EQ(verdict.progress, WebhookProgress::queued);
}

TEST(WebhookDecision, WH_03_retry_after_delays_the_delivery_and_holds_the_endpoint) {
  const WebhookVerdict verdict = fail({}, 0, kNow, WebhookOutcome::throttled, 90 * kSecondsMs);
  EXPECT_EQ(verdict.next_attempt_at, later(90 * kSecondsMs));
  EXPECT_EQ(most_in_flight(verdict.health, 4, later(89'999)), 0U);
  EXPECT_EQ(most_in_flight(verdict.health, 4, later(90'000)), 4U);
  const WebhookVerdict sooner = fail({}, 1, kNow, WebhookOutcome::throttled, kSecondsMs);
  EXPECT_EQ(sooner.next_attempt_at, later(300 * kSecondsMs)) << "never before the schedule";
  const WebhookVerdict year = fail({}, 0, kNow, WebhookOutcome::throttled, 365 * kDaysMs);
  EXPECT_EQ(year.next_attempt_at, later(kDaysMs)) << "a day at most";
  const WebhookVerdict other = fail({}, 0, kNow, WebhookOutcome::failed, 90 * kSecondsMs);
  EXPECT_EQ(other.next_attempt_at, later(5 * kSecondsMs)) << "of 429 and 503 only";
}

TEST(WebhookDecision, WH_03_the_forms_of_retry_after) {
  const std::int64_t now_s = kNow.value / 1000;
  EXPECT_EQ(retry_after_ms("120", {}, kNow), 120'000);
  EXPECT_EQ(retry_after_ms("0", {}, kNow), 0);
  EXPECT_EQ(retry_after_ms("99999999999", {}, kNow), kDaysMs);
  EXPECT_EQ(retry_after_ms("a date", now_s + 60, kNow), 60'000);
  EXPECT_EQ(retry_after_ms("a date", now_s - 60, kNow), 0);
  EXPECT_EQ(retry_after_ms("", {}, kNow), std::nullopt);
  EXPECT_EQ(retry_after_ms("-1", {}, kNow), std::nullopt);
}

TEST(WebhookDecision, WH_08_the_breaker_holds_after_five_failures_in_a_row) {
  EXPECT_EQ(breaker_of(after_failures(4), kNow), BreakerState::closed);
  EXPECT_EQ(most_in_flight(after_failures(4), 7, kNow), 7U);
  const EndpointHealth open = after_failures(5);
  EXPECT_EQ(breaker_of(open, kNow), BreakerState::open);
  EXPECT_EQ(most_in_flight(open, 7, later(29'999)), 0U);
  EXPECT_EQ(breaker_of(open, later(30'000)), BreakerState::half_open);
  EXPECT_EQ(most_in_flight(open, 7, later(30'000)), 1U) << "one probe";
}

TEST(WebhookDecision, WH_08_a_success_closes_the_breaker) {
  const WebhookVerdict verdict = decide_after_attempt(
      after_failures(9), {WebhookOutcome::delivered, {}, 3, 0}, later(kMinutesMs));
  EXPECT_EQ(verdict.progress, WebhookProgress::delivered);
  EXPECT_EQ(verdict.health, EndpointHealth{});
}

TEST(WebhookDecision, WH_08_each_failed_probe_doubles_the_hold_to_ten_minutes) {
  EndpointHealth health = after_failures(5);
  TimeMs now = health.hold_until;
  for (const std::int64_t seconds : {60, 120, 240, 480, 600, 600}) {
    health = fail(health, 0, now).health;
    EXPECT_EQ(health.hold_until.value - now.value, seconds * 1000);
    now = health.hold_until;
  }
}

TEST(WebhookDecision, WH_08_what_was_on_its_way_does_not_prolong_the_hold) {
  const EndpointHealth open = after_failures(5);
  EXPECT_EQ(fail(open, 0, later(20'000)).health.hold_until, open.hold_until);
}

TEST(WebhookDecision, WH_09_five_days_of_nothing_but_failures_disable) {
  const EndpointHealth health = after_failures(1);
  EXPECT_EQ(fail(health, 0, later(5 * kDaysMs - 1)).disable, std::nullopt);
  EXPECT_EQ(fail(health, 0, later(5 * kDaysMs)).disable, DisableReason::failing);
  const WebhookVerdict well =
      decide_after_attempt(health, {WebhookOutcome::delivered, {}, 0, 0}, later(kDaysMs));
  EXPECT_EQ(fail(well.health, 0, later(5 * kDaysMs)).disable, std::nullopt)
      << "a success in between";
}

// Every outcome and number of failures, at every state of the breaker: the same laws.
TEST(WebhookDecision, the_laws_hold_for_every_input) {
  for (std::size_t o = 0; o < std::size(kEnumNames<WebhookOutcome>); ++o) {
    const auto outcome = static_cast<WebhookOutcome>(o);
    if (outcome == WebhookOutcome::interrupted) {
      continue;
    }
    for (std::uint32_t failures = 0; failures <= kWebhookSchedule.size(); ++failures) {
      for (const std::uint32_t before : {0U, 1U, 4U, 5U, 9U}) {
        for (const std::int64_t at : {std::int64_t{0}, 40 * kSecondsMs, 6 * kDaysMs}) {
          const EndpointHealth health = after_failures(before);
          const WebhookVerdict verdict = fail(health, failures, later(at), outcome, kMinutesMs);
          const bool good = outcome == WebhookOutcome::delivered;
          EXPECT_EQ(verdict.progress == WebhookProgress::delivered, good);
          EXPECT_EQ(verdict.progress == WebhookProgress::dead, !good && failures == 7);
          EXPECT_EQ(verdict.health.consecutive_failures, good ? 0 : before + 1);
          EXPECT_EQ(verdict.health.failing_since.has_value(), !good);
          if (verdict.progress == WebhookProgress::queued) {
            EXPECT_GT(verdict.next_attempt_at, later(at));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::delivery::webhook_decision_test
