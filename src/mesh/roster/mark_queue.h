// MarkQueue: operations that are to be judged, by their place in the fold.
//
// Operations mostly arrive in the order of their timestamps: those go to the end of a list. What is
// marked out of order goes to a heap; the smaller head of the two is next.
#pragma once

#include <deque>
#include <vector>

#include "mesh/roster/op_record.h"

namespace holdfast::mesh {

class MarkQueue {
 public:
  // The caller adds an operation once, until it is taken.
  void add(const OrderKey& key, OpRef op);
  [[nodiscard]] bool empty() const { return in_order_.empty() && heap_.empty(); }
  // The first in the order of the fold.
  OpRef take();

 private:
  struct Mark {
    OrderKey key;
    OpRef op = 0;
  };
  static bool is_later(const Mark& left, const Mark& right) { return right.key < left.key; }

  std::deque<Mark> in_order_;
  std::vector<Mark> heap_;
};

}  // namespace holdfast::mesh
