// Which entity stands for which, after merges and splits.
//
// Merges are taken in a fixed order, whatever their times: those of authors that speak for the user
// first, then by descending operation id. Each redirects the entities it consumes to its survivor;
// an entity keeps the first redirect it gets, and a redirect that would close a cycle is dropped. A
// split undoes the redirects of its entity by merges with a smaller operation id.
#pragma once

#include <map>
#include <vector>

#include "mesh/ops/mesh_ids.h"

namespace holdfast::mesh {

struct EntityMerge {
  OpId op;
  bool by_user = false;
  EntityId survivor;
  std::vector<EntityId> consumed;
};

struct EntitySplit {
  OpId op;
  EntityId original;
};

// From each consumed entity to the one it was merged into, which may be consumed itself.
using EntityRedirects = std::map<EntityId, EntityId>;

// The result does not depend on the order of the arguments.
EntityRedirects redirect_entities(std::vector<EntityMerge> merges,
                                  const std::vector<EntitySplit>& splits);
// The entity that stands for this one; itself when it is not consumed.
EntityId resolve_entity(const EntityRedirects& redirects, EntityId entity);

}  // namespace holdfast::mesh
