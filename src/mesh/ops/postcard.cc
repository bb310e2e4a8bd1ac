#include "mesh/ops/postcard.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/text.h"

namespace holdfast::mesh {

void PostcardWriter::varint(std::uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<std::byte>(value | 0x80U));
    value >>= 7U;
  }
  out_.push_back(static_cast<std::byte>(value));
}

void PostcardWriter::text(std::string_view value) {
  varint(value.size());
  raw(as_bytes(value));
}

void PostcardWriter::fixed32(std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out_.push_back(static_cast<std::byte>(value >> shift));
  }
}

void PostcardWriter::fixed64(std::uint64_t value) {
  fixed32(static_cast<std::uint32_t>(value));
  fixed32(static_cast<std::uint32_t>(value >> 32U));
}

std::span<const std::byte> PostcardReader::take(std::size_t size) {
  if (ok() && size > remaining()) {
    fail("the input ends early");
  }
  if (!ok()) {
    return {};
  }
  at_ += size;
  return bytes_.subspan(at_ - size, size);
}

std::uint64_t PostcardReader::varint(std::uint64_t max) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = take(1);
    if (byte.empty()) {
      return 0;
    }
    const auto bits = std::to_integer<std::uint64_t>(byte[0]) & 0x7FU;
    if (shift == 63 && bits > 1) {
      break;
    }
    value |= bits << shift;
    if (bits == std::to_integer<std::uint64_t>(byte[0])) {
      if (bits == 0 && shift > 0) {
        fail("a number has more bytes than it needs");
      } else if (value > max) {
        fail("a number is too large for its field");
      }
      return ok() ? value : 0;
    }
  }
  fail("a number is too large for its field");
  return 0;
}

void PostcardReader::raw(std::span<std::byte> out) {
  const auto bytes = take(out.size());
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

std::string PostcardReader::text() {
  const auto bytes = take(varint());
  std::string value(bytes.size(), '\0');
  std::transform(bytes.begin(), bytes.end(), value.begin(),
                 [](std::byte byte) { return static_cast<char>(byte); });
  for (std::string_view rest = value; !rest.empty();) {
    const std::size_t length = utf8_sequence_length(rest);
    if (length == 0) {
      fail("a text is not UTF-8");
      return {};
    }
    rest.remove_prefix(length);
  }
  return value;
}

std::vector<std::byte> PostcardReader::byte_string() {
  const auto bytes = take(varint());
  return {bytes.begin(), bytes.end()};
}

std::uint32_t PostcardReader::fixed32() {
  std::uint32_t value = 0;
  unsigned shift = 0;
  for (const std::byte byte : take(4)) {
    value |= std::to_integer<std::uint32_t>(byte) << shift;
    shift += 8;
  }
  return value;
}

std::uint64_t PostcardReader::fixed64() {
  const std::uint64_t low = fixed32();
  return low | (static_cast<std::uint64_t>(fixed32()) << 32U);
}

bool PostcardReader::flag() {
  const auto byte = take(1);
  if (byte.empty()) {
    return false;
  }
  if (std::to_integer<unsigned>(byte[0]) > 1) {
    fail("a flag is neither 00 nor 01");
    return false;
  }
  return byte[0] == std::byte{1};
}

std::size_t PostcardReader::count() {
  const std::uint64_t items = varint();
  if (items > remaining()) {
    fail("a sequence has more items than there are bytes");
    return 0;
  }
  return items;
}

void PostcardReader::fail(std::string_view what) {
  if (ok()) {
    error_.emplace(ErrorCode::invalid_argument,
                   fmt::format("malformed operation at byte {}: {}", at_, what));
  }
}

Result<void> PostcardReader::result() const {
  if (error_.has_value()) {
    return *error_;
  }
  return {};
}

}  // namespace holdfast::mesh
