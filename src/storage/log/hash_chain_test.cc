#include "storage/log/hash_chain.h"

#include <gtest/gtest.h>

#include "tests/support/test_log.h"

namespace holdfast::hash_chain_test {
namespace {

// Golden values: a change here is a change of the stored format.
TEST(Chain, the_recipe_never_changes) {
  const Uuid id = must(parse_uuid("0192f0c1-7b7e-7c3a-8f00-1234567890ab"));
  const Digest genesis = genesis_chain(id);
  EXPECT_EQ(to_hex(genesis), "8843056b50f2879ce541230cb1cd3f9471bb0030ae538fa6b826e0a66a71f22d");
  EXPECT_EQ(to_hex(next_chain(genesis, Position{1}, sha256("[1]"))),
            "97e5b5d44d98db4a50c8d5773b25a1f3aae195c224151eb09a5d7ca0bb4765f5");
}

TEST(Chain, every_part_counts) {
  const Digest genesis = genesis_chain(Uuid{});
  const Digest first = next_chain(genesis, Position{1}, sha256("a"));
  EXPECT_NE(first, next_chain(genesis, Position{2}, sha256("a")));
  EXPECT_NE(first, next_chain(genesis, Position{1}, sha256("b")));
  EXPECT_NE(first, next_chain(first, Position{1}, sha256("a")));
}

}  // namespace
}  // namespace holdfast::hash_chain_test
