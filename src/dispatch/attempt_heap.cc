#include "dispatch/attempt_heap.h"

#include <utility>

#include "base/assert.h"

namespace holdfast {

bool AttemptHeap::before(const Attempt& left, const Attempt& right) const {
  const TimeMs left_at = by_ == By::visible_at ? left.visible_at : left.claim->lease_until;
  const TimeMs right_at = by_ == By::visible_at ? right.visible_at : right.claim->lease_until;
  return std::pair(left_at, left.order) < std::pair(right_at, right.order);
}

void AttemptHeap::place(std::size_t slot, Attempt* attempt) {
  heap_[slot] = attempt;
  attempt->heap_slot = static_cast<std::uint32_t>(slot);
}

void AttemptHeap::push(Attempt& attempt) {
  heap_.push_back(&attempt);
  place(heap_.size() - 1, &attempt);
  sift_up(heap_.size() - 1);
}

void AttemptHeap::remove(Attempt& attempt) {
  const std::size_t slot = attempt.heap_slot;
  HOLDFAST_ASSERT(slot < heap_.size() && heap_[slot] == &attempt);
  Attempt* last = heap_.back();
  heap_.pop_back();
  attempt.heap_slot = UINT32_MAX;
  if (last != &attempt) {
    place(slot, last);
    sift_up(slot);
    sift_down(last->heap_slot);
  }
}

void AttemptHeap::sift_up(std::size_t slot) {
  while (slot > 0) {
    const std::size_t parent = (slot - 1) / 2;
    if (!before(*heap_[slot], *heap_[parent])) {
      return;
    }
    Attempt* above = heap_[parent];
    place(parent, heap_[slot]);
    place(slot, above);
    slot = parent;
  }
}

void AttemptHeap::sift_down(std::size_t slot) {
  for (;;) {
    std::size_t least = slot;
    for (const std::size_t child : {2 * slot + 1, 2 * slot + 2}) {
      if (child < heap_.size() && before(*heap_[child], *heap_[least])) {
        least = child;
      }
    }
    if (least == slot) {
      return;
    }
    Attempt* below = heap_[least];
    place(least, heap_[slot]);
    place(slot, below);
    slot = least;
  }
}

}  // namespace holdfast
