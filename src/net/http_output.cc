#include "net/http_output.h"

#include "holdfast/assert.h"

namespace holdfast::net {

std::size_t Output::views(std::span<iovec> into) {
  std::size_t count = 0;
  for (std::size_t at = first_; at < parts_.size() && count < into.size(); ++at) {
    const std::size_t offset = at == first_ ? offset_ : 0;
    into[count].iov_base = parts_[at].data() + offset;
    into[count].iov_len = parts_[at].size() - offset;
    ++count;
  }
  return count;
}

void Output::advance(std::size_t bytes) {
  while (bytes > 0) {
    HOLDFAST_ASSERT(first_ < parts_.size());
    const std::size_t left = parts_[first_].size() - offset_;
    if (bytes < left) {
      offset_ += bytes;
      return;
    }
    bytes -= left;
    parts_[first_] = std::string();
    ++first_;
    offset_ = 0;
  }
  if (first_ == parts_.size()) {
    parts_ = std::vector<std::string>();
    first_ = 0;
  }
}

}  // namespace holdfast::net
