#include "delivery/broker/accept_facts.h"

#include "holdfast/assert.h"

namespace holdfast::delivery {

DestinationState destination_state(DestinationKind kind, const DestinationFacts& facts) {
  switch (kind) {
    case DestinationKind::topic:
      if (!facts.exists) {
        return DestinationState::topic_missing;
      }
      if (facts.ended) {
        return DestinationState::topic_archived;
      }
      if (facts.sender_role.empty() && facts.access == "closed") {
        return DestinationState::not_subscribed;
      }
      return facts.sender_role == "reader" ? DestinationState::post_not_allowed
                                           : DestinationState::open;
    case DestinationKind::dm:
      if (!facts.exists) {
        return DestinationState::recipient_missing;
      }
      return facts.ended ? DestinationState::recipient_revoked : DestinationState::open;
    case DestinationKind::queue:
      return facts.exists ? DestinationState::open : DestinationState::queue_missing;
  }
  HOLDFAST_ASSERT(false);
  return DestinationState::topic_missing;
}

ClaimState claim_state(const AcceptRow& row, const std::optional<DedupeRecord>& record) {
  if (!record.has_value()) {
    return ClaimState::vanished;
  }
  if (record->broker_message_id == row.broker_message_id) {
    return ClaimState::ours;
  }
  return record->fingerprint == row.message.fingerprint ? ClaimState::match : ClaimState::mismatch;
}

bool is_accepted(const AcceptOutcome& outcome) {
  return std::holds_alternative<Accepted>(outcome.answer.answer);
}

DedupeRecord record_of(const AcceptRow& row) {
  return {row.broker_message_id, row.history_id, row.message.fingerprint, row.now,
          /*history_available=*/true};
}

TimeMs due_at_of(const AcceptRow& row) {
  const TimeMs not_before = row.message.queue.not_before;
  return not_before > row.now ? not_before : TimeMs{0};
}

std::string name_key(std::string_view name) {
  std::string key(name);
  for (char& c : key) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return key;
}

}  // namespace holdfast::delivery
