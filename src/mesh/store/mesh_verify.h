// Checks everything that a store holds, from the bytes up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mesh/store/mesh_store.h"

namespace holdfast::mesh {

struct MeshVerification {
  std::uint64_t operations = 0;
  std::uint64_t signatures = 0;  // that were verified
  std::uint64_t contents = 0;
  std::vector<std::string> problems;  // empty: all is well

  [[nodiscard]] bool ok() const { return problems.empty(); }
};

// Every page of the file; of each operation its hash, columns and signature; the numbers of
// arrival; the clock; the hash of each content file. Then the state is computed again from the
// bytes alone, in another order, and must be the one that is in memory.
Result<MeshVerification> verify_mesh(MeshStore& store);

}  // namespace holdfast::mesh
