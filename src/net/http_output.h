// Output: what is still to be sent, as the parts it was given in. Big parts are never joined.
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

  // The beginning of what is left, in as many views as there is room for; how many.
  std::size_t views(std::span<iovec> into);
  // So many bytes were sent. When nothing is left, no memory is held either.
  void advance(std::size_t bytes);

 private:
  std::vector<std::string> parts_;
  std::size_t first_ = 0;   // the parts before it are sent
  std::size_t offset_ = 0;  // and so much of it
};

}  // namespace holdfast::net
