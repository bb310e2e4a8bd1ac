#include "delivery/contract/outbox_decision.h"

#include <array>

#include "delivery/contract/envelope.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

// Which of the row's texts an answer carries.
enum class Carries : std::uint8_t { nothing, ids, broker_id, reason };

struct Rule {
  SendResult result;
  int http_status;
  std::string_view word;  // the status of a 202, the conflict of a 409
  Carries carries = Carries::nothing;
};

struct StateRules {
  OutboxState state;
  Rule match;
  Rule mismatch;
};

constexpr auto kRules = std::to_array<StateRules>({
    {OutboxState::pending,
     {SendResult::queued, 202, "queued"},
     {SendResult::conflict, 409, "outbox_pending_fingerprint_mismatch"}},
    {OutboxState::inflight,
     {SendResult::inflight, 202, "inflight"},
     {SendResult::conflict, 409, "outbox_inflight_fingerprint_mismatch"}},
    {OutboxState::done,
     {SendResult::duplicate, 200, "", Carries::ids},
     {SendResult::conflict, 409, "outbox_done_fingerprint_mismatch", Carries::broker_id}},
    {OutboxState::dead,
     {SendResult::conflict, 409, "outbox_dead_fingerprint_match", Carries::reason},
     {SendResult::conflict, 409, "outbox_dead_fingerprint_mismatch"}},
    {OutboxState::aborted,
     {SendResult::conflict, 409, "outbox_aborted_fingerprint_match"},
     {SendResult::conflict, 409, "outbox_aborted_fingerprint_mismatch"}},
});

const Rule& rule_for(const OutboxRow& row, const Digest& fingerprint) {
  const StateRules& rules = kRules[static_cast<std::size_t>(row.state)];
  HOLDFAST_ASSERT(rules.state == row.state);
  return row.request_fingerprint == fingerprint ? rules.match : rules.mismatch;
}

}  // namespace

SendAnswer decide_send(const std::optional<OutboxRow>& row, const Digest& request_fingerprint) {
  SendAnswer answer;
  if (!row.has_value()) {
    answer.result = SendResult::queued_new;
    answer.http_status = 202;
    answer.status = "queued";
    return answer;
  }
  HOLDFAST_ASSERT(row->state != OutboxState::done || !row->broker_message_id.empty());
  const Rule& rule = rule_for(*row, request_fingerprint);
  answer.result = rule.result;
  answer.http_status = rule.http_status;
  if (rule.result == SendResult::conflict) {
    answer.conflict = rule.word;
    answer.daemon_fingerprint_prefix = fingerprint_prefix(request_fingerprint);
    answer.stored_fingerprint_prefix = fingerprint_prefix(row->request_fingerprint);
  } else {
    answer.status = rule.word;
  }
  if (rule.carries == Carries::ids || rule.carries == Carries::broker_id) {
    answer.broker_message_id = row->broker_message_id;
  }
  if (rule.carries == Carries::ids) {
    answer.history_id = row->history_id;
  }
  if (rule.carries == Carries::reason) {
    answer.reason = row->last_error;
  }
  return answer;
}

}  // namespace holdfast::delivery
