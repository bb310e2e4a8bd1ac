#include "base/encoding.h"

#include <array>
#include <cstdint>

namespace holdfast {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::int16_t kNoDigit = -1;

constexpr std::array<std::int16_t, 256> digit_values(std::string_view digits) {
  std::array<std::int16_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::int16_t>(i);
  }
  return values;
}

constexpr auto kHexValues = digit_values(kHexDigits);
constexpr auto kBase64Values = digit_values(kBase64Digits);

}  // namespace

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text(bytes.size() * 2, '0');
  write_hex(bytes, text.data());
  return text;
}

void write_hex(std::span<const std::byte> bytes, char* out) {
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    *out++ = kHexDigits[value >> 4U];
    *out++ = kHexDigits[value & 0xfU];
  }
}

std::string to_base64url(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  unsigned held = 0;
  unsigned held_bits = 0;
  for (const std::byte byte : bytes) {
    held = (held << 8U) | std::to_integer<unsigned>(byte);
    held_bits += 8;
    while (held_bits >= 6) {
      held_bits -= 6;
      text += kBase64Digits[(held >> held_bits) & 0x3fU];
    }
  }
  if (held_bits > 0) {
    text += kBase64Digits[(held << (6 - held_bits)) & 0x3fU];
  }
  return text;
}

Result<std::vector<std::byte>> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return Error{ErrorCode::invalid_argument, "hex text has an odd number of digits"};
  }
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = kHexValues[static_cast<unsigned char>(text[i])];
    const int low = kHexValues[static_cast<unsigned char>(text[i + 1])];
    if (high == kNoDigit || low == kNoDigit) {
      return Error{ErrorCode::invalid_argument,
                   "hex text has a character that is not a lower-case hex digit"};
    }
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

Result<std::vector<std::byte>> from_base64url(std::string_view text) {
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() * 3 / 4);
  unsigned held = 0;
  unsigned held_bits = 0;
  for (const char character : text) {
    const int value = kBase64Values[static_cast<unsigned char>(character)];
    if (value == kNoDigit) {
      return Error{ErrorCode::invalid_argument,
                   "base64url text has a character outside of its alphabet"};
    }
    held = (held << 6U) | static_cast<unsigned>(value);
    held_bits += 6;
    if (held_bits >= 8) {
      held_bits -= 8;
      bytes.push_back(static_cast<std::byte>((held >> held_bits) & 0xffU));
    }
  }
  const bool stray_bits = (held & ((1U << held_bits) - 1U)) != 0;
  if (held_bits == 6 || stray_bits) {
    return Error{ErrorCode::invalid_argument, "base64url text is cut off"};
  }
  return bytes;
}

}  // namespace holdfast
