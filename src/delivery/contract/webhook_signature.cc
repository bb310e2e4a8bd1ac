#include "delivery/contract/webhook_signature.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/encoding.h"
#include "base/hmac.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kPrefix = "whsec_";
constexpr std::size_t kFewestBytes = 24;
constexpr std::size_t kMostBytes = 64;

}  // namespace

Result<WebhookSecret> WebhookSecret::parse(std::string_view text) {
  const bool prefixed = text.starts_with(kPrefix);
  auto bytes = from_base64(prefixed ? text.substr(kPrefix.size()) : "-");
  if (!bytes.ok() || bytes.value().size() < kFewestBytes || bytes.value().size() > kMostBytes) {
    return Error{ErrorCode::invalid_argument,
                 "the secret of a webhook is whsec_ followed by 24 to 64 bytes in base64"}
        .with("field", "secret");
  }
  return WebhookSecret(std::move(bytes).value());
}

WebhookSecret WebhookSecret::from_bytes(std::span<const std::byte> bytes) {
  HOLDFAST_ASSERT(bytes.size() >= kFewestBytes && bytes.size() <= kMostBytes);
  return WebhookSecret({bytes.begin(), bytes.end()});
}

std::string WebhookSecret::text() const { return std::string(kPrefix) + to_base64(key_); }

std::string sign_webhook(std::span<const WebhookSecret> secrets, std::string_view webhook_id,
                         std::int64_t timestamp_s, std::string_view body) {
  const std::string head = fmt::format("{}.{}.", webhook_id, timestamp_s);
  std::string signatures;
  for (const WebhookSecret& secret : secrets) {
    const Digest digest = hmac_sha256(secret.key(), {as_bytes(head), as_bytes(body)});
    signatures += fmt::format("{}v1,{}", signatures.empty() ? "" : " ", to_base64(digest));
  }
  return signatures;
}

std::string webhook_id_of(std::string_view endpoint_id, std::string_view broker_message_id) {
  return fmt::format("msg_{}_{}", broker_message_id, endpoint_id);
}

}  // namespace holdfast::delivery
