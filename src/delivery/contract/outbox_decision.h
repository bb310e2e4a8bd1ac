// The outbox decision: what a daemon answers to a send, by the state of the row that has its id
// and by whether the fingerprint is the same. The only free id is one without a row; a row keeps
// its id for ever, also when the message is dead.
//
//   row       same fingerprint           other fingerprint
//   none      202 queued, insert a pending row
//   pending   202 queued                 409 outbox_pending_fingerprint_mismatch
//   inflight  202 inflight               409 outbox_inflight_fingerprint_mismatch
//   done      200 duplicate, with ids    409 outbox_done_fingerprint_mismatch, with the id
//   dead      409 outbox_dead_fingerprint_match, with the reason
//                                        409 outbox_dead_fingerprint_mismatch
//   aborted   409 outbox_aborted_fingerprint_match
//                                        409 outbox_aborted_fingerprint_mismatch
//
// Only the first changes anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/hash.h"

namespace holdfast::delivery {

enum class OutboxState : std::uint8_t { pending, inflight, done, dead, aborted };

// What the decision needs of a row.
struct OutboxRow {
  OutboxState state = OutboxState::pending;
  Digest request_fingerprint{};
  std::string broker_message_id;  // of a done row
  std::string history_id;         // of a done row
  std::string last_error;         // of a dead row
};

enum class SendResult : std::uint8_t {
  queued_new,  // the row must be inserted before the answer is sent
  queued,
  inflight,
  duplicate,
  conflict,
};

struct SendAnswer {
  SendResult result = SendResult::conflict;
  int http_status = 409;
  std::string_view status;    // "queued" or "inflight", of a 202
  std::string_view conflict;  // which of the rules above, of a 409
  std::string broker_message_id;
  std::string history_id;
  std::string reason;
  // Of a 409, 16 hex digits each: of this request, and of the row.
  std::string daemon_fingerprint_prefix;
  std::string stored_fingerprint_prefix;
};

SendAnswer decide_send(const std::optional<OutboxRow>& row, const Digest& request_fingerprint);

}  // namespace holdfast::delivery

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<delivery::OutboxState>[] = {"pending", "inflight",
                                                                         "done", "dead", "aborted"};

}  // namespace holdfast
