// MessageRequest: the body of POST /v1/messages as it is on the wire, and Message: what is left of
// it after every check that needs nothing but the request itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/shared_text.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/message_id.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

inline constexpr std::size_t kMaxMentions = 16;

struct MessageRequest {
  std::string mesh;  // the name of the workspace
  std::string client_message_id;
  Digest request_fingerprint{};
  std::uint32_t envelope_version = 0;
  Destination destination;
  std::optional<Priority> priority;  // next, when there is none
  Payload meta;
  std::optional<std::string> body;    // required; may be empty
  std::vector<std::string> mentions;  // display names or public keys
  std::string reply_to_id;
  std::optional<TimeMs> first_sent_at;  // of a retry
  std::uint32_t attempt = 0;
  // Of a message to a queue. Like mentions they are not part of the fingerprint: those of the first
  // request count.
  std::optional<TimeMs> not_before;
  std::optional<TimeMs> expires_at;
  std::string ordering_key;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("mesh", self.mesh);
    v.required("client_message_id", self.client_message_id);
    v.required("request_fingerprint", self.request_fingerprint);
    v.required("envelope_version", self.envelope_version);
    v.required("destination", self.destination);
    v.optional("priority", self.priority);
    v.optional("meta", self.meta);
    v.required("body", self.body);
    v.optional("mentions", self.mentions);
    v.optional("reply_to_id", self.reply_to_id);
    v.optional("first_sent_at", self.first_sent_at);
    v.optional("attempt", self.attempt);
    v.optional("not_before", self.not_before);
    v.optional("expires_at", self.expires_at);
    v.optional("ordering_key", self.ordering_key);
  }
};

// invalid_request: not JSON, an unknown, repeated, missing or ill-typed member.
// unsupported_version: another version of the envelope.
Result<MessageRequest> parse_message_request(std::string_view json);

// How a workspace carries bodies: as UTF-8 text, or sealed, as base64url without padding.
enum class BodyForm : std::uint8_t { plain, sealed };

inline constexpr std::size_t kMaxOrderingKey = 255;

// When a message of a queue may be taken, and which others it keeps its order with.
struct QueueTerms {
  TimeMs not_before;  // 0: at once
  TimeMs expires_at;  // 0: never
  std::string ordering_key;
};

struct Message {
  ClientMessageId id;
  Digest fingerprint{};
  Envelope envelope;
  std::vector<std::string> mentions;
  std::optional<TimeMs> first_sent_at;
  std::uint32_t attempt = 0;
  QueueTerms queue = {};
};

// invalid_request, invalid_idempotency_key, or canonical_form_drift when the fingerprint in the
// request is not that of its envelope.
Result<Message> check_message(const MessageRequest& request, BodyForm form);

}  // namespace holdfast::delivery
