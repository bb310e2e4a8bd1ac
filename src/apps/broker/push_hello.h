// Who opens a connection for pushes: by its token, or by a signature with its key.
#pragma once

#include <string>
#include <string_view>

#include "apps/broker/broker_service.h"
#include "delivery/api/push_frames.h"
#include "delivery/broker/broker_lookup.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct GreetedMember {
  LookupResult caller;
  std::string name;
};

// Waits for the store. nonce: of the challenge that the broker sent on this connection. The errors
// are rejections: invalid_request, unauthenticated (also for a key that is not a member's),
// not_a_member, member_revoked.
Result<GreetedMember> authenticate_hello(BrokerService& service, const HelloFrame& hello,
                                         std::string_view nonce);

}  // namespace holdfast::delivery
