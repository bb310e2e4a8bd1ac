// AttemptHeap: attempts by a time, earliest first, ties in the order they were scheduled. An
// attempt is in one heap at most and knows its slot, so that it can leave from anywhere.
#pragma once

#include <vector>

#include "dispatch/attempt.h"

namespace holdfast {

class AttemptHeap {
 public:
  enum class By : std::uint8_t { visible_at, lease_until };
  explicit AttemptHeap(By by) : by_(by) {}

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Attempt* top() const { return heap_.empty() ? nullptr : heap_.front(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  void push(Attempt& attempt);
  void remove(Attempt& attempt);

 private:
  [[nodiscard]] bool before(const Attempt& left, const Attempt& right) const;
  void place(std::size_t slot, Attempt* attempt);
  void sift_up(std::size_t slot);
  void sift_down(std::size_t slot);

  By by_;
  std::vector<Attempt*> heap_;
};

}  // namespace holdfast
