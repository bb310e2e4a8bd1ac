// The oracle of the mesh: verdicts and job states of a set of operations, computed in the slowest
// and plainest way, by the written rules and without the code under test. It sorts the operations,
// folds them once with running state, and looks at all tokens for each operation.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mesh/roster/op_record.h"
#include "mesh/roster/roster_rules.h"

namespace holdfast::mesh {

struct OracleJob {
  std::string kind;
  std::string phase;  // Pending, Claimed, Completed
  std::optional<NodeId> claimer;
  std::optional<std::uint64_t> deadline_ms;
  int attempts = 0;
  int yields = 0;
  int expiries = 0;
  bool operator==(const OracleJob&) const = default;
};

struct OracleResult {
  std::map<Digest, std::string> verdicts;  // by hash of the operation, as to_text writes them
  std::map<JobId, OracleJob> jobs;
};

OracleResult consult_oracle(const PublicKey& user, const RosterRules& rules,
                            std::vector<VerifiedOperation> operations);

}  // namespace holdfast::mesh
