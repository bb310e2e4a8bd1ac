#include "delivery/contract/envelope.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "base/quote.h"
#include "delivery/contract/jcs.h"
#include "delivery/contract/message_id.h"
#include "delivery/contract/rejection.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kPublicKeyChars = 64;
constexpr std::size_t kPrefixChars = 16;

bool has_zero(std::string_view text) { return text.find('\0') != std::string_view::npos; }

}  // namespace

bool is_public_key(std::string_view text) {
  return text.size() == kPublicKeyChars && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<void> check_destination(const Destination& destination) {
  const bool valid = destination.kind == DestinationKind::dm ? is_public_key(destination.ref)
                                                             : is_name(destination.ref);
  if (!valid) {
    return rejected(Rejection::invalid_request,
                    destination.kind == DestinationKind::dm
                        ? fmt::format("the recipient {} is not a public key of 64 lower-case hex "
                                      "digits",
                                      quote(destination.ref))
                        : fmt::format("{} is not the name of a {}", quote(destination.ref),
                                      to_text(destination.kind)));
  }
  return {};
}

Result<std::string> canonical_meta(std::string_view json) {
  if (json.empty()) {
    return std::string();
  }
  auto form = jcs(json);
  if (!form.ok()) {
    return rejected(Rejection::invalid_request,
                    fmt::format("meta has no canonical form: {}", form.error().message()));
  }
  if (form.value() == "null" || form.value() == "{}") {
    return std::string();
  }
  if (form.value().front() != '{') {
    return rejected(Rejection::invalid_request, "meta must be an object");
  }
  return form;
}

Result<void> check_envelope(const Envelope& envelope) {
  HOLDFAST_CHECK(check_destination(envelope.destination));
  if (!envelope.reply_to.empty() && !Ulid::parse(envelope.reply_to).ok()) {
    return rejected(Rejection::invalid_request,
                    fmt::format("reply_to_id {} is not the id of a message: use the "
                                "broker_message_id of the message replied to",
                                quote(envelope.reply_to)));
  }
  HOLDFAST_ASSERT(!has_zero(envelope.meta));  // JSON text holds no zero byte
  return {};
}

Digest fingerprint_of(const Envelope& envelope) {
  HOLDFAST_ASSERT(!has_zero(envelope.destination.ref) && !has_zero(envelope.reply_to));
  std::string text = std::to_string(envelope.version);
  const auto add = [&](std::string_view field) {
    text += '\0';
    text += field;
  };
  add(to_text(envelope.destination.kind));
  add(envelope.destination.ref);
  add(envelope.reply_to);
  add(to_text(envelope.priority));
  add(envelope.meta);
  add(to_hex(sha256(envelope.body)));
  return sha256(text);
}

std::string fingerprint_prefix(const Digest& fingerprint) {
  return to_hex(fingerprint).substr(0, kPrefixChars);
}

}  // namespace holdfast::delivery
