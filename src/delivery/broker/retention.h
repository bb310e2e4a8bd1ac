// The jobs that remove what has expired, in bounded batches: each call is one transaction. The
// caller repeats a job until it removes nothing.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "delivery/broker/broker_store.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

// Deletes at most `limit` dedupe rows whose window has ended. The rows of a permanent workspace
// have no end. Accepts do not look at the end of a row: as long as it is there, it counts.
Result<std::uint64_t> sweep_dedupe(BrokerStore& store, TimeMs now, std::uint32_t limit);

// Deletes at most `limit` messages beyond the retention of their workspace, with their ended
// deliveries and mentions, and marks their history and dedupe rows in the same transaction. A
// message with a delivery that has not ended is kept.
Result<std::uint64_t> prune_messages(BrokerStore& store, TimeMs now, std::uint32_t limit);

}  // namespace holdfast::delivery
