#include "delivery/contract/message_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/closest_word.h"
#include "base/encoding.h"
#include "base/json_keys.h"
#include "base/json_slice.h"
#include "base/names.h"
#include "base/quote.h"
#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

namespace {

class FieldNames {
 public:
  template <typename T>
  void required(std::string_view name, const T& /*value*/) {
    names_.push_back(name);
  }
  template <typename T>
  void optional(std::string_view name, const T& /*value*/) {
    names_.push_back(name);
  }
  [[nodiscard]] const std::vector<std::string_view>& names() const { return names_; }

 private:
  std::vector<std::string_view> names_;
};

// Members are compared as they are written: an escaped name is unknown.
template <HasFields T>
Result<void> check_known_members(std::string_view object) {
  const T sample;
  FieldNames known;
  T::visit(sample, known);
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    if (std::find(known.names().begin(), known.names().end(), member->name) !=
        known.names().end()) {
      continue;
    }
    const std::string_view close = closest_word(member->name, known.names());
    return rejected(
        Rejection::invalid_request,
        fmt::format("unknown field {}{}", quote(member->name),
                    close.empty() ? "" : fmt::format("; did you mean {}?", quote(close))));
  }
  return {};
}

// What each field holds.
constexpr auto kForms = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"mesh", "the name of a workspace"},
     {"client_message_id", "a text"},
     {"request_fingerprint", "64 lower-case hex digits"},
     {"envelope_version", "a number"},
     {"destination", R"({"kind": "topic", "dm" or "queue", "ref": a text})"},
     {"priority", R"("now", "next" or "low")"},
     {"meta", "an object"},
     {"body", "a text"},
     {"mentions", "a list of texts"},
     {"reply_to_id", "a text"},
     {"first_sent_at", "milliseconds since 1970"},
     {"attempt", "a number"},
     {"not_before", "milliseconds since 1970"},
     {"expires_at", "milliseconds since 1970"},
     {"ordering_key", "a text"}});

// A field with a wrong value is reported with what it holds.
Error invalid(const Error& error) {
  const std::string_view fields = error.field("fields");
  for (const auto& [name, form] : kForms) {
    if (error.code() == ErrorCode::invalid_argument && fields == name) {
      return rejected(Rejection::invalid_request,
                      fmt::format("the field {} must be {}", quote(name), form));
    }
  }
  return rejected(Rejection::invalid_request, error.message());
}

Result<void> check_version(std::string_view object) {
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    if (member->name == "envelope_version" && member->value != std::to_string(kEnvelopeVersion)) {
      return rejected(Rejection::unsupported_version,
                      fmt::format("envelope_version is {}; this program supports {}",
                                  printable(member->value, kMaxShownBytes), kEnvelopeVersion));
    }
  }
  return {};
}

Result<void> check_mentions(const std::vector<std::string>& mentions) {
  if (mentions.size() > kMaxMentions) {
    return rejected(Rejection::invalid_request, fmt::format("{} mentions; a message has at most {}",
                                                            mentions.size(), kMaxMentions));
  }
  for (const std::string& mention : mentions) {
    if (!is_name(mention)) {  // a public key has the form of a name too
      return rejected(
          Rejection::invalid_request,
          fmt::format("the mention {} is neither a display name nor a public key", quote(mention)));
    }
  }
  return {};
}

Result<QueueTerms> checked_terms(const MessageRequest& request) {
  const QueueTerms terms{request.not_before.value_or(TimeMs{}),
                         request.expires_at.value_or(TimeMs{}), request.ordering_key};
  const bool given = request.not_before.has_value() || request.expires_at.has_value() ||
                     !request.ordering_key.empty();
  if (given && request.destination.kind != DestinationKind::queue) {
    return rejected(Rejection::invalid_request,
                    "not_before, expires_at and ordering_key are for messages to queues");
  }
  if (terms.not_before.value < 0 || request.expires_at.value_or(TimeMs{1}).value <= 0) {
    return rejected(Rejection::invalid_request,
                    "not_before and expires_at are milliseconds since 1970");
  }
  if (terms.expires_at.value > 0 && terms.expires_at <= terms.not_before) {
    return rejected(Rejection::invalid_request,
                    "expires_at is not after not_before: the message could never be taken");
  }
  if (terms.ordering_key.size() > kMaxOrderingKey ||
      terms.ordering_key.find('\0') != std::string::npos) {
    return rejected(
        Rejection::invalid_request,
        fmt::format("ordering_key has at most {} bytes, and no zero byte", kMaxOrderingKey));
  }
  return terms;
}

Result<std::string> decoded_body(const std::string& body, BodyForm form) {
  if (form == BodyForm::plain) {
    return body;
  }
  auto bytes = from_base64url(body);
  if (!bytes.ok()) {
    return rejected(Rejection::invalid_request,
                    "the workspace is encrypted, and the body is not base64url without padding");
  }
  return std::string(reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size());
}

}  // namespace

Result<MessageRequest> parse_message_request(std::string_view json) {
  if (json.empty()) {
    return rejected(Rejection::invalid_request, "the body is empty; send a message as JSON");
  }
  const auto compact = JsonText::parse(json);
  if (!compact.ok()) {
    return invalid(compact.error());
  }
  if (!compact.value().is_object()) {
    return rejected(Rejection::invalid_request, "the body must be a JSON object");
  }
  if (const auto repeated = find_repeated_key(compact.value())) {
    return rejected(Rejection::invalid_request,
                    fmt::format("the field {} appears twice", quote(*repeated)));
  }
  const std::string_view object = compact.value().view();
  HOLDFAST_CHECK(check_version(object));
  HOLDFAST_CHECK(check_known_members<MessageRequest>(object));
  auto request = from_json<MessageRequest>(object);
  if (!request.ok()) {
    return invalid(request.error());
  }
  JsonSlicer slicer(object);
  while (const auto member = slicer.next()) {
    if (member->name == "destination") {
      HOLDFAST_CHECK(check_known_members<Destination>(member->value));
    }
  }
  return request;
}

Result<Message> check_message(const MessageRequest& request, BodyForm form) {
  HOLDFAST_TRY(ClientMessageId id, ClientMessageId::parse(request.client_message_id));
  Envelope envelope{.version = request.envelope_version,
                    .destination = request.destination,
                    .reply_to = request.reply_to_id,
                    .priority = request.priority.value_or(Priority::next),
                    .meta = {},
                    .body = {}};
  HOLDFAST_TRY(envelope.meta, canonical_meta(request.meta.view()));
  HOLDFAST_CHECK(check_envelope(envelope));
  HOLDFAST_CHECK(check_mentions(request.mentions));
  HOLDFAST_TRY(QueueTerms terms, checked_terms(request));
  HOLDFAST_TRY(envelope.body, decoded_body(request.body.value_or(""), form));
  const Digest fingerprint = fingerprint_of(envelope);
  if (fingerprint != request.request_fingerprint) {
    return rejected(Rejection::canonical_form_drift,
                    fmt::format("the request has {}, its envelope {}",
                                fingerprint_prefix(request.request_fingerprint),
                                fingerprint_prefix(fingerprint)))
        .with("broker_fingerprint_prefix", fingerprint_prefix(fingerprint));
  }
  return Message{.id = std::move(id),
                 .fingerprint = fingerprint,
                 .envelope = std::move(envelope),
                 .mentions = request.mentions,
                 .first_sent_at = request.first_sent_at,
                 .attempt = request.attempt,
                 .queue = std::move(terms)};
}

}  // namespace holdfast::delivery
