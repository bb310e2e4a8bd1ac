// What is said to a sender about its message beside the name of the rejection: what was wrong,
// where, and what to do. Says nothing about ids, and nothing to strangers that depends on rows.
#pragma once

#include <string>

#include "delivery/broker/broker_directory.h"
#include "delivery/contract/message_request.h"
#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

struct RefusedMessage {
  const std::string& slug;     // of the workspace, as the request names it
  const Workspace& workspace;  // without values when the caller is not a member
  const Message* message;      // null when the request was not checked
};

// Of unknown_destination, destination_closed and not_allowed.
std::string destination_detail(Rejection rejection, const Destination& to);

// Empty: the line of the rejection says everything.
std::string refusal_detail(Rejection rejection, const RefusedMessage& refused);

}  // namespace holdfast::delivery
