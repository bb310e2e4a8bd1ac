// The signature of a webhook, as Standard Webhooks defines it (https://www.standardwebhooks.com):
// HMAC-SHA256 over "ID.TIMESTAMP.BODY" with the bytes behind whsec_ of the secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::delivery {

// "whsec_" and 24 to 64 bytes in base64. Its text signs for the endpoint: never log it.
class WebhookSecret {
 public:
  // invalid_argument, which does not show the text.
  static Result<WebhookSecret> parse(std::string_view text);
  static WebhookSecret from_bytes(std::span<const std::byte> bytes);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::span<const std::byte> key() const { return key_; }

 private:
  explicit WebhookSecret(std::vector<std::byte> key) : key_(std::move(key)) {}

  std::vector<std::byte> key_;
};

// The header webhook-signature: one signature for each secret, with a space between them.
std::string sign_webhook(std::span<const WebhookSecret> secrets, std::string_view webhook_id,
                         std::int64_t timestamp_s, std::string_view body);

// The header webhook-id: the same for every attempt, and for a replay.
std::string webhook_id_of(std::string_view endpoint_id, std::string_view broker_message_id);

}  // namespace holdfast::delivery
