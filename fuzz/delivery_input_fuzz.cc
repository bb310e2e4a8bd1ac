// Everything that a message broker reads from a client: messages, canonical JSON, ids, and the
// requests of members and the administrator.
#include <optional>
#include <utility>

#include "base/json_keys.h"
#include "delivery/api/directory_requests.h"
#include "delivery/api/queue_requests.h"
#include "delivery/contract/jcs.h"
#include "delivery/contract/message_id.h"
#include "delivery/contract/message_request.h"
#include "delivery/contract/rejection.h"
#include "fuzz/target.h"
#include "runs/api/strict_reader.h"

namespace holdfast::fuzz::delivery_input_fuzz {
namespace {

using namespace holdfast::delivery;

bool is_rejection(const Error& error) {
  const auto rejection = rejection_of(error);
  return rejection.has_value() && rejection_info(*rejection).http_status < 500 &&
         !error.message().empty();
}

// The envelope of an accepted message is what its fingerprint says, in one form only.
void check_checked(const MessageRequest& request, const Message& message) {
  require(fingerprint_of(message.envelope) == request.request_fingerprint,
          "an accepted message has the fingerprint of its envelope");
  require(message.mentions.size() <= kMaxMentions, "a message has few mentions");
  require(message.envelope.destination.ref.find('\0') == std::string::npos,
          "no reference holds a zero byte");
  const auto meta = canonical_meta(message.envelope.meta);
  require(meta.ok() && meta.value() == message.envelope.meta,
          "the canonical form of meta is its own canonical form");
}

// The fingerprint that a client would send: with it the envelope must pass, unless something else
// is wrong with it, and then by the name of a rejection.
void check_with_fitting_fingerprint(MessageRequest request, BodyForm form) {
  auto checked = check_message(request, form);
  if (!checked.ok() && rejection_of(checked.error()) == Rejection::canonical_form_drift) {
    auto meta = canonical_meta(request.meta.view());
    require(meta.ok(), "a fingerprint is compared last");
    request.request_fingerprint =
        fingerprint_of({.version = request.envelope_version,
                        .destination = request.destination,
                        .reply_to = request.reply_to_id,
                        .priority = request.priority.value_or(Priority::next),
                        .meta = meta.value(),
                        .body = request.body.value_or("")});
    checked = check_message(request, BodyForm::plain);
    require(checked.ok(), "a message with its fingerprint is accepted");
  }
  if (checked.ok()) {
    check_checked(request, checked.value());
  } else {
    require(is_rejection(checked.error()), "a refused message has a rejection");
  }
}

void check_message_text(std::string_view text) {
  const auto request = parse_message_request(text);
  if (!request.ok()) {
    require(is_rejection(request.error()), "an unreadable message has a rejection");
    return;
  }
  const auto written = to_json(request.value());
  require(written.ok(), "a request that was read can be written");
  const auto again = parse_message_request(written.value().view());
  require(again.ok() && to_json(again.value()).value() == written.value(),
          "a request is read as it is written");
  check_with_fitting_fingerprint(request.value(), BodyForm::plain);
  check_with_fitting_fingerprint(request.value(), BodyForm::sealed);
}

void check_jcs(std::string_view text) {
  const auto form = jcs(text);
  if (!form.ok()) {
    return;
  }
  const auto again = jcs(form.value());
  require(again.ok() && again.value() == form.value(),
          "the canonical form of a value is its own canonical form");
  const auto read = JsonText::parse(form.value());
  require(read.ok(), "a canonical form is JSON");
  require(!find_repeated_key(read.value()).has_value(), "no name appears twice");
}

void check_ids(std::string_view text) {
  const auto id = ClientMessageId::parse(text);
  require(!id.ok() || id.value().text() == text, "an id is never changed");
  if (const auto header = ClientMessageId::parse_header(text); header.ok()) {
    require(ClientMessageId::parse(header.value().text()).ok(), "a header holds an id");
  }
  const auto ulid = Ulid::parse(text);
  require(!ulid.ok() || ulid.value().text() == text, "a ULID is written as it was read");
}

template <typename T>
std::optional<T> read_or_explained(std::string_view text) {
  auto request = read_object<T>(text);
  if (!request.ok()) {
    require(!request.error().message().empty(), "an error says what was wrong");
    return std::nullopt;
  }
  return std::move(request).value();
}

template <typename T>
void check_request(std::string_view text) {
  const auto request = read_or_explained<T>(text);
  if (!request.has_value()) {
    return;
  }
  const auto written = to_json(*request);
  require(written.ok(), "a request that was read can be written");
  const auto again = read_object<T>(written.value().view());
  require(again.ok() && to_json(again.value()).value() == written.value(),
          "a request is read as it is written");
}

void check_directory(char choice, std::string_view text) {
  switch (choice) {
    case 'w':
      // A number that is 0 is not written, and its default is another one.
      static_cast<void>(read_or_explained<CreateWorkspaceRequest>(text));
      return;
    case 'a':
      return check_request<CreateMemberRequest>(text);
    case 'n':
      return check_request<JoinRequest>(text);
    case 't':
      return check_request<CreateTopicRequest>(text);
    case 's':
      return check_request<SubscribeRequest>(text);
    case 'q':
      return check_request<CreateQueueRequest>(text);
    default:
      return;
  }
}

void check(std::string_view input) {
  const char choice = fuzz::take_choice(input);
  switch (choice) {
    case 'm':
      return check_message_text(input);
    case 'j':
      return check_jcs(input);
    case 'i':
      return check_ids(input);
    default:
      // The readers take objects, as the broker makes sure.
      if (const auto json = JsonText::parse(input); json.ok() && json.value().is_object()) {
        check_directory(choice, json.value().view());
      }
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(delivery_input, check)

}  // namespace holdfast::fuzz::delivery_input_fuzz
