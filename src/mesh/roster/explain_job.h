// Why a job is not running on a node: everything that keeps the node from claiming it, down to the
// missing operation, key, token, route or lease.
#pragma once

#include <string>
#include <vector>

#include "mesh/roster/replica.h"

namespace holdfast::mesh {

struct Obstacle {
  enum class Kind : std::uint8_t { schedule, completed, lease, claim, key, capability, route };
  Kind kind{};
  std::string text;
};

// Empty when the node may claim the job at that time, by what this replica knows.
std::vector<Obstacle> explain_claim(const Replica& replica, const JobId& job, const PublicKey& node,
                                    const Timestamp& now);

}  // namespace holdfast::mesh
