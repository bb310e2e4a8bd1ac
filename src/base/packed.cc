#include "base/packed.h"

#include <zstd.h>

#include <memory>

#include "base/encoding.h"
#include "base/hash.h"
#include "holdfast/assert.h"

namespace holdfast {

namespace {

constexpr std::string_view kMagic = "HF";
constexpr std::size_t kCheckSize = 16;
constexpr std::size_t kCheckedFrom = kMagic.size() + kCheckSize;
constexpr std::size_t kTypeAt = kCheckedFrom;
constexpr std::size_t kVersionAt = kTypeAt + 1;
constexpr std::size_t kLengthAt = kVersionAt + 1;
constexpr std::size_t kEncodingAt = kLengthAt + 8;
constexpr std::size_t kHeaderSize = kEncodingAt + 1;
constexpr char kPlain = '-';
constexpr char kZstd = 'z';
constexpr int kLevel = 3;
// Below this a frame is hardly ever smaller than the text.
constexpr std::size_t kCompressFrom = 64;
// Limits how much memory a wrong length can make us allocate. A block of a zstd frame expands to at
// most this much text, and takes more than one byte.
constexpr std::uint64_t kMaxTextOfByte = 128U << 10U;

Error damaged(std::string_view what) {
  return Error{ErrorCode::corrupt_segment, "packed value is damaged: " + std::string(what)};
}

std::string check_of(std::string_view bytes) {
  return std::string(as_text(sha256(bytes.substr(kCheckedFrom))).substr(0, kCheckSize));
}

struct ContextDeleter {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Creating a context costs far more than compressing a small text, so each thread keeps one.
void append_compressed(std::string& out, std::string_view text) {
  thread_local const std::unique_ptr<ZSTD_CCtx, ContextDeleter> context(ZSTD_createCCtx());
  const std::size_t before = out.size();
  const std::size_t bound = ZSTD_compressBound(text.size());
  out.resize(before + bound);
  const std::size_t size = ZSTD_compressCCtx(context.get(), out.data() + before, bound, text.data(),
                                             text.size(), kLevel);
  HOLDFAST_ASSERT(ZSTD_isError(size) == 0);
  out.resize(before + size);
}

bool decompress(std::string_view frame, std::string& text) {
  thread_local const std::unique_ptr<ZSTD_DCtx, ContextDeleter> context(ZSTD_createDCtx());
  const std::size_t size =
      ZSTD_decompressDCtx(context.get(), text.data(), text.size(), frame.data(), frame.size());
  return ZSTD_isError(size) == 0 && size == text.size();
}

}  // namespace

std::string pack(PackedType type, std::uint8_t version, std::string_view text) {
  HOLDFAST_ASSERT(text.size() <= kMaxPackedText);
  std::string out(kMagic);
  out.append(kCheckSize, '\0');
  out += static_cast<char>(type);
  out += static_cast<char>(version);
  for (unsigned shift = 0; shift < 64; shift += 8) {
    out += static_cast<char>((static_cast<std::uint64_t>(text.size()) >> shift) & 0xffU);
  }
  if (text.size() < kCompressFrom) {
    out += kPlain;
    out += text;
  } else {
    out += kZstd;
    append_compressed(out, text);
  }
  out.replace(kMagic.size(), kCheckSize, check_of(out));
  return out;
}

Result<Unpacked> unpack(PackedType type, std::string_view bytes) {
  if (bytes.size() < kHeaderSize || !bytes.starts_with(kMagic)) {
    return damaged("the header is missing");
  }
  if (bytes.substr(kMagic.size(), kCheckSize) != check_of(bytes)) {
    return damaged("the checksum does not match");
  }
  if (bytes[kTypeAt] != static_cast<char>(type)) {
    return damaged("it is of another type");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) {
    length = (length << 8U) | static_cast<unsigned char>(bytes[kLengthAt + i]);
  }
  if (length > kMaxPackedText) {
    return damaged("the length is out of range");
  }
  Unpacked unpacked{.version = static_cast<std::uint8_t>(bytes[kVersionAt]), .text = {}};
  const std::string_view content = bytes.substr(kHeaderSize);
  if (bytes[kEncodingAt] == kPlain && content.size() == length) {
    unpacked.text = content;
    return unpacked;
  }
  const bool possible = bytes[kEncodingAt] == kZstd && length <= content.size() * kMaxTextOfByte;
  unpacked.text.resize(possible ? length : 0);
  if (!possible || !decompress(content, unpacked.text)) {
    return damaged("the content does not give a text of the stored length");
  }
  return unpacked;
}

}  // namespace holdfast
