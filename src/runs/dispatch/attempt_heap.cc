#include "runs/dispatch/attempt_heap.h"

#include <algorithm>

#include "holdfast/assert.h"

namespace holdfast {

void AttemptHeap::place(std::size_t slot, const Slot& content) {
  heap_[slot] = content;
  slot_of(*content.attempt) = static_cast<std::uint32_t>(slot);
}

TimeMs AttemptHeap::time_of(const Attempt& attempt) const {
  switch (by_) {
    case By::visible_at:
      return attempt.visible_at;
    case By::lease_until:
      return attempt.claim->lease_until;
    case By::timeout:
      return attempt.times_out_at().value_or(TimeMs{});
  }
  return attempt.visible_at;
}

void AttemptHeap::push(Attempt& attempt) {
  // By a quarter: twice as many slots as attempts would be a tenth of the memory of all attempts.
  constexpr std::size_t kFewest = 16;
  if (heap_.size() == heap_.capacity()) {
    heap_.reserve(heap_.size() + heap_.size() / 4 + kFewest);
  }
  heap_.emplace_back();
  sift_up(heap_.size() - 1, Slot{time_of(attempt), attempt.order, &attempt});
}

void AttemptHeap::remove(Attempt& attempt) {
  const std::size_t slot = slot_of(attempt);
  HOLDFAST_ASSERT(slot < heap_.size() && heap_[slot].attempt == &attempt);
  const Slot last = heap_.back();
  heap_.pop_back();
  slot_of(attempt) = UINT32_MAX;
  if (last.attempt != &attempt) {
    const bool rises = slot > 0 && last.before(heap_[(slot - 1) / kChildren]);
    if (rises) {
      sift_up(slot, last);
    } else {
      sift_down(slot, last);
    }
  }
}

// The slot is free; the content goes there or above.
void AttemptHeap::sift_up(std::size_t slot, const Slot& content) {
  while (slot > 0) {
    const std::size_t parent = (slot - 1) / kChildren;
    if (!content.before(heap_[parent])) {
      break;
    }
    place(slot, heap_[parent]);
    slot = parent;
  }
  place(slot, content);
}

// The slot is free; the content goes there or below.
void AttemptHeap::sift_down(std::size_t slot, const Slot& content) {
  for (;;) {
    const std::size_t first = slot * kChildren + 1;
    if (first >= heap_.size()) {
      break;
    }
    std::size_t least = first;
    for (std::size_t child = first + 1; child < std::min(first + kChildren, heap_.size());
         ++child) {
      if (heap_[child].before(heap_[least])) {
        least = child;
      }
    }
    if (!heap_[least].before(content)) {
      break;
    }
    place(slot, heap_[least]);
    slot = least;
  }
  place(slot, content);
}

}  // namespace holdfast
