// OutboxEntry: one row of the outbox, and the statements that find and insert rows.
//
// Every function runs inside a transaction of OutboxStore.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "delivery/broker/sql_session.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/outbox_decision.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct OutboxEntry {
  std::string id;
  std::string client_message_id;
  Digest request_fingerprint{};
  std::uint32_t envelope_version = kEnvelopeVersion;
  std::string mesh;
  Destination destination;
  std::string to_text;
  Priority priority = Priority::next;
  std::string ordering_key;
  std::string reply_to_id;
  std::string meta;
  std::vector<std::string> mentions;
  std::string payload;
  std::optional<TimeMs> payload_pruned_at;
  TimeMs enqueued_at;
  std::optional<TimeMs> first_sent_at;  // in the time of the broker
  std::optional<TimeMs> last_attempt_at;
  std::uint64_t attempts = 0;
  std::uint64_t deferrals = 0;  // equal failures in a row
  bool ambiguous = false;       // an attempt may have been accepted
  bool poison_suspect = false;  // left its lane
  TimeMs next_attempt_at;
  OutboxState status = OutboxState::pending;
  std::string lease_token;
  std::optional<TimeMs> lease_until;
  std::string last_error;
  std::uint64_t last_status = 0;
  std::optional<TimeMs> delivered_at;
  std::string broker_message_id;
  std::string history_id;
  std::optional<TimeMs> aborted_at;
  std::string aborted_by;
  std::string abort_reason;
  std::string superseded_by;  // id of another row
  std::string supersedes;
  std::string late_broker_message_id;
};

// The rows that are sent one after the other: those of one destination, priority and ordering key.
struct Lane {
  std::string mesh;
  DestinationKind kind = DestinationKind::topic;
  std::string ref;
  Priority priority = Priority::next;
  std::string ordering_key;
  std::string parked_id;  // of a row that left its lane: it is alone
  friend auto operator<=>(const Lane&, const Lane&) = default;
};
Lane lane_of(const OutboxEntry& entry);

// SELECT of all columns, to be followed by conditions.
std::string select_outbox(std::string_view rest);
OutboxEntry outbox_entry_of(const std::vector<SqlCell>& cells);

Result<std::optional<OutboxEntry>> find_outbox_entry(SqlSession& sql, std::string_view id);
Result<std::optional<OutboxEntry>> find_by_client_id(SqlSession& sql, std::string_view client_id);
// A pending row at the tail, from the members of a message; enqueued_at is also when it is due
// unless next_attempt_at is later.
Result<void> insert_outbox_entry(SqlSession& sql, const OutboxEntry& entry);

// What the decision on a send needs of a row.
OutboxRow decision_row(const OutboxEntry& entry);

}  // namespace holdfast::delivery
