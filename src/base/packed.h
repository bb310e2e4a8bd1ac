// Packed: a text with a checksum, compressed where that pays; the form of everything in a log's
// side store.
//
// Layout: "HF", check (16 bytes), type (1 byte), version (1 byte), length of the text (8 bytes,
// little-endian), encoding (1 byte: '-' the text itself, 'z' one zstd frame), content. The check
// is the start of the SHA-256 of all bytes after it. Valid if and only if the check holds and the
// content gives a text of exactly that length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

enum class PackedType : char {
  segment = 'S',
  seal = 'R',
  checkpoint = 'C',
  directory = 'D',
  thread = 'T'
};

// The longest text that can be packed.
inline constexpr std::uint64_t kMaxPackedText = 1ULL << 30U;

std::string pack(PackedType type, std::uint8_t version, std::string_view text);

struct Unpacked {
  std::uint8_t version;
  std::string text;
};

// corrupt_segment when the bytes are not what pack() made; the message says what is wrong.
Result<Unpacked> unpack(PackedType type, std::string_view bytes);

}  // namespace holdfast
