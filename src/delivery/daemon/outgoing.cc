#include "delivery/daemon/outgoing.h"

#include <fmt/format.h>

#include "base/names.h"
#include "base/quote.h"
#include "base/text.h"
#include "delivery/contract/message_request.h"
#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

namespace {

Error refused(const std::string& detail) { return rejected(Rejection::invalid_request, detail); }

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

Result<std::optional<Destination>> checked(DestinationKind kind, std::string_view ref) {
  Destination destination{kind, std::string(ref)};
  HOLDFAST_CHECK(check_destination(destination));
  return std::optional(std::move(destination));
}

}  // namespace

Result<std::optional<Destination>> parse_destination(std::string_view text) {
  if (text.starts_with('#')) {
    return checked(DestinationKind::topic, text.substr(1));
  }
  for (const DestinationKind kind :
       {DestinationKind::topic, DestinationKind::queue, DestinationKind::dm}) {
    const std::string_view name = to_text(kind);
    if (text.starts_with(name) && text.substr(name.size()).starts_with(':')) {
      return checked(kind, text.substr(name.size() + 1));
    }
  }
  if (is_public_key(text)) {
    return checked(DestinationKind::dm, text);
  }
  if (!is_name(text)) {
    return refused(
        fmt::format("{} is not a destination; use #TOPIC, queue:NAME, or the name or the "
                    "public key of a member",
                    quote(text)));
  }
  return std::optional<Destination>();
}

Result<void> check_outgoing(const Outgoing& message) {
  if (message.mentions.size() > kMaxMentions) {
    return refused(fmt::format("{} mentions; a message has at most {}", message.mentions.size(),
                               kMaxMentions));
  }
  for (const std::string& mention : message.mentions) {
    if (!is_name(mention)) {
      return refused(
          fmt::format("the mention {} is neither a display name nor a public key", quote(mention)));
    }
  }
  if (!message.ordering_key.empty() && !is_name(message.ordering_key)) {
    return refused(fmt::format("{} is not an ordering key, which has the form of a name",
                               quote(message.ordering_key)));
  }
  if (!is_utf8(message.body)) {
    return refused("the message is not UTF-8");
  }
  // A destination that passes, so that only the rest of the envelope can fail.
  return check_envelope(envelope_of(message, {DestinationKind::topic, "any"}));
}

Envelope envelope_of(const Outgoing& message, const Destination& destination) {
  return {.version = kEnvelopeVersion,
          .destination = destination,
          .reply_to = message.reply_to_id,
          .priority = message.priority,
          .meta = message.meta,
          .body = message.body};
}

}  // namespace holdfast::delivery
