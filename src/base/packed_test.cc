#include "base/packed.h"

#include <gtest/gtest.h>

#include <string>

#include "base/hash.h"
#include "base/random.h"

namespace holdfast::packed_test {
namespace {

const std::string kText = R"([{"thread":"run:1","seq":1,"kind":"run_started","data":{}}])";

std::string random_bytes(std::size_t size) {
  SeededRandom random(size);
  std::string bytes(size, '\0');
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void expect_damaged(PackedType type, std::string_view bytes) {
  const auto unpacked = unpack(type, bytes);
  ASSERT_FALSE(unpacked.ok());
  EXPECT_EQ(unpacked.error().code(), ErrorCode::corrupt_segment);
  EXPECT_FALSE(unpacked.error().message().empty());
}

TEST(Packed, text_reads_back_with_its_version) {
  for (const std::string& text :
       {std::string(), kText, std::string(300'000, 'x'), random_bytes(1), random_bytes(70'000)}) {
    const auto unpacked = unpack(PackedType::segment, pack(PackedType::segment, 7, text));
    ASSERT_TRUE(unpacked.ok()) << unpacked.error().text();
    EXPECT_EQ(unpacked.value().version, 7);
    EXPECT_TRUE(unpacked.value().text == text);
  }
}

TEST(Packed, repetitive_text_gets_small) {
  EXPECT_LT(pack(PackedType::segment, 1, std::string(100'000, 'x')).size(), 200U);
}

// Short texts are stored as they are, longer ones compressed.
class PackedBytes : public testing::TestWithParam<std::string> {};

TEST_P(PackedBytes, every_changed_byte_is_found) {
  const std::string packed = pack(PackedType::segment, 1, GetParam());
  for (std::size_t at = 0; at < packed.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      std::string damaged = packed;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      ASSERT_FALSE(unpack(PackedType::segment, damaged).ok()) << "byte " << at;
    }
  }
}

TEST_P(PackedBytes, every_truncation_and_extension_is_found) {
  const std::string packed = pack(PackedType::segment, 1, GetParam());
  for (std::size_t size = 0; size < packed.size(); ++size) {
    expect_damaged(PackedType::segment, std::string_view(packed).substr(0, size));
  }
  expect_damaged(PackedType::segment, packed + '\0');
  expect_damaged(PackedType::segment, packed + packed);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PackedBytes, testing::Values(kText, kText + kText));

TEST(Packed, another_type_is_refused) {
  const std::string packed = pack(PackedType::checkpoint, 1, kText);
  expect_damaged(PackedType::segment, packed);
  EXPECT_TRUE(unpack(PackedType::checkpoint, packed).ok());
}

// The bytes are fixed: stored data must stay readable forever.
TEST(Packed, layout_is_the_documented_one) {
  const std::string packed = pack(PackedType::seal, 3, "text");
  EXPECT_EQ(packed.substr(0, 2), "HF");
  const Digest check = sha256(std::string_view(packed).substr(18));
  EXPECT_EQ(packed.substr(2, 16), std::string(reinterpret_cast<const char*>(check.data()), 16));
  EXPECT_EQ(packed.substr(18), std::string("R\x03\x04\0\0\0\0\0\0\0-text", 15));
  const std::string compressed = pack(PackedType::segment, 1, std::string(1000, 'x'));
  EXPECT_EQ(compressed.substr(18, 15),
            std::string("S\x01\xe8\x03\0\0\0\0\0\0z\x28\xb5\x2f\xfd", 15));
}

}  // namespace
}  // namespace holdfast::packed_test
