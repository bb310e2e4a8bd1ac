#include "delivery/daemon/lane_board.h"

#include <algorithm>

#include "holdfast/assert.h"

namespace holdfast::delivery {

void LaneBoard::set_due(const Lane& lane, State& state, std::int64_t due) {
  state.due = due;
  due_.emplace(due, lane);
}

void LaneBoard::wake(const Lane& lane, std::int64_t now) {
  const auto [at, fresh] = lanes_.try_emplace(lane);
  if (fresh) {
    set_due(lane, at->second, now);
  } else if (at->second.busy) {
    at->second.woken = true;
  }
  // One that waits has a row in front of the new one.
}

std::optional<Lane> LaneBoard::take(std::int64_t now) {
  const bool blocked = !open_ || now < paused_until_ || (probing_ && busy_ > 0);
  if (blocked || due_.empty() || due_.begin()->first > now) {
    return std::nullopt;
  }
  const Lane lane = due_.begin()->second;
  due_.erase(due_.begin());
  State& state = lanes_.at(lane);
  HOLDFAST_ASSERT(!state.busy);
  state.busy = true;
  state.woken = false;
  ++busy_;
  return lane;
}

void LaneBoard::wait_until(const Lane& lane, std::int64_t time) {
  State& state = lanes_.at(lane);
  HOLDFAST_ASSERT(state.busy && busy_ > 0);
  state.busy = false;
  --busy_;
  set_due(lane, state, time);
}

void LaneBoard::drop(const Lane& lane, std::int64_t now) {
  const bool woken = lanes_.at(lane).woken;
  wait_until(lane, now);
  if (!woken) {
    due_.erase({now, lane});
    lanes_.erase(lane);
  }
}

void LaneBoard::pause(std::int64_t until) {
  paused_until_ = std::max(paused_until_, until);
  probing_ = true;
}

std::optional<std::int64_t> LaneBoard::next_time() const {
  if (!open_ || due_.empty() || (probing_ && busy_ > 0)) {
    return std::nullopt;
  }
  return std::max(due_.begin()->first, paused_until_);
}

}  // namespace holdfast::delivery
