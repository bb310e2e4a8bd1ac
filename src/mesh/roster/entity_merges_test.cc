#include "mesh/roster/entity_merges.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::mesh::entity_merges_test {
namespace {

template <typename T>
T numbered(unsigned number) {
  T id;
  id.bytes[15] = static_cast<std::byte>(number);
  return id;
}

EntityMerge merge(unsigned op, unsigned survivor, std::vector<unsigned> consumed,
                  bool by_user = false) {
  EntityMerge result{numbered<OpId>(op), by_user, numbered<EntityId>(survivor), {}};
  for (const unsigned number : consumed) {
    result.consumed.push_back(numbered<EntityId>(number));
  }
  return result;
}

EntitySplit split(unsigned op, unsigned original) {
  return {numbered<OpId>(op), numbered<EntityId>(original)};
}

// Who stands for entities 1 to 4.
std::vector<unsigned> resolved(const EntityRedirects& redirects) {
  std::vector<unsigned> found;
  for (unsigned entity = 1; entity <= 4; ++entity) {
    const EntityId id = resolve_entity(redirects, numbered<EntityId>(entity));
    found.push_back(static_cast<unsigned>(id.bytes[15]));
  }
  return found;
}

using Numbers = std::vector<unsigned>;

TEST(EntityMerges, a_consumed_entity_is_represented_by_the_last_survivor) {
  EXPECT_EQ(resolved(redirect_entities({}, {})), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(resolved(redirect_entities({merge(1, 1, {2, 3}), merge(2, 4, {1})}, {})),
            (Numbers{4, 4, 4, 4}));
}

TEST(EntityMerges, the_user_comes_first_then_the_larger_id) {
  EXPECT_EQ(resolved(redirect_entities({merge(1, 1, {3}), merge(2, 2, {3})}, {})),
            (Numbers{1, 2, 2, 4}));
  EXPECT_EQ(resolved(redirect_entities({merge(1, 1, {3}, true), merge(2, 2, {3})}, {})),
            (Numbers{1, 2, 1, 4}));
}

TEST(EntityMerges, a_merge_that_closes_a_cycle_is_dropped) {
  EXPECT_EQ(resolved(redirect_entities({merge(1, 1, {2}), merge(2, 2, {1})}, {})),
            (Numbers{2, 2, 3, 4}));
  EXPECT_EQ(resolved(redirect_entities({merge(1, 1, {1})}, {})), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(resolved(redirect_entities({merge(3, 1, {2}), merge(2, 2, {3}), merge(1, 3, {1})}, {})),
            (Numbers{1, 1, 1, 4}));
}

TEST(EntityMerges, a_split_undoes_earlier_merges_of_its_entity) {
  EXPECT_EQ(resolved(redirect_entities({merge(1, 1, {2})}, {split(2, 2)})), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(resolved(redirect_entities({merge(3, 1, {2})}, {split(2, 2)})), (Numbers{1, 1, 3, 4}));
  EXPECT_EQ(resolved(redirect_entities({merge(1, 1, {2})}, {split(2, 1)})), (Numbers{1, 1, 3, 4}));
}

TEST(EntityMerges, the_order_of_arrival_does_not_matter) {
  std::vector<EntityMerge> merges{merge(1, 1, {2, 3}), merge(2, 2, {1}, true), merge(3, 3, {4}),
                                  merge(4, 4, {2, 1})};
  const auto before = [](const EntityMerge& left, const EntityMerge& right) {
    return left.op < right.op;
  };
  const EntityRedirects expected = redirect_entities(merges, {split(2, 4), split(9, 3)});
  while (std::next_permutation(merges.begin(), merges.end(), before)) {
    EXPECT_EQ(redirect_entities(merges, {split(9, 3), split(2, 4)}), expected);
  }
}

}  // namespace
}  // namespace holdfast::mesh::entity_merges_test
