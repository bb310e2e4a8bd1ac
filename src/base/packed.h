// Packed: a compressed text with a checksum, the form of everything in a log's side store.
//
// Layout: "HF", check (8 bytes), type (1 byte), version (1 byte), SHA-256 of the text (32 bytes),
// length of the text (8 bytes, little-endian), zstd frame. The check is the start of the SHA-256
// of all bytes after it: damage is found before anything is decompressed. Valid if and only if
// the check holds and the frame decompresses to exactly that length and digest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"

namespace holdfast {

enum class PackedType : char {
  segment = 'S',
  seal = 'R',
  checkpoint = 'C',
  directory = 'D',
  thread = 'T'
};

std::string pack(PackedType type, std::uint8_t version, std::string_view text);

struct Unpacked {
  std::uint8_t version;
  Digest digest;  // of the text
  std::string text;
};

// corrupt_segment when the bytes are not what pack() made; the message says what is wrong.
Result<Unpacked> unpack(PackedType type, std::string_view bytes);

}  // namespace holdfast
