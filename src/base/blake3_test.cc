#include "base/blake3.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::blake3_test {
namespace {

// The input of the official test vectors: byte i is i mod 251.
std::string vector_input(std::size_t size) {
  std::string input(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    input[i] = static_cast<char>(i % 251);
  }
  return input;
}

struct Vector {
  std::size_t size;
  std::string_view hash;
};

// test_vectors.json of the BLAKE3 repository, first 32 bytes of "hash".
constexpr Vector kVectors[] = {
    {0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
    {1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"},
    {1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"},
    {1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"},
    {1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"},
    {2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"},
    {2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030"},
    {3073, "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3"},
    {4097, "9b4052b38f1c5fc8b1f9ff7ac7b27cd242487b3d890d15c96a1c25b8aa0fb995"},
    {6145, "f1323a8631446cc50536a9f705ee5cb619424d46887f3c376c695b70e0f0507f"},
    {7168, "61da957ec2499a95d6b8023e2b0e604ec7f6b50e80a9678b89d2628e99ada77a"},
};

TEST(Blake3, gives_the_official_vectors) {
  for (const Vector& vector : kVectors) {
    EXPECT_EQ(to_hex(blake3(vector_input(vector.size))), vector.hash) << vector.size;
  }
  EXPECT_EQ(to_hex(blake3("abc")),
            "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
}

TEST(Blake3, every_byte_of_a_deep_tree_counts) {
  std::string text = vector_input(7 * 1024 + 1);
  const Digest before = blake3(text);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{1023}, std::size_t{4096}, text.size() - 1}) {
    text[at] = static_cast<char>(text[at] ^ 1);
    EXPECT_NE(blake3(text), before) << at;
    text[at] = static_cast<char>(text[at] ^ 1);
  }
  EXPECT_EQ(blake3(text), before);
}

}  // namespace
}  // namespace holdfast::blake3_test
