// The jobs that remove what has expired, in bounded batches: each call is at most one transaction.
// The caller repeats a job until it has removed everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "delivery/broker/broker_store.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

// Deletes at most `limit` dedupe rows whose window has ended. The rows of a permanent workspace
// have no end. Accepts do not look at the end of a row: as long as it is there, it counts.
Result<std::uint64_t> sweep_dedupe(BrokerStore& store, TimeMs now, std::uint32_t limit);

// A message in the histories of all workspaces, in their order.
struct HistoryPlace {
  std::string mesh_id = {};
  std::string kind = {};
  std::string ref = {};
  std::int64_t history_seq = 0;
  std::string broker_message_id = {};
};

struct Pruned {
  std::uint64_t messages = 0;
  std::optional<HistoryPlace> last = {};  // there may be more behind it
};

// Deletes at most `limit` messages beyond the retention of their workspace, with their ended
// deliveries and mentions, and marks their history and dedupe rows in the same transaction. A
// message with a delivery that has not ended is kept. Looks behind `after`, and not inside the
// transaction, so that accepts do not wait while it finds nothing.
Result<Pruned> prune_messages(BrokerStore& store, TimeMs now, std::uint32_t limit,
                              const HistoryPlace& after = {});

}  // namespace holdfast::delivery
