#include "base/packed.h"

#include <zstd.h>

#include <algorithm>

#include "base/assert.h"

namespace holdfast {

namespace {

constexpr std::string_view kMagic = "HF";
constexpr std::size_t kCheckSize = 8;
constexpr std::size_t kCheckedFrom = kMagic.size() + kCheckSize;
constexpr std::size_t kVersionAt = kCheckedFrom + 1;
constexpr std::size_t kDigestAt = kVersionAt + 1;
constexpr std::size_t kLengthAt = kDigestAt + sizeof(Digest);
constexpr std::size_t kHeaderSize = kLengthAt + 8;
constexpr int kLevel = 3;
// A cap on what a damaged length can make us allocate.
constexpr std::uint64_t kMaxText = 1ULL << 30U;

Error damaged(std::string_view what) {
  return Error{ErrorCode::corrupt_segment, "packed value is damaged: " + std::string(what)};
}

std::string_view as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

std::string pack(PackedType type, std::uint8_t version, std::string_view text) {
  HOLDFAST_ASSERT(text.size() <= kMaxText);
  std::string out(kMagic);
  out.append(kCheckSize, '\0');
  out += static_cast<char>(type);
  out += static_cast<char>(version);
  out += as_text(sha256(text));
  for (unsigned shift = 0; shift < 64; shift += 8) {
    out += static_cast<char>((static_cast<std::uint64_t>(text.size()) >> shift) & 0xffU);
  }
  const std::size_t bound = ZSTD_compressBound(text.size());
  out.resize(kHeaderSize + bound);
  const std::size_t size =
      ZSTD_compress(out.data() + kHeaderSize, bound, text.data(), text.size(), kLevel);
  HOLDFAST_ASSERT(ZSTD_isError(size) == 0);
  out.resize(kHeaderSize + size);
  const Digest check = sha256(std::string_view(out).substr(kCheckedFrom));
  out.replace(kMagic.size(), kCheckSize, as_text(check).substr(0, kCheckSize));
  return out;
}

Result<Unpacked> unpack(PackedType type, std::string_view bytes) {
  if (bytes.size() < kHeaderSize || !bytes.starts_with(kMagic)) {
    return damaged("the header is missing");
  }
  const Digest check = sha256(bytes.substr(kCheckedFrom));
  if (bytes.substr(kMagic.size(), kCheckSize) != as_text(check).substr(0, kCheckSize)) {
    return damaged("the checksum does not match");
  }
  if (bytes[kCheckedFrom] != static_cast<char>(type)) {
    return damaged("it is of another type");
  }
  Unpacked unpacked{
      .version = static_cast<std::uint8_t>(bytes[kVersionAt]), .digest = {}, .text = {}};
  std::copy_n(reinterpret_cast<const std::byte*>(bytes.data() + kDigestAt), sizeof(Digest),
              unpacked.digest.begin());
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) {
    length = (length << 8U) | static_cast<unsigned char>(bytes[kLengthAt + i]);
  }
  if (length > kMaxText) {
    return damaged("the length is out of range");
  }
  unpacked.text.resize(length);
  const std::size_t size = ZSTD_decompress(unpacked.text.data(), unpacked.text.size(),
                                           bytes.data() + kHeaderSize, bytes.size() - kHeaderSize);
  if (ZSTD_isError(size) != 0 || size != length) {
    return damaged("it does not decompress to the stored length");
  }
  if (sha256(unpacked.text) != unpacked.digest) {
    return damaged("the text does not match its digest");
  }
  return unpacked;
}

}  // namespace holdfast
