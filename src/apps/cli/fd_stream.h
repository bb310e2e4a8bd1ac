// FdStream: an output stream over a file descriptor that keeps the reason of a failed write, which
// standard streams lose.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>
#include <string_view>

namespace holdfast::cli {

class FdBuffer final : public std::streambuf {
 public:
  // The caller keeps the descriptor.
  explicit FdBuffer(int descriptor);
  // errno of the first failure, 0 when there was none. Nothing is written after a failure.
  [[nodiscard]] int failure() const { return failure_; }

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  bool write_all(std::string_view bytes);

  static constexpr std::size_t kBufferBytes = 64U << 10U;
  int fd_;
  int failure_ = 0;
  std::array<char, kBufferBytes> buffer_;
};

class FdStream final : public std::ostream {
 public:
  explicit FdStream(int descriptor) : std::ostream(nullptr), buffer_(descriptor) {
    rdbuf(&buffer_);
  }
  [[nodiscard]] int failure() const { return buffer_.failure(); }

 private:
  FdBuffer buffer_;
};

}  // namespace holdfast::cli
