#include "delivery/contract/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quote.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMaxCloseReasonBytes = 123;

struct Fault {
  NegotiationFault fault;
  std::string detail;
};

Payload json_number(std::uint64_t value) {
  return Payload(JsonText::trusted(std::to_string(value)));
}
Payload json_word(std::string_view word) {
  return Payload(JsonText::trusted(fmt::format("\"{}\"", word)));
}

// Reads the parameters of one feature; the first fault counts.
class ParamReader {
 public:
  explicit ParamReader(const FeatureParams& params) : params_(params) {}

  void version(std::uint64_t expected) {
    std::uint64_t version = 0;
    if (!read("version", version) || version != expected) {
      fault(NegotiationFault::param_invalid, fmt::format("version is not {}", expected));
    }
  }
  std::uint64_t number(std::string_view name, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    if (!read(name, value) || value > most) {
      fault(NegotiationFault::param_invalid,
            fmt::format("{} is not a number up to {}", name, most));
    } else if (value < least) {
      fault(NegotiationFault::below_floor, fmt::format("{} is {}, below {}", name, value, least));
    }
    return value;
  }
  template <typename E>
  E word(std::string_view name) {
    std::string text;
    const auto known = read(name, text) ? enum_from<E>(text) : std::nullopt;
    if (!known.has_value()) {
      fault(NegotiationFault::param_invalid,
            fmt::format("{} is missing or unknown: {}", name, quote(text)));
    }
    return known.value_or(E{});
  }
  void must_be_true(std::string_view name) {
    bool value = false;
    if (!read(name, value) || !value) {
      fault(NegotiationFault::param_invalid, fmt::format("{} is not true", name));
    }
  }
  template <typename T>
  bool read(std::string_view name, T& value) const {
    const auto found = params_.find(std::string(name));
    return found != params_.end() && read_value(found->second.view(), value);
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return params_.contains(std::string(name));
  }
  [[nodiscard]] const std::optional<Fault>& first_fault() const { return fault_; }

 private:
  void fault(NegotiationFault kind, std::string detail) {
    if (!fault_.has_value()) {
      fault_ = Fault{kind, std::move(detail)};
    }
  }

  const FeatureParams& params_;
  std::optional<Fault> fault_;
};

std::string optional_param_warning(std::string_view feature, std::string_view name) {
  return fmt::format("feature_optional_param_invalid: {}.{}; the default is used", feature, name);
}

void read_dedupe(ParamReader& reader, NegotiatedFeatures& out) {
  NegotiatedFeatures::Dedupe dedupe;
  reader.version(2);
  dedupe.window.mode = reader.word<DedupeMode>("mode");
  if (dedupe.window.mode == DedupeMode::retention_scoped) {
    dedupe.window.retention_days = static_cast<std::uint32_t>(
        reader.number("dedupe_retention_days", kMinRetentionDays, kMaxRetentionDays));
  }
  reader.must_be_true("request_fingerprint");
  constexpr std::string_view kTombstone = "tombstone_history_pruned_window_days";
  std::uint32_t days = 0;
  if (reader.read(kTombstone, days)) {
    dedupe.tombstone_days = days;
  } else if (reader.has(kTombstone)) {
    out.warnings.push_back(optional_param_warning(kDedupeFeature, kTombstone));
  }
  out.dedupe = dedupe;
}

void read_policy(ParamReader& reader, NegotiatedFeatures& out) {
  reader.version(1);
  std::string text;
  const bool there = reader.read("default_policy", text);
  const auto known = there ? enum_from<ConnectionPolicy>(text) : std::nullopt;
  if (!known.has_value() && reader.has("default_policy")) {
    out.warnings.push_back(optional_param_warning(kConnectionPolicyFeature, "default_policy"));
  }
  out.connection_policy = known.value_or(ConnectionPolicy::prefer_newest);
}

void read_key_rotation(ParamReader& reader, NegotiatedFeatures& out) {
  reader.version(1);
  out.key_rotation_event = true;
}

void read_key_epoch(ParamReader& reader, NegotiatedFeatures& out) {
  reader.version(1);
  out.max_concurrent_epochs =
      static_cast<std::uint32_t>(reader.number("max_concurrent_epochs", 1, UINT32_MAX));
}

