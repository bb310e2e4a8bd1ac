// The number at the tests is that of docs/mesh-tests.md.
#include "mesh/ops/frontier.h"

#include <gtest/gtest.h>

#include "tests/support/mesh_samples.h"

namespace holdfast::mesh::frontier_test {
namespace {

TEST(Frontier, has_the_golden_bytes) {  // 9
  EXPECT_EQ(hex_of(encode_frontier({})), "00");
  EXPECT_EQ(to_base64url(encode_frontier({})), "AA");
  Frontier frontier;
  advance(frontier, {1700000000001, 2, {7}});
  advance(frontier, {1700000000000, 0, {3}});
  EXPECT_EQ(hex_of(encode_frontier(frontier)), "020380d095ffbc3100030781d095ffbc310207");
  EXPECT_EQ(to_base64url(encode_frontier(frontier)), "AgOA0JX_vDEAAweB0JX_vDECBw");
  EXPECT_EQ(decode_frontier(encode_frontier(frontier)).value(), frontier);
}

TEST(Frontier, nodes_ascend_and_nothing_follows) {  // 9
  EXPECT_FALSE(decode_frontier(unhex("020781d095ffbc3102070380d095ffbc310003")).ok());
  EXPECT_FALSE(decode_frontier(unhex("020380d095ffbc3100030380d095ffbc310003")).ok());
  EXPECT_FALSE(decode_frontier(unhex("0000")).ok());
  EXPECT_FALSE(decode_frontier(unhex("01")).ok());
  EXPECT_FALSE(decode_frontier({}).ok());
}

TEST(Frontier, keeps_the_newest_timestamp_of_each_author) {
  Frontier frontier;
  advance(frontier, {5, 1, {3}});
  advance(frontier, {5, 0, {3}});
  advance(frontier, {4, 9, {3}});
  EXPECT_EQ(frontier, (Frontier{{{3}, {5, 1, {3}}}}));
  advance(frontier, {6, 0, {3}});
  EXPECT_EQ(frontier.at({3}).wall_ms, 6U);
}

}  // namespace
}  // namespace holdfast::mesh::frontier_test
