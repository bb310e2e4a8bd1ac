#include "mesh/roster/entity_merges.h"

#include <algorithm>
#include <tuple>

#include "holdfast/assert.h"

namespace holdfast::mesh {

EntityId resolve_entity(const EntityRedirects& redirects, EntityId entity) {
  std::size_t steps = 0;
  for (auto next = redirects.find(entity); next != redirects.end(); next = redirects.find(entity)) {
    entity = next->second;
    HOLDFAST_ASSERT(++steps <= redirects.size());  // there are no cycles
  }
  return entity;
}

EntityRedirects redirect_entities(std::vector<EntityMerge> merges,
                                  const std::vector<EntitySplit>& splits) {
  std::sort(merges.begin(), merges.end(), [](const EntityMerge& left, const EntityMerge& right) {
    return std::tie(right.by_user, right.op) < std::tie(left.by_user, left.op);
  });
  std::map<EntityId, OpId> last_splits;
  for (const EntitySplit& split : splits) {
    OpId& last = last_splits.try_emplace(split.original, split.op).first->second;
    last = std::max(last, split.op);
  }
  EntityRedirects redirects;
  for (const EntityMerge& merge : merges) {
    for (const EntityId& consumed : merge.consumed) {
      const auto split = last_splits.find(consumed);
      const bool undone = split != last_splits.end() && merge.op < split->second;
      if (!undone && !redirects.contains(consumed) &&
          resolve_entity(redirects, merge.survivor) != consumed) {
        redirects.emplace(consumed, merge.survivor);
      }
    }
  }
  return redirects;
}

}  // namespace holdfast::mesh
