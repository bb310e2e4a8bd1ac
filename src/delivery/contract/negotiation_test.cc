// Feature negotiation and the maximum age that follows from it.
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "delivery/contract/features.h"
#include "delivery/contract/max_age.h"
#include "tests/support/must.h"

namespace holdfast::delivery::negotiation_test {
namespace {

DedupeWindow days(std::uint32_t count) { return {DedupeMode::retention_scoped, count}; }

std::string error_name(const Result<std::uint32_t>& result) {
  return result.ok() ? "ok" : std::string(result.error().field("error"));
}

TEST(MaxAge, MA_01_the_vectors) {
  struct Vector {
    std::uint32_t days, max_age_hours, highest_override_hours;
  };
  // From 33 days on the cap of 720 hours counts: 90 and 365 days derive 1944 and 7884.
  for (const Vector& v : std::vector<Vector>{{7, 144, 144},
                                             {8, 168, 168},
                                             {10, 216, 216},
                                             {11, 237, 240},
                                             {14, 302, 312},
                                             {30, 648, 696},
                                             {33, 712, 768},
                                             {34, 720, 792},
                                             {90, 720, 2136},
                                             {365, 720, 8736}}) {
    EXPECT_EQ(must(max_age_hours(days(v.days), {})), v.max_age_hours) << v.days;
    EXPECT_EQ(highest_override_hours(days(v.days)), v.highest_override_hours) << v.days;
  }
}

TEST(MaxAge, H_12_what_is_derived_ends_strictly_before_the_window_and_at_the_cap) {
  for (std::uint32_t count = kMinRetentionDays; count <= 3650; ++count) {
    const std::uint32_t hours = must(max_age_hours(days(count), {}));
    EXPECT_LE(hours, kMaxAgeCapHours);
    EXPECT_LE(hours, *highest_override_hours(days(count)));
    EXPECT_LE(hours + 24, count * 24);
    EXPECT_LE(hours * 10, count * 24 * 9) << "a tenth of the window is left";
  }
}

TEST(MaxAge, MA_02_six_days_are_below_the_floor) {
  EXPECT_EQ(error_name(max_age_hours(days(6), {})), kBelowFloor);
  EXPECT_EQ(error_name(max_age_hours(days(0), {})), kBelowFloor);
  EXPECT_EQ(error_name(max_age_hours(days(UINT32_MAX), {})), kBelowFloor);
}

TEST(MaxAge, MA_03_an_override_at_the_bound_is_accepted_also_above_the_cap) {
  EXPECT_EQ(must(max_age_hours(days(90), {.override_hours = 2136})), 2136U);
  EXPECT_EQ(must(max_age_hours(days(7), {.override_hours = 1})), 1U);
}

TEST(MaxAge, MA_04_an_override_above_the_bound_is_refused) {
  EXPECT_EQ(error_name(max_age_hours(days(90), {.override_hours = 2137})), kAboveWindow);
  EXPECT_EQ(error_name(max_age_hours(days(7), {.override_hours = 145})), kAboveWindow);
}

TEST(MaxAge, MA_05_permanent_has_168_hours_by_default_and_at_most_720) {
  const DedupeWindow permanent{DedupeMode::permanent, 0};
  EXPECT_EQ(must(max_age_hours(permanent, {})), 168U);
  EXPECT_EQ(must(max_age_hours(permanent, {.default_hours = 1000, .override_hours = {}})), 720U);
  EXPECT_EQ(must(max_age_hours(permanent, {.override_hours = 1000})), 1000U);
  EXPECT_FALSE(highest_override_hours(permanent).has_value());
}

TEST(MaxAge, H_11_a_retry_from_before_the_window_is_stale) {
  constexpr std::int64_t kHourMs = 3'600'000;
  const TimeMs now{10'000 * kHourMs};
  const auto hours_ago = [&](std::int64_t hours) { return TimeMs{now.value - hours * kHourMs}; };
  EXPECT_FALSE(is_stale_retry(hours_ago(144), now, days(7)));
  EXPECT_TRUE(is_stale_retry(TimeMs{hours_ago(144).value - 1}, now, days(7)));
  EXPECT_FALSE(is_stale_retry(hours_ago(-5), now, days(7))) << "the sender's clock is ahead";
  EXPECT_FALSE(is_stale_retry(TimeMs{0}, now, {DedupeMode::permanent, 0}));
}

const std::vector<std::string> kAll{std::string(kDedupeFeature),
                                    std::string(kConnectionPolicyFeature),
                                    std::string(kKeyRotationFeature), std::string(kKeyEpochFeature),
                                    std::string(kMaxPayloadFeature)};

NegotiationResponse full_response() { return answer_negotiation({kAll, {}}, BrokerFeatures{}); }

Payload json(const char* text) { return Payload(JsonText::trusted(text)); }

NegotiationFault fault_with(std::string_view feature, const char* param, const char* value) {
  NegotiationResponse response = full_response();
  FeatureParams& params = response.supported.at(std::string(feature));
  if (value == nullptr) {
    EXPECT_EQ(params.erase(param), 1U);
  } else {
    params[param] = json(value);
  }
  const auto result = check_negotiation({kAll, {}}, response);
  const auto* refusal = std::get_if<NegotiationRefusal>(&result);
  EXPECT_NE(refusal, nullptr) << feature << " " << param;
  if (refusal == nullptr) {
    return {};
  }
  EXPECT_EQ(refusal->feature, feature);
  return refusal->fault;
}

TEST(Negotiation, what_the_broker_offers_is_what_the_daemon_uses) {
  BrokerFeatures broker;
  broker.window = days(30);
  broker.inline_bytes = 2048;
  broker.connection_policy = ConnectionPolicy::allow_concurrent;
  const auto result = check_negotiation({kAll, {}}, answer_negotiation({kAll, {}}, broker));
  const auto& features = std::get<NegotiatedFeatures>(result);
  EXPECT_EQ(features.dedupe->window.retention_days, 30U);
  EXPECT_EQ(features.max_payload->inline_bytes, 2048U);
  EXPECT_EQ(features.connection_policy, ConnectionPolicy::allow_concurrent);
  EXPECT_TRUE(features.key_rotation_event);
  EXPECT_EQ(features.max_concurrent_epochs, 2U);
  EXPECT_TRUE(features.warnings.empty());
  broker.window = {DedupeMode::permanent, 0};
  const auto permanent = check_negotiation({kAll, {}}, answer_negotiation({kAll, {}}, broker));
  EXPECT_EQ(std::get<NegotiatedFeatures>(permanent).dedupe->window.mode, DedupeMode::permanent);
}

TEST(Negotiation, NG_01_a_missing_requirement_closes_with_4010) {
  NegotiationResponse response = full_response();
  response.supported.erase(std::string(kKeyEpochFeature));
  const auto result = check_negotiation({kAll, {}}, response);
  EXPECT_EQ(std::get<NegotiationRefusal>(result).close_code(), 4010);
  const NegotiationRequest unknown{{"teleport"}, {}};
  const NegotiationResponse answer = answer_negotiation(unknown, BrokerFeatures{});
  EXPECT_EQ(answer.missing_required, std::vector<std::string>{"teleport"});
  EXPECT_EQ(std::get<NegotiationRefusal>(check_negotiation(unknown, answer)).close_code(), 4010);
}

TEST(Negotiation, R_18_the_switch_withholds_dedupe_and_daemons_refuse) {
  BrokerFeatures broker;
  broker.dedupe = DedupeAdvertising::withheld;
  const NegotiationRequest request{kAll, {}};
  const NegotiationResponse response = answer_negotiation(request, broker);
  EXPECT_EQ(response.missing_required, std::vector<std::string>{std::string(kDedupeFeature)});
  const auto result = check_negotiation(request, response);
  EXPECT_EQ(std::get<NegotiationRefusal>(result).close_code(), 4010);
  EXPECT_EQ(std::get<NegotiationRefusal>(result).feature, kDedupeFeature);
}

TEST(Negotiation, NG_02_a_bad_or_missing_parameter_closes_with_4011) {
  constexpr auto kInvalid = NegotiationFault::param_invalid;
  EXPECT_EQ(fault_with(kDedupeFeature, "version", "1"), kInvalid);
  EXPECT_EQ(fault_with(kDedupeFeature, "version", nullptr), kInvalid);
  EXPECT_EQ(fault_with(kDedupeFeature, "mode", "\"sometimes\""), kInvalid);
  EXPECT_EQ(fault_with(kDedupeFeature, "mode", nullptr), kInvalid);
  EXPECT_EQ(fault_with(kDedupeFeature, "request_fingerprint", "false"), kInvalid);
  EXPECT_EQ(fault_with(kDedupeFeature, "request_fingerprint", nullptr), kInvalid);
  EXPECT_EQ(fault_with(kDedupeFeature, "dedupe_retention_days", nullptr), kInvalid);
  EXPECT_EQ(fault_with(kDedupeFeature, "dedupe_retention_days", "\"30\""), kInvalid);
  EXPECT_EQ(fault_with(kKeyEpochFeature, "max_concurrent_epochs", "-1"), kInvalid);
  EXPECT_EQ(fault_with(kMaxPayloadFeature, "blob_bytes", nullptr), kInvalid);
  EXPECT_EQ(fault_with(kKeyRotationFeature, "version", "2"), kInvalid);
  EXPECT_EQ((NegotiationRefusal{kInvalid, "", "", ""}).close_code(), 4011);
}

TEST(Negotiation, NG_03_a_parameter_below_its_floor_closes_with_4012) {
  constexpr auto kBelow = NegotiationFault::below_floor;
  EXPECT_EQ(fault_with(kDedupeFeature, "dedupe_retention_days", "6"), kBelow);
  EXPECT_EQ(fault_with(kKeyEpochFeature, "max_concurrent_epochs", "0"), kBelow);
  EXPECT_EQ(fault_with(kMaxPayloadFeature, "inline_bytes", "1023"), kBelow);
  EXPECT_EQ((NegotiationRefusal{kBelow, "", "", ""}).close_code(), 4012);
}

TEST(Negotiation, NG_04_an_optional_parameter_that_is_not_valid_gets_its_default_and_a_warning) {
  NegotiationResponse response = full_response();
  response.supported.at(std::string(kConnectionPolicyFeature))["default_policy"] = json("\"odd\"");
  response.supported.at(std::string(kDedupeFeature))["tombstone_history_pruned_window_days"] =
      json("-1");
  const auto result = check_negotiation({kAll, {}}, response);
  const auto& features = std::get<NegotiatedFeatures>(result);
  EXPECT_EQ(features.connection_policy, ConnectionPolicy::prefer_newest);
  EXPECT_FALSE(features.dedupe->tombstone_days.has_value());
  EXPECT_EQ(features.warnings.size(), 2U);
  EXPECT_TRUE(features.warnings[0].starts_with("feature_optional_param_invalid"));
}

TEST(Negotiation, an_optional_feature_that_is_not_valid_is_not_used) {
  NegotiationResponse response = full_response();
  response.supported.at(std::string(kMaxPayloadFeature))["inline_bytes"] = json("10");
  const auto result = check_negotiation(
      {{std::string(kDedupeFeature)}, {std::string(kMaxPayloadFeature), "teleport"}}, response);
  const auto& features = std::get<NegotiatedFeatures>(result);
  EXPECT_TRUE(features.dedupe.has_value());
  EXPECT_FALSE(features.max_payload.has_value());
  EXPECT_EQ(features.warnings.size(), 2U);
}

TEST(Negotiation, NG_05_H_37_a_refusal_holds_the_whole_negotiation_and_a_short_reason) {
  const NegotiationRequest request{{std::string(kDedupeFeature), std::string(500, 'x')}, {}};
  const NegotiationResponse response = answer_negotiation(request, BrokerFeatures{});
  const auto result = check_negotiation(request, response);
  const auto& refusal = std::get<NegotiationRefusal>(result);
  EXPECT_NE(refusal.log.find(R"("require":["client_message_id_dedupe")"), std::string::npos);
  EXPECT_NE(refusal.log.find(R"("missing_required":["xxx)"), std::string::npos);
  EXPECT_LE(refusal.close_reason().size(), 123U);
  EXPECT_TRUE(refusal.close_reason().starts_with("feature_unavailable: xxx"));
}

TEST(Negotiation, requests_and_responses_survive_the_wire) {
  const auto text = must(to_json(full_response()));
  const auto read = must(from_json<NegotiationResponse>(text.view()));
  EXPECT_TRUE(std::holds_alternative<NegotiatedFeatures>(check_negotiation({kAll, {}}, read)));
}

}  // namespace
}  // namespace holdfast::delivery::negotiation_test