void read_max_payload(ParamReader& reader, NegotiatedFeatures& out) {
  constexpr std::uint64_t kLeast = 1024;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53U;
  reader.version(1);
  NegotiatedFeatures::MaxPayload limits;
  limits.inline_bytes = reader.number("inline_bytes", kLeast, kMost);
  limits.blob_bytes = reader.number("blob_bytes", kLeast, kMost);
  out.max_payload = limits;
}

struct FeatureReading {
  std::string_view name;
  void (*read)(ParamReader&, NegotiatedFeatures&);
};

constexpr auto kFeatures = std::to_array<FeatureReading>({
    {kDedupeFeature, read_dedupe},
    {kConnectionPolicyFeature, read_policy},
    {kKeyRotationFeature, read_key_rotation},
    {kKeyEpochFeature, read_key_epoch},
    {kMaxPayloadFeature, read_max_payload},
});

// Adds the feature to what is negotiated, whole or not at all.
std::optional<Fault> use_feature(const std::string& name, const NegotiationResponse& response,
                                 NegotiatedFeatures& negotiated) {
  const auto* const known =
      std::find_if(kFeatures.begin(), kFeatures.end(),
                   [&](const FeatureReading& feature) { return feature.name == name; });
  if (known == kFeatures.end()) {
    return Fault{NegotiationFault::unavailable, "this program does not know the feature"};
  }
  const auto& missing = response.missing_required;
  const auto found = response.supported.find(name);
  if (found == response.supported.end() ||
      std::find(missing.begin(), missing.end(), name) != missing.end()) {
    return Fault{NegotiationFault::unavailable, "the broker does not support it"};
  }
  NegotiatedFeatures with = negotiated;
  ParamReader reader(found->second);
  known->read(reader, with);
  if (reader.first_fault().has_value()) {
    return reader.first_fault();
  }
  negotiated = std::move(with);
  return std::nullopt;
}

std::string log_of(const NegotiationRequest& request, const NegotiationResponse& response) {
  std::string log = "request ";
  HOLDFAST_ASSERT(append_json(log, request).ok());
  log += ", response ";
  HOLDFAST_ASSERT(append_json(log, response).ok());
  return log;
}

}  // namespace

NegotiationResponse answer_negotiation(const NegotiationRequest& request,
                                       const BrokerFeatures& features) {
  NegotiationResponse response;
  auto& supported = response.supported;
  if (features.dedupe == DedupeAdvertising::advertised) {
    FeatureParams params{{"version", json_number(2)},
                         {"mode", json_word(to_text(features.window.mode))},
                         {"request_fingerprint", Payload(JsonText::trusted("true"))}};
    if (features.window.mode == DedupeMode::retention_scoped) {
      params.emplace("dedupe_retention_days", json_number(features.window.retention_days));
    }
    supported.emplace(kDedupeFeature, std::move(params));
  }
  supported.emplace(
      kConnectionPolicyFeature,
      FeatureParams{{"version", json_number(1)},
                    {"default_policy", json_word(to_text(features.connection_policy))}});
  supported.emplace(kKeyRotationFeature, FeatureParams{{"version", json_number(1)}});
  supported.emplace(kKeyEpochFeature, FeatureParams{{"version", json_number(1)},
                                                    {"max_concurrent_epochs",
                                                     json_number(features.max_concurrent_epochs)}});
  supported.emplace(kMaxPayloadFeature,
                    FeatureParams{{"version", json_number(1)},
                                  {"inline_bytes", json_number(features.inline_bytes)},
                                  {"blob_bytes", json_number(features.blob_bytes)}});
  for (const std::string& name : request.require) {
    if (!supported.contains(name)) {
      response.missing_required.push_back(name);
    }
  }
  return response;
}

std::string NegotiationRefusal::close_reason() const {
  return printable(fmt::format("{}: {}", to_text(fault), feature), kMaxCloseReasonBytes - 3);
}

std::variant<NegotiatedFeatures, NegotiationRefusal> check_negotiation(
    const NegotiationRequest& request, const NegotiationResponse& response) {
  NegotiatedFeatures negotiated;
  for (const std::string& name : request.require) {
    if (auto fault = use_feature(name, response, negotiated)) {
      return NegotiationRefusal{fault->fault, name, std::move(fault->detail),
                                log_of(request, response)};
    }
  }
  for (const std::string& name : request.optional) {
    if (const auto fault = use_feature(name, response, negotiated)) {
      negotiated.warnings.push_back(
          fmt::format("the optional feature {} is not used: {}", quote(name), fault->detail));
    }
  }
  return negotiated;
}

}  // namespace holdfast::delivery
