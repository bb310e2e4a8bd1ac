// Random histories of small meshes: two to seven nodes, few jobs and moments, so that everything
// meets everything. Includes delegations, revocations, routes, coordinators, twins, stolen ids,
// missing and circular dependencies, and clocks that differ.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "mesh/roster/op_record.h"

namespace holdfast::mesh {

class HistoryMaker {
 public:
  explicit HistoryMaker(std::uint64_t seed);

  // All different; in no order.
  std::vector<VerifiedOperation> make();
  // A number below the limit.
  unsigned draw(unsigned limit);

 private:
  Operation any_operation();
  void add_tenures();
  Payload any_payload();
  Payload any_job_payload(NodeId author);
  Payload any_knowledge_payload();
  std::vector<OpId> any_dependencies();
  void cite_claims(Operation& operation);
  void link_output(Operation& operation);
  void add(Operation operation);

  std::mt19937_64 random_;
  std::vector<VerifiedOperation> ops_;
  unsigned nodes_ = 0;
  unsigned author_ = 0;
};

PublicKey history_user();
std::string describe(const VerifiedOperation& operation);

}  // namespace holdfast::mesh
