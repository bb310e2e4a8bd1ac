#include "mesh/roster/ref_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace holdfast::mesh::ref_table_test {
namespace {

// The keys of the numbers: few hashes, so that runs of slots get long and wrap around the end.
std::uint32_t hash_of(Ref ref) { return ref % 7 == 0 ? ~0U : ref % 11; }

Ref draw(std::mt19937& random, Ref limit) { return static_cast<Ref>(random() % limit); }

Ref find(const RefTable& table, Ref key) {
  return table.find(hash_of(key), [&](Ref ref) { return ref == key; });
}

TEST(RefTable, finds_what_is_in_it_after_any_insertions_and_erasures) {
  std::mt19937 random(7);
  RefTable table;
  std::set<Ref> in_it;
  for (int step = 0; step < 4000; ++step) {
    const Ref key = draw(random, 64);
    if (in_it.contains(key)) {
      table.erase(hash_of(key), key);
      in_it.erase(key);
    } else {
      table.insert(hash_of(key), key);
      in_it.insert(key);
    }
    ASSERT_EQ(table.size(), in_it.size());
    for (Ref each = 0; each < 64; ++each) {
      ASSERT_EQ(find(table, each), in_it.contains(each) ? each : kNoRef) << "step " << step;
    }
  }
}

TEST(RefTable, an_empty_table_finds_nothing) { EXPECT_EQ(find(RefTable(), 1), kNoRef); }

TEST(RefTable, equal_hashes_need_the_comparison) {
  RefTable table;
  for (Ref ref = 0; ref < 100; ++ref) {
    table.insert(5, ref);
  }
  EXPECT_EQ(table.find(5, [](Ref ref) { return ref == 42; }), 42U);
  EXPECT_EQ(table.find(5, [](Ref) { return false; }), kNoRef);
}

TEST(RefLists, keep_many_lists_apart_and_use_freed_links_again) {
  std::mt19937 random(8);
  RefLists lists;
  std::map<unsigned, RefLists::Head> heads;
  std::map<unsigned, std::multiset<Ref>> expected;
  for (unsigned list = 0; list < 5; ++list) {
    heads[list] = kNoRef;
  }
  for (int step = 0; step < 4000; ++step) {
    const unsigned list = draw(random, 5);
    const Ref ref = draw(random, 9);
    if (const auto known = expected[list].find(ref); known != expected[list].end()) {
      lists.erase(heads[list], ref);
      expected[list].erase(known);
    } else {
      lists.push(heads[list], ref);
      expected[list].insert(ref);
    }
    std::multiset<Ref> got;
    for (const Ref each : lists.in(heads[list])) {
      got.insert(each);
    }
    ASSERT_EQ(got, expected[list]) << "step " << step;
  }
}

}  // namespace
}  // namespace holdfast::mesh::ref_table_test
