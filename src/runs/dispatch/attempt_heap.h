// AttemptHeap: attempts by a time, earliest first, ties in the order they were scheduled. An
// attempt is in one heap of claims and one of timeouts at most and knows its slots, so that it
// can leave from anywhere. Each slot
// holds what is compared and has four slots below it: with a million attempts memory is what a
// heap waits for, and this touches little of it. The time of an attempt must not change while it
// is in a heap.
#pragma once

#include <vector>

#include "runs/dispatch/attempt.h"

namespace holdfast {

class AttemptHeap {
 public:
  enum class By : std::uint8_t { visible_at, lease_until, timeout };
  explicit AttemptHeap(By by) : by_(by) {}

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Attempt* top() const { return heap_.empty() ? nullptr : heap_.front().attempt; }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  // Calls `due` for each attempt whose time is not after `now`, and `later` with the times next to
  // those: the earliest of them is the next. Looks at no others.
  template <typename Due, typename Later>
  void visit_until(TimeMs now, Due due, Later later) const {
    std::vector<std::size_t> open;
    if (!heap_.empty()) {
      open.push_back(0);
    }
    while (!open.empty()) {
      const std::size_t slot = open.back();
      open.pop_back();
      if (heap_[slot].at > now) {
        later(heap_[slot].at);
        continue;
      }
      due(*heap_[slot].attempt);
      for (std::size_t below = slot * kChildren + 1;
           below <= slot * kChildren + kChildren && below < heap_.size(); ++below) {
        open.push_back(below);
      }
    }
  }
  // In no order.
  template <typename Visit>
  void visit_all(Visit visit) const {
    for (const Slot& slot : heap_) {
      visit(*slot.attempt);
    }
  }
  void push(Attempt& attempt);
  void remove(Attempt& attempt);

 private:
  static constexpr std::size_t kChildren = 4;

  struct Slot {
    TimeMs at;
    std::uint64_t order = 0;
    Attempt* attempt = nullptr;

    [[nodiscard]] bool before(const Slot& other) const {
      return at < other.at || (at == other.at && order < other.order);
    }
  };
  [[nodiscard]] std::uint32_t& slot_of(Attempt& attempt) const {
    return by_ == By::timeout ? attempt.timeout_slot : attempt.heap_slot;
  }
  [[nodiscard]] TimeMs time_of(const Attempt& attempt) const;
  void place(std::size_t slot, const Slot& content);
  void sift_up(std::size_t slot, const Slot& content);
  void sift_down(std::size_t slot, const Slot& content);

  By by_;
  std::vector<Slot> heap_;
};

}  // namespace holdfast
