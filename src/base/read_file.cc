#include "base/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/owned_fd.h"

namespace holdfast {
namespace {

Error cannot_read(int failure) {
  const ErrorCode code = failure == ENOENT   ? ErrorCode::not_found
                         : failure == EACCES ? ErrorCode::permission_denied
                                             : ErrorCode::invalid_argument;
  return Error{code, std::string("cannot be read: ") + std::strerror(failure)};
}

}  // namespace

Result<std::string> read_file(const std::string& file, std::size_t max_bytes) {
  const OwnedFd opened(file == "-" ? ::dup(STDIN_FILENO)
                                   : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.is_open()) {
    return cannot_read(errno);
  }
  std::string text;
  std::array<char, 65536> piece;
  while (text.size() <= max_bytes) {
    const ssize_t got = ::read(opened.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return cannot_read(errno);
    }
    if (got == 0) {
      break;
    }
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace holdfast
