// RetryPause: how long to wait before a retry. Full jitter: a random part of a time that doubles,
// so that clients which failed together do not retry together.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/random.h"

namespace holdfast {

class RetryPause {
 public:
  // random must outlive this.
  explicit RetryPause(Random& random,
                      std::chrono::milliseconds first = std::chrono::milliseconds(50),
                      std::chrono::milliseconds most = std::chrono::milliseconds(5000))
      : random_(random), first_(first), most_(most), next_(first) {}

  std::chrono::milliseconds next() {
    const auto bound = static_cast<std::uint64_t>(next_.count()) + 1;
    next_ = std::min(next_ * 2, most_);
    return std::chrono::milliseconds(random_.below(bound));
  }
  void reset() { next_ = first_; }

 private:
  Random& random_;
  std::chrono::milliseconds first_;
  std::chrono::milliseconds most_;
  std::chrono::milliseconds next_;
};

}  // namespace holdfast
