// The orphan check: looks for rows that the accept transaction and the retention jobs can never
// leave. It reads one consistent snapshot and writes nothing. Every count should be 0.
//
//   O1   a dedupe row without its message, which was not pruned
//   O2   a dedupe row without its history row, which was not pruned
//   O3   a message without a dedupe row, although its dedupe window has not ended
//   O4   a dedupe row and a message of one id that differ in broker id or destination
//   O5   a history row without a message that is not marked as pruned, or a gap in a sequence
//   O6   a delivery without its message, or of a message without its dedupe row
//   O7   a message with fewer or more deliveries than it had recipients
//   O8   a mention without its message
//   O9   a stored fingerprint that is not that of the stored message (of the newest ones)
//   O10  a dedupe row that is marked as pruned while its message exists
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "delivery/broker/broker_store.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

inline constexpr std::size_t kOrphanClasses = 10;

struct OrphanReport {
  // By workspace (mesh_id): how many of each class; [0] is O1.
  std::map<std::string, std::array<std::uint64_t, kOrphanClasses>> found;

  [[nodiscard]] std::uint64_t total() const;
};

// "O1" to "O10", and what it means.
std::string orphan_name(std::size_t index);
std::string_view orphan_meaning(std::size_t index);

struct OrphanCheckOptions {
  std::uint32_t fingerprints = 1000;  // how many messages O9 computes again
};

Result<OrphanReport> check_orphans(BrokerStore& store, TimeMs now,
                                   const OrphanCheckOptions& options);

}  // namespace holdfast::delivery
