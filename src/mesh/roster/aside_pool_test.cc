#include "mesh/roster/aside_pool.h"

#include <gtest/gtest.h>

namespace holdfast::mesh::aside_pool_test {
namespace {

Digest hash_of(unsigned number) {
  Digest hash{};
  hash[0] = static_cast<std::byte>(number);
  return hash;
}

// Adds and returns what had to leave.
std::vector<unsigned> add(AsidePool& pool, unsigned number, std::uint64_t author,
                          std::size_t bytes = 1) {
  pool.add(hash_of(number), {author}, bytes);
  std::vector<unsigned> left;
  while (const auto next = pool.overflow()) {
    EXPECT_TRUE(pool.remove(*next));
    left.push_back(static_cast<unsigned>((*next)[0]));
  }
  return left;
}

using Left = std::vector<unsigned>;

TEST(AsidePool, an_author_beyond_its_limit_loses_its_own_oldest) {
  AsidePool pool({.author_ops = 2, .author_bytes = 100, .total_ops = 10, .total_bytes = 1000});
  EXPECT_EQ(add(pool, 1, 7), Left{});
  EXPECT_EQ(add(pool, 2, 8), Left{});
  EXPECT_EQ(add(pool, 3, 8), Left{});
  EXPECT_EQ(add(pool, 4, 8), Left{2});
  EXPECT_EQ(add(pool, 5, 8, 99), Left{3});
  EXPECT_EQ(add(pool, 6, 8, 50), (Left{4, 5}));
  EXPECT_TRUE(pool.contains(hash_of(1)));
}

TEST(AsidePool, when_all_are_too_many_the_oldest_of_all_leaves) {
  AsidePool pool({.author_ops = 5, .author_bytes = 100, .total_ops = 3, .total_bytes = 100});
  for (unsigned number = 1; number <= 3; ++number) {
    EXPECT_EQ(add(pool, number, number), Left{});
  }
  EXPECT_EQ(add(pool, 4, 4), Left{1});
  EXPECT_EQ(add(pool, 5, 5, 99), (Left{2, 3}));
}

TEST(AsidePool, what_left_frees_its_place) {
  AsidePool pool({.author_ops = 1, .author_bytes = 10, .total_ops = 1, .total_bytes = 10});
  EXPECT_EQ(add(pool, 1, 7, 10), Left{});
  EXPECT_TRUE(pool.remove(hash_of(1)));
  EXPECT_FALSE(pool.remove(hash_of(1)));
  EXPECT_EQ(add(pool, 2, 7, 10), Left{});
  EXPECT_EQ(pool.size(), 1U);
  EXPECT_EQ(pool.bytes(), 10U);
}

}  // namespace
}  // namespace holdfast::mesh::aside_pool_test
