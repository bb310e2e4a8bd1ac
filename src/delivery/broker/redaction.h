// Redaction: an administrator removes the content of a message after it was accepted. Body and meta
// are deleted and the history entry is marked. The entry keeps its number, deliveries and mentions
// stay, and the dedupe row is not touched: a retry still gets the ids of the message.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "delivery/broker/sql_session.h"
#include "delivery/contract/envelope.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct RedactedMessage {
  std::string broker_message_id;
  std::string history_id;
  Destination destination;
  std::uint64_t history_seq = 0;
  TimeMs redacted_at;
};

// Repeated: the time of the first. not_found when the workspace has no such message, or retention
// has removed it.
Result<RedactedMessage> redact_message(SqlSession& session, std::string_view mesh_id,
                                       std::string_view broker_message_id, TimeMs now);

}  // namespace holdfast::delivery
