// Feature negotiation: after it has connected and before it sends, a daemon names the features it
// requires and those it can use; the broker answers what it supports, with parameters.
//
// A feature whose required parameter is missing or not valid, or whose version is unknown, counts
// as not supported. A required one then refuses the broker; an optional one is not used. An
// optional parameter that is not valid gets its default, and a warning.
//
//   client_message_id_dedupe 2      mode, dedupe_retention_days >= 7 unless permanent,
//                                   request_fingerprint; [tombstone_history_pruned_window_days]
//   concurrent_connection_policy 1  [default_policy]
//   member_keypair_rotated_event 1
//   key_epoch 1                     max_concurrent_epochs >= 1
//   max_payload 1                   inline_bytes >= 1024, blob_bytes >= 1024
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "delivery/contract/max_age.h"

namespace holdfast::delivery {

inline constexpr std::string_view kDedupeFeature = "client_message_id_dedupe";
inline constexpr std::string_view kConnectionPolicyFeature = "concurrent_connection_policy";
inline constexpr std::string_view kKeyRotationFeature = "member_keypair_rotated_event";
inline constexpr std::string_view kKeyEpochFeature = "key_epoch";
inline constexpr std::string_view kMaxPayloadFeature = "max_payload";

enum class ConnectionPolicy : std::uint8_t { prefer_newest, prefer_oldest, allow_concurrent };

struct NegotiationRequest {
  std::vector<std::string> require;
  std::vector<std::string> optional;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("require", self.require);
    v.optional("optional", self.optional);
  }
};

using FeatureParams = std::map<std::string, Payload>;

struct NegotiationResponse {
  std::map<std::string, FeatureParams> supported;
  std::vector<std::string> missing_required;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("supported", self.supported);
    v.optional("missing_required", self.missing_required);
  }
};

// Whether the broker offers dedupe. withheld is the switch to roll a deployment back: daemons then
// refuse to send, and stored rows stay.
enum class DedupeAdvertising : std::uint8_t { advertised, withheld };

struct BrokerFeatures {
  DedupeAdvertising dedupe = DedupeAdvertising::advertised;
  DedupeWindow window;
  ConnectionPolicy connection_policy = ConnectionPolicy::prefer_newest;
  std::uint32_t max_concurrent_epochs = 2;
  std::uint64_t inline_bytes = 65'536;
  std::uint64_t blob_bytes = 524'288'000;
};

// The broker's side: everything it supports, and what of the requirements it does not.
NegotiationResponse answer_negotiation(const NegotiationRequest& request,
                                       const BrokerFeatures& features);

// The daemon's side: the features that may be used. No value: not negotiated.
struct NegotiatedFeatures {
  struct Dedupe {
    DedupeWindow window;
    std::optional<std::uint32_t> tombstone_days;
  };
  struct MaxPayload {
    std::uint64_t inline_bytes = 0;
    std::uint64_t blob_bytes = 0;
  };
  std::optional<Dedupe> dedupe;
  std::optional<ConnectionPolicy> connection_policy;
  bool key_rotation_event = false;
  std::optional<std::uint32_t> max_concurrent_epochs;
  std::optional<MaxPayload> max_payload;
  std::vector<std::string> warnings;  // to be logged, one line each
};

// feature_unavailable, feature_param_invalid and feature_param_below_floor on the wire.
enum class NegotiationFault : std::uint8_t { unavailable, param_invalid, below_floor };

struct NegotiationRefusal {
  NegotiationFault fault = NegotiationFault::unavailable;
  std::string feature;
  std::string detail;
  std::string log;  // request and response, to be logged before the connection is closed

  [[nodiscard]] int close_code() const { return 4010 + static_cast<int>(fault); }
  // Fits a WebSocket close frame: at most 123 bytes.
  [[nodiscard]] std::string close_reason() const;
};

std::variant<NegotiatedFeatures, NegotiationRefusal> check_negotiation(
    const NegotiationRequest& request, const NegotiationResponse& response);

}  // namespace holdfast::delivery

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<delivery::ConnectionPolicy>[] = {
    "prefer_newest", "prefer_oldest", "allow_concurrent"};
template <>
inline constexpr std::string_view kEnumNames<delivery::NegotiationFault>[] = {
    "feature_unavailable", "feature_param_invalid", "feature_param_below_floor"};

}  // namespace holdfast
