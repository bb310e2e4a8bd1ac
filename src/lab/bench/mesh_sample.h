// MeshSample: a mesh whose owner schedules jobs that workers claim and complete, three operations
// for each job, in the order of their timestamps. The same numbers give the same operations.
#pragma once

#include <vector>

#include "mesh/capabilities/token.h"
#include "mesh/roster/op_record.h"

namespace holdfast {

class MeshSample {
 public:
  MeshSample();

  [[nodiscard]] mesh::PublicKey user() const { return user_.public_key(); }
  [[nodiscard]] const mesh::SigningKey& owner() const { return nodes_.front(); }
  // The bootstrap of every node.
  [[nodiscard]] std::vector<mesh::VerifiedOperation> bootstraps() const;
  // Operation number `index`; number 3 * n schedules job n.
  [[nodiscard]] mesh::VerifiedOperation operation(std::uint64_t index) const;
  // Its wire bytes, with a signature.
  [[nodiscard]] std::vector<std::byte> signed_bytes(std::uint64_t index) const;
  // A claim of a job by another worker, one millisecond before the one in operation().
  [[nodiscard]] mesh::VerifiedOperation late_claim(std::uint64_t job) const;
  static mesh::JobId job(std::uint64_t number);

 private:
  [[nodiscard]] const mesh::SigningKey& worker(std::uint64_t job) const;
  [[nodiscard]] mesh::Operation unsigned_operation(std::uint64_t index) const;

  mesh::SigningKey user_;
  std::vector<mesh::SigningKey> nodes_;  // the owner, then the workers
};

}  // namespace holdfast
