// Why a job is not running on a node: everything that keeps the node from claiming it, down to the
// missing operation, capability, route or lease.
#pragma once

#include <string>
#include <vector>

#include "mesh/roster/roster.h"

namespace holdfast::mesh {

struct Obstacle {
  enum class Kind : std::uint8_t { schedule, completed, lease, capability, route };
  Kind kind{};
  std::string text;
};

// Empty when the node may claim the job at that time.
std::vector<Obstacle> explain_claim(const Roster& roster, const JobId& job, const PublicKey& node,
                                    const Timestamp& now);

}  // namespace holdfast::mesh
