#include "base/encoding.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

namespace holdfast::encoding_test {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string all_bytes() {
  std::string bytes;
  for (int value = 0; value < 256; ++value) {
    bytes += static_cast<char>(value);
  }
  return bytes;
}

TEST(Hex, is_lower_case_and_two_digits_a_byte) {
  EXPECT_EQ(to_hex(as_bytes("")), "");
  EXPECT_EQ(to_hex(as_bytes(std::string_view("\x00\x0f\xf0\xff", 4))), "000ff0ff");
}

TEST(Hex, every_byte_reads_back) {
  const auto back = from_hex(to_hex(as_bytes(all_bytes())));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(text_of(back.value()), all_bytes());
}

TEST(Hex, anything_but_pairs_of_lower_case_digits_is_refused) {
  for (const std::string_view bad : {"0", "abc", "AB", "aG", "g0", "0x", " 0", "0\n", "a-"}) {
    const auto result = from_hex(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument) << bad;
  }
}

// RFC 4648 section 10, without padding.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kBase64Vectors{{
    {"", ""},
    {"f", "Zg"},
    {"fo", "Zm8"},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg"},
    {"fooba", "Zm9vYmE"},
    {"foobar", "Zm9vYmFy"},
}};

TEST(Base64url, gives_the_vectors_of_the_rfc) {
  for (const auto& [plain, encoded] : kBase64Vectors) {
    EXPECT_EQ(to_base64url(as_bytes(plain)), encoded);
    const auto back = from_base64url(encoded);
    ASSERT_TRUE(back.ok()) << encoded;
    EXPECT_EQ(text_of(back.value()), plain);
  }
}

TEST(Base64url, uses_the_alphabet_that_is_safe_in_urls) {
  EXPECT_EQ(to_base64url(as_bytes("\xfb\xff\xfe")), "-__-");
}

TEST(Base64url, every_length_and_byte_reads_back) {
  const std::string bytes = all_bytes() + "tail";
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const std::string part = bytes.substr(0, length);
    const auto back = from_base64url(to_base64url(as_bytes(part)));
    ASSERT_TRUE(back.ok());
    ASSERT_EQ(text_of(back.value()), part);
  }
}

TEST(Base64url, padding_stray_bits_and_foreign_characters_are_refused) {
  for (const std::string_view bad : {"Zg==", "Zm9v\n", "Zm+v", "Zm/v", "Zm9vY", "Zh", "Zm9", " "}) {
    const auto result = from_base64url(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument) << bad;
  }
}

TEST(Encoding, bytes_are_copied_only_from_a_text_of_their_length) {
  std::array<std::byte, 3> bytes{};
  EXPECT_FALSE(copy_exactly("ab", bytes));
  EXPECT_FALSE(copy_exactly("abcd", bytes));
  EXPECT_EQ(as_text(bytes), std::string_view("\0\0\0", 3));
  EXPECT_TRUE(copy_exactly("abc", bytes));
  EXPECT_EQ(as_text(bytes), "abc");
}

}  // namespace
}  // namespace holdfast::encoding_test
