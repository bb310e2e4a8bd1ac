#include "mesh/roster/mark_queue.h"

#include <algorithm>

#include "holdfast/assert.h"

namespace holdfast::mesh {

void MarkQueue::add(const OrderKey& key, OpRef op) {
  if (in_order_.empty() || in_order_.back().key < key) {
    in_order_.push_back({key, op});
  } else {
    heap_.push_back({key, op});
    std::push_heap(heap_.begin(), heap_.end(), is_later);
  }
}

OpRef MarkQueue::take() {
  HOLDFAST_ASSERT(!empty());
  if (heap_.empty() || (!in_order_.empty() && in_order_.front().key < heap_.front().key)) {
    const OpRef op = in_order_.front().op;
    in_order_.pop_front();
    return op;
  }
  std::pop_heap(heap_.begin(), heap_.end(), is_later);
  const OpRef op = heap_.back().op;
  heap_.pop_back();
  return op;
}

}  // namespace holdfast::mesh
