// RosterRules: what changes the state that the roster computes. All nodes of a mesh must have the
// same rules, or they disagree about the same operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/hash.h"
#include "mesh/clock/hybrid_time.h"
#include "mesh/ops/node_key.h"

namespace holdfast::mesh {

// Who may release a job whose lease has ended.
enum class ExpireAuthority : std::uint8_t {
  complete,  // nodes that may complete jobs of that kind
  enrolled,  // every node that holds a token in force
};

struct RosterRules {
  // Prefixes of job kinds whose output counts as inference, even without a snapshot.
  std::vector<std::string> inference_kinds = {};
  std::uint64_t max_lease_ms = 0;  // a longer claim is void; 0: no limit
  ExpireAuthority expire_authority = ExpireAuthority::complete;
  // A completion that cites a claim of its author from before the current tenure is void: it comes
  // from a process that lost the job and whose node has claimed it again since.
  bool strict_tenure = false;
  // Only the coordinator derives.
  bool enforce_coordinator = true;
};

// The document that nodes compare before they exchange operations: one "name=value" line for each
// rule in ascending order, also for those that this program does not let a mesh choose. Equal rules
// have equal documents; the order of inference_kinds does not matter.
std::string rules_document(const PublicKey& user, const RosterRules& rules, const SkewLimits& skew);
// BLAKE3 of the document.
Digest rules_hash(const PublicKey& user, const RosterRules& rules, const SkewLimits& skew);

}  // namespace holdfast::mesh

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<mesh::ExpireAuthority>[] = {"complete", "enrolled"};

}  // namespace holdfast
