#include "apps/cli/fd_stream.h"

#include <unistd.h>

#include <cerrno>

namespace holdfast::cli {

FdBuffer::FdBuffer(int descriptor) : fd_(descriptor) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

FdBuffer::int_type FdBuffer::overflow(int_type character) {
  if (sync() != 0) {
    return traits_type::eof();
  }
  if (!traits_type::eq_int_type(character, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(character);
    pbump(1);
  }
  return traits_type::not_eof(character);
}

int FdBuffer::sync() {
  const std::string_view pending(pbase(), static_cast<std::size_t>(pptr() - pbase()));
  const bool written = write_all(pending);
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return written ? 0 : -1;
}

bool FdBuffer::write_all(std::string_view bytes) {
  while (!bytes.empty() && failure_ == 0) {
    const ssize_t wrote = ::write(fd_, bytes.data(), bytes.size());
    if (wrote >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno != EINTR) {
      failure_ = errno;
    }
  }
  return failure_ == 0;
}

}  // namespace holdfast::cli
