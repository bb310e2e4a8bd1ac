// AttemptHeap: attempts by a time, earliest first, ties in the order they were scheduled. An
// attempt is in one heap at most and knows its slot, so that it can leave from anywhere. Each slot
// holds what is compared and has four slots below it: with a million attempts memory is what a
// heap waits for, and this touches little of it. The time of an attempt must not change while it
// is in a heap.
#pragma once

#include <vector>

#include "dispatch/attempt.h"

namespace holdfast {

class AttemptHeap {
 public:
  enum class By : std::uint8_t { visible_at, lease_until };
  explicit AttemptHeap(By by) : by_(by) {}

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Attempt* top() const { return heap_.empty() ? nullptr : heap_.front().attempt; }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  void push(Attempt& attempt);
  void remove(Attempt& attempt);

 private:
  struct Slot {
    TimeMs at;
    std::uint64_t order = 0;
    Attempt* attempt = nullptr;

    [[nodiscard]] bool before(const Slot& other) const {
      return at < other.at || (at == other.at && order < other.order);
    }
  };
  void place(std::size_t slot, const Slot& content);
  void sift_up(std::size_t slot, const Slot& content);
  void sift_down(std::size_t slot, const Slot& content);

  By by_;
  std::vector<Slot> heap_;
};

}  // namespace holdfast
