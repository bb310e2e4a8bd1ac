// Output: the bytes still to be sent, in the parts in which they were added. Large parts are never
// copied together.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace holdfast::net {

class Output {
 public:
  void add(std::string part) {
    if (!part.empty()) {
      parts_.push_back(std::move(part));
    }
  }
  [[nodiscard]] bool empty() const { return parts_.empty(); }

  // Fills the views with the beginning of the remaining bytes; returns how many were used.
  std::size_t views(std::span<iovec> into);
  // That many bytes were sent. Without remaining bytes it holds no memory.
  void advance(std::size_t bytes);

 private:
  std::vector<std::string> parts_;
  std::size_t first_ = 0;   // the parts before it were sent
  std::size_t offset_ = 0;  // and that many bytes of it
};

}  // namespace holdfast::net
