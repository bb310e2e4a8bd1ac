#include "net/net_timers.h"

namespace holdfast::net {

void Timers::put(std::size_t place, Timed* timed) {
  heap_[place] = timed;
  timed->place_ = place;
}

void Timers::rise(std::size_t place, Timed* timed) {
  while (place > 0) {
    const std::size_t above = (place - 1) / 2;
    if (heap_[above]->due_ <= timed->due_) {
      break;
    }
    put(place, heap_[above]);
    place = above;
  }
  put(place, timed);
}

void Timers::sink(std::size_t place, Timed* timed) {
  while (2 * place + 1 < heap_.size()) {
    std::size_t below = 2 * place + 1;
    if (below + 1 < heap_.size() && heap_[below + 1]->due_ < heap_[below]->due_) {
      ++below;
    }
    if (timed->due_ <= heap_[below]->due_) {
      break;
    }
    put(place, heap_[below]);
    place = below;
  }
  put(place, timed);
}

void Timers::set(Timed& timed, SteadyTime due) {
  const SteadyTime before = timed.due_;
  timed.due_ = due;
  if (timed.place_ == Timed::kNowhere) {
    heap_.push_back(&timed);
    rise(heap_.size() - 1, &timed);
  } else if (due < before) {
    rise(timed.place_, &timed);
  } else {
    sink(timed.place_, &timed);
  }
}

void Timers::clear(Timed& timed) {
  const std::size_t place = timed.place_;
  if (place == Timed::kNowhere) {
    return;
  }
  timed.place_ = Timed::kNowhere;
  Timed* const last = heap_.back();
  heap_.pop_back();
  if (last == &timed) {
    return;
  }
  last->place_ = place;
  heap_[place] = last;
  if (place > 0 && last->due_ < heap_[(place - 1) / 2]->due_) {
    rise(place, last);
  } else {
    sink(place, last);
  }
}

std::optional<SteadyTime> Timers::next() const {
  return heap_.empty() ? std::nullopt : std::optional(heap_.front()->due_);
}

Timed* Timers::take_due(SteadyTime now) {
  if (heap_.empty() || heap_.front()->due_ > now) {
    return nullptr;
  }
  Timed* const first = heap_.front();
  clear(*first);
  return first;
}

}  // namespace holdfast::net
