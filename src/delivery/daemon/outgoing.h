// Outgoing: a message as a program gives it to its daemon, after every check that needs nothing but
// the message itself. A message that fails a check leaves no row, and its id stays free.
//
// A destination is written as one text:
//   #NAME or topic:NAME   a topic
//   queue:NAME            a queue
//   KEY or dm:KEY         the member with this public key, 64 lower-case hex digits
//   NAME                  the member with this display name, if the daemon knows it
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "delivery/contract/envelope.h"
#include "delivery/contract/message_id.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

// The text of a destination. No destination: a display name, which must be looked up.
// invalid_request when it is none of these forms.
Result<std::optional<Destination>> parse_destination(std::string_view text);

struct Outgoing {
  std::optional<ClientMessageId> id;  // none: the daemon makes one
  std::string mesh;                   // the name of the workspace
  std::string to_text;
  std::optional<Destination> destination;  // none: to_text is a name that could not be looked up
  std::string ordering_key;                // narrows the lane; empty: none
  std::string reply_to_id;
  Priority priority = Priority::next;
  std::string meta;  // in canonical form; empty: none
  std::vector<std::string> mentions;
  std::string body;
};

// Everything but the destination: the reply-to, the mentions, the ordering key, the body (UTF-8).
// invalid_request.
Result<void> check_outgoing(const Outgoing& message);

// The envelope of a message to this destination.
Envelope envelope_of(const Outgoing& message, const Destination& destination);

}  // namespace holdfast::delivery
