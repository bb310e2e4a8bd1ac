// The postcard wire format (https://postcard.jamesmunns.com/wire-format), in its canonical form
// only: varints are minimal, options and bools are 00 or 01, texts are UTF-8, numbers are not NaN,
// map keys ascend. PostcardReader refuses everything else.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "holdfast/result.h"

namespace holdfast::mesh {

// Specialised for each enumeration of the wire: how many enumerators it has.
template <typename E>
inline constexpr std::uint32_t kEnumSize = 0;

class PostcardWriter {
 public:
  void varint(std::uint64_t value);
  void raw(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void text(std::string_view value);
  void fixed32(std::uint32_t value);
  void fixed64(std::uint64_t value);

  [[nodiscard]] std::vector<std::byte> take() && { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

// The first failure stays: everything read after it is empty.
class PostcardReader {
 public:
  explicit PostcardReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t varint(std::uint64_t max = std::numeric_limits<std::uint64_t>::max());
  void raw(std::span<std::byte> out);
  std::string text();
  std::vector<std::byte> byte_string();
  std::uint32_t fixed32();
  std::uint64_t fixed64();
  bool flag();
  // The number of items that follow; each takes at least a byte.
  std::size_t count();

  void fail(std::string_view what);
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - at_; }
  // invalid_argument, with the byte offset, when something failed.
  [[nodiscard]] Result<void> result() const;

 private:
  std::span<const std::byte> take(std::size_t size);

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

}  // namespace holdfast::mesh
