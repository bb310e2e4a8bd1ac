#include "lab/broker_sim/sim_message.h"

#include <utility>

#include "base/hash.h"
#include "base/json_value.h"
#include "base/json_writer.h"

namespace holdfast::broker_sim {

std::string fingerprint_hex(const SimMessage& message) {
  std::string text = "1";
  for (const std::string& field :
       {message.kind, message.ref, message.reply_to,
        message.priority.empty() ? std::string("next") : message.priority, message.canonical_meta,
        to_hex(sha256(message.body))}) {
    text += '\0';
    text += field;
  }
  return to_hex(sha256(text));
}

std::string request_body(const SimMessage& message) {
  if (message.defect == Defect::not_json) {
    return "{\"mesh\":";
  }
  SimMessage other = message;
  other.body += "?";
  JsonWriter json;
  json.begin_object()
      .member("mesh", message.workspace)
      .member("client_message_id", message.id)
      .member("request_fingerprint",
              fingerprint_hex(message.defect == Defect::drift ? other : message))
      .member("envelope_version",
              std::uint64_t{message.defect == Defect::envelope_version ? 2U : 1U});
  json.object("destination", [&] { json.member("kind", message.kind).member("ref", message.ref); });
  json.optional("priority", message.priority);
  if (!message.meta.empty()) {
    json.member("meta", JsonText::trusted(message.meta));
  }
  json.member("body", message.body).optional("reply_to_id", message.reply_to);
  if (!message.mentions.empty()) {
    json.strings("mentions", message.mentions);
  }
  if (message.not_before > 0) {
    json.member("not_before", message.not_before);
  }
  if (message.expires_at > 0) {
    json.member("expires_at", message.expires_at);
  }
  if (!message.ordering_key.empty()) {
    json.member("ordering_key", message.ordering_key);
  }
  if (message.first_sent_at > 0) {
    json.member("first_sent_at", message.first_sent_at)
        .member("attempt", std::uint64_t{message.attempt});
  }
  if (message.defect == Defect::unknown_member) {
    json.member("sender", "someone else");
  }
  json.end_object();
  return std::move(json).take();
}

}  // namespace holdfast::broker_sim
