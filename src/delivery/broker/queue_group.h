// QueueGroup: what consumers of queues want, carried out together inside one transaction. First
// every lease that is ended or extended, then what has become due, then the claims, in their order.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "delivery/broker/queue_rows.h"

namespace holdfast::delivery {

struct QueueClaim {
  QueueKey queue = {};
  std::string member_id = {};
  std::uint32_t limit = 1;
  std::string key = {};       // only messages with this ordering key; empty: any
  std::string lease = {};     // what this lease holds does not block its lanes; empty: a new one
  std::int64_t lease_ms = 0;  // 0: that of the queue
};

struct QueueClaimed {
  std::string lease;
  TimeMs lease_until;
  std::vector<QueueMessage> messages;
  std::optional<TimeMs> next_at;  // there was nothing: when something is due
};

// Ends or extends what the caller holds under a lease.
struct QueueSettle {
  QueueKey queue = {};
  std::string member_id = {};
  std::string lease = {};
  std::vector<std::string> broker_message_ids = {};
  QueueSettlement::Kind kind = QueueSettlement::Kind::ack;
  std::int64_t delay_ms = 0;
  std::int64_t lease_ms = 0;  // 0: that of the queue
  std::string reason = {};
};

struct QueueSettled {
  std::vector<std::string> settled;  // also those that are dead now
  std::vector<std::string> dead;
  std::vector<std::pair<std::string, QueueFence>> fenced;
  TimeMs lease_until;  // of an extension
};

using QueueCommand = std::variant<QueueClaim, QueueSettle>;
using QueueReply = std::variant<QueueClaimed, QueueSettled>;

// What happened besides the replies.
struct QueueEvents {
  std::uint64_t leases_ended = 0;
  std::uint64_t dead = 0;
  bool more_ready = false;  // for others: messages became ready without a new message
};

class QueueGroup {
 public:
  QueueGroup(SqlSession& session, TimeMs now, std::function<std::string()> new_lease)
      : session_(session), now_(now), new_lease_(std::move(new_lease)) {}

  // Reads and decides. One reply for each command, in their order; not_found, permission_denied and
  // invalid_argument are of the command alone.
  Result<std::vector<Result<QueueReply>>> run(std::span<const QueueCommand> commands);
  [[nodiscard]] const QueueEvents& events() const { return events_; }

 private:
  using Indexes = std::vector<std::size_t>;  // of commands

  Result<void> lock(std::span<const QueueCommand> commands);
  Result<void> settle(std::span<const QueueCommand> commands);
  QueueSettled settle_one(const QueueSettle& settle);
  [[nodiscard]] std::optional<Error> refusal(const QueueClaim& claim, ConsumerGrant grant) const;
  Result<std::map<QueueKey, Indexes>> permitted(std::span<const QueueCommand> commands);
  Result<void> advance(const QueueKey& queue);
  Result<void> claim_queue(const QueueKey& queue, std::span<const QueueCommand> commands,
                           const Indexes& claims);
  Result<void> claim_shared(const QueueKey& queue, std::span<const QueueCommand> commands,
                            const Indexes& claims);
  Result<void> claim_lanes(const QueueClaim& claim, QueueClaimed& reply);
  QueueClaimed begin_reply(const QueueClaim& claim) const;
  PlaceRow leased(const QueueClaim& claim, QueueClaimed& reply, const QueueCandidate& candidate);
  Result<void> read_claimed(const QueueKey& queue, const Indexes& claims);
  QueueClaimed& claimed(std::size_t index);

  SqlSession& session_;
  const TimeMs now_;
  const std::function<std::string()> new_lease_;
  std::map<QueueKey, QueueSettings> queues_;
  std::map<std::pair<QueueKey, std::string>, std::optional<QueuePlace>> places_;
  std::vector<Result<QueueReply>> replies_;
  QueueEvents events_;
};

// Changes the messages of a queue that have become due; false: there may be more.
Result<bool> advance_queue(SqlSession& session, const QueueKey& queue,
                           const QueueSettings& settings, TimeMs now, QueueEvents& events);

}  // namespace holdfast::delivery
