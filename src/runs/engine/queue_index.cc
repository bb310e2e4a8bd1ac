#include "runs/engine/queue_index.h"

#include <tuple>

#include "holdfast/assert.h"

namespace holdfast {

bool QueueIndex::Before::operator()(const Due& left, const Due& right) const {
  return std::tie(left.at, left.queue->queue()) < std::tie(right.at, right.queue->queue());
}

void QueueIndex::move(Times& times, std::optional<TimeMs>& known, std::optional<TimeMs> now,
                      DispatchProjection& queue) {
  if (known == now) {
    return;
  }
  if (known.has_value()) {
    const std::size_t erased = times.erase(Due{*known, &queue});
    HOLDFAST_ASSERT(erased == 1);  // E13
  }
  if (now.has_value()) {
    const bool inserted = times.insert(Due{*now, &queue}).second;
    HOLDFAST_ASSERT(inserted);  // E13
  }
  known = now;
}

// A queue never has fewer handlers than before, but new ones may stand between the others.
void QueueIndex::add_handlers(Known& known, DispatchProjection& queue) {
  for (Handler& handler : known.ready) {
    move(*handler.times, handler.at, std::nullopt, queue);
  }
  known.ready.clear();
  queue.for_each_handler([&](const SharedText& name, std::optional<TimeMs> /*visible_at*/) {
    known.ready.push_back({&ready_[name], std::nullopt});
  });
}

void QueueIndex::update(DispatchProjection& queue, Ready ready) {
  Known& known = known_[&queue];
  if (known.ready.size() != queue.handler_count()) {
    add_handlers(known, queue);
  }
  auto handler = known.ready.begin();
  queue.for_each_handler([&](const SharedText& name, std::optional<TimeMs> visible_at) {
    const bool found = ready == Ready::all || name.view() == kTimerHandler;
    move(*handler->times, handler->at, found ? visible_at : std::nullopt, queue);
    ++handler;
  });
  move(leases_, known.lease, queue.next_lease_end(), queue);
  move(timeouts_, known.timeout, queue.next_timeout(), queue);
  attempt_count_ += queue.attempt_count() - known.attempts;
  known.attempts = queue.attempt_count();
}

std::optional<QueueIndex::Due> QueueIndex::first_of(const SharedText& handler) const {
  const auto times = ready_.find(handler);
  return times == ready_.end() || times->second.empty() ? std::nullopt
                                                        : std::optional(*times->second.begin());
}

std::optional<QueueIndex::Due> QueueIndex::first_ready(std::span<const SharedText> handlers) const {
  std::optional<Due> first;
  const auto consider = [&](const std::optional<Due>& due) {
    if (due.has_value() && (!first.has_value() || Before()(*due, *first))) {
      first = due;
    }
  };
  for (const SharedText& handler : handlers) {
    consider(first_of(handler));
  }
  if (handlers.empty()) {
    for (const auto& [handler, times] : ready_) {
      if (handler.view() != kTimerHandler && !times.empty()) {
        consider(*times.begin());
      }
    }
  }
  return first;
}

std::optional<QueueIndex::Due> QueueIndex::first_timer() const {
  static const SharedText timer(kTimerHandler);
  return first_of(timer);
}

std::optional<QueueIndex::Due> QueueIndex::first_lease() const {
  return leases_.empty() ? std::nullopt : std::optional(*leases_.begin());
}

std::optional<QueueIndex::Due> QueueIndex::first_timeout() const {
  return timeouts_.empty() ? std::nullopt : std::optional(*timeouts_.begin());
}

}  // namespace holdfast
