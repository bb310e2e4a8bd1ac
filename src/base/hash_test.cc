#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/encoding.h"

namespace holdfast::hash_test {
namespace {

std::string hex_of(std::string_view text) { return to_hex(sha256(text)); }

// FIPS 180-4 examples.
TEST(Sha256, gives_the_vectors_of_nist) {
  EXPECT_EQ(hex_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                   "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hex_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, parts_hash_as_if_they_were_one_text) {
  EXPECT_EQ(sha256({as_bytes("a"), as_bytes(""), as_bytes("bc")}), sha256("abc"));
  EXPECT_EQ(sha256({}), sha256(""));
}

TEST(Sha256, threads_do_not_disturb_each_other) {
  const Digest expected = sha256("abc");
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int& count : wrong) {
    threads.emplace_back([&count, &expected] {
      for (int round = 0; round < 1000; ++round) {
        count += sha256("abc") == expected ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(EqualSecrets, compares_length_and_content) {
  EXPECT_TRUE(equal_secrets("", ""));
  EXPECT_TRUE(equal_secrets("secret", "secret"));
  EXPECT_FALSE(equal_secrets("secret", "secrex"));
  EXPECT_FALSE(equal_secrets("secret", "secre"));
  EXPECT_FALSE(equal_secrets("", "s"));
}

}  // namespace
}  // namespace holdfast::hash_test
