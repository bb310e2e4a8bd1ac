// Queues: each message of a queue is given to one consumer at a time, under a lease, until it is
// acknowledged, dead or discarded.
//
// Calls that wait together share a transaction, whatever they want. Thread-safe; each call returns
// when its outcome is durable.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/group_runner.h"
#include "delivery/broker/queue_group.h"
#include "delivery/contract/message_id.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

// Counted since the start of the process.
struct QueueCounters {
  std::atomic<std::uint64_t> claimed{0};
  std::atomic<std::uint64_t> redelivered{0};  // of the claimed: not for the first time
  std::atomic<std::uint64_t> acked{0};
  std::atomic<std::uint64_t> nacked{0};
  std::atomic<std::uint64_t> extended{0};
  std::atomic<std::uint64_t> fenced{0};
  std::atomic<std::uint64_t> leases_ended{0};
  std::atomic<std::uint64_t> dead{0};
  std::atomic<std::uint64_t> redriven{0};
  std::atomic<std::uint64_t> discarded{0};
};

// Which dead messages an operator means.
struct DeadSelection {
  QueueKey queue = {};
  std::vector<std::string> broker_message_ids = {};  // empty: all, in their order
  std::string reason = {};                           // of all: only these; empty: any
  std::uint32_t limit = 0;                           // of all
};

class Queues {
 public:
  // All must outlive it.
  Queues(BrokerStore& store, Clock& clock, Random& random);

  // unknown_destination, not_allowed and member_revoked as rejections; invalid_argument.
  Result<QueueClaimed> claim(QueueClaim claim);
  Result<QueueSettled> settle(QueueSettle settle);

  // The ids of the messages that were dead and are ready again, or discarded. Of a preview those
  // that would be, and nothing changes.
  enum class Preview : std::uint8_t { no, yes };
  Result<std::vector<std::string>> redrive(const DeadSelection& selection, std::int64_t delay_ms,
                                           Preview preview);
  Result<std::vector<std::string>> discard(const DeadSelection& selection, Preview preview);

  // Where messages are, to their sender: by its own ids. no value: the queue has none.
  struct Sent {
    std::string client_message_id;
    std::string broker_message_id;
    std::optional<QueuePlace> place;  // none: there is no such message
  };
  Result<std::vector<Sent>> find(const QueueKey& queue, const std::string& sender_member_id,
                                 const std::vector<std::string>& client_message_ids);
  // Takes them back, also from their consumers; the place before. They are discarded, or dead where
  // there is a reason. One that is done or discarded stays as it is.
  Result<std::vector<Sent>> withdraw(const QueueKey& queue, const std::string& sender_member_id,
                                     const std::vector<std::string>& client_message_ids,
                                     const std::string& dead_reason = {});

  // The job: ends what is due in every queue. Nothing is written when nothing is.
  Result<QueueEvents> advance_all();

  [[nodiscard]] const QueueCounters& counters() const { return counters_; }

 private:
  std::vector<Result<QueueReply>> run_group(std::vector<QueueCommand> commands);
  Result<std::vector<std::string>> change_dead(
      const DeadSelection& selection, Preview preview,
      const std::function<QueuePlace(const QueuePlace&)>& change);
  void count(const QueueEvents& events);
  std::string new_lease();

  BrokerStore& store_;
  Clock& clock_;
  Random& random_;
  QueueCounters counters_;
  GroupRunner<QueueCommand, QueueReply> commands_;
  std::mutex lease_mutex_;
  UlidSequence leases_;  // guarded by lease_mutex_
};

}  // namespace holdfast::delivery
