// What a broker delivers, as messages of the inbox. Nothing that a broker or another member sends
// can stop the daemon: a delivery that is not valid is dropped and counted, and acknowledged if it
// has a number, because it would only come again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "delivery/daemon/inbox.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

// Whose messages they are.
struct InboundOwner {
  std::string mesh;
  std::string pubkey;
};

struct Inbound {
  std::vector<InboxMessage> messages;
  std::vector<std::uint64_t> delivery_ids;  // to acknowledge once the messages are stored
  std::string lease;
  std::uint64_t invalid = 0;
};

// A push frame, or a response of GET /v1/deliveries. invalid_json, invalid_argument: it has no list
// of deliveries.
Result<Inbound> read_deliveries(std::string_view json, const InboundOwner& owner);
// A history frame. Messages of the owner itself, and those without their text, are left out.
Result<Inbound> read_history_frame(std::string_view json, const InboundOwner& owner);

}  // namespace holdfast::delivery
