// QueueIndex: when something is due in a queue, over all queues, in order of time. With it the loop
// finds the next timer, lease, timeout or claimable attempt without a visit to every queue.
//
// A queue is ordered by the times of the attempts at the top of its heaps; update() reads these.
// The cost grows with the number of handlers of the queue, and with the logarithm of the number
// of queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "runs/dispatch/dispatch_projection.h"

namespace holdfast {

class QueueIndex {
 public:
  struct Due {
    TimeMs at;
    DispatchProjection* queue = nullptr;
  };

  // Which attempts of a queue first_ready finds: all, or none because another program carries them
  // to workers.
  enum class Ready : std::uint8_t { all, none };
  // Call it when attempts of the queue have changed, before anything else is called. The queue must
  // outlive this.
  void update(DispatchProjection& queue, Ready ready = Ready::all);

  // The first attempt that is or becomes visible, of one of the handlers (empty: all but timers).
  // Among several of the same time, that of the queue whose name is first.
  [[nodiscard]] std::optional<Due> first_ready(std::span<const SharedText> handlers) const;
  // The first timer.
  [[nodiscard]] std::optional<Due> first_timer() const;
  // The first lease that ends, and the first attempt that takes too long.
  [[nodiscard]] std::optional<Due> first_lease() const;
  [[nodiscard]] std::optional<Due> first_timeout() const;
  [[nodiscard]] std::size_t attempt_count() const { return attempt_count_; }

 private:
  struct Before {
    bool operator()(const Due& left, const Due& right) const;
  };
  using Times = std::set<Due, Before>;
  // What is in the sets about a queue.
  struct Handler {
    Times* times = nullptr;  // of all queues
    std::optional<TimeMs> at;
  };
  struct Known {
    std::vector<Handler> ready;  // in the order of the queue
    std::optional<TimeMs> lease;
    std::optional<TimeMs> timeout;
    std::size_t attempts = 0;
  };

  static void move(Times& times, std::optional<TimeMs>& known, std::optional<TimeMs> now,
                   DispatchProjection& queue);
  void add_handlers(Known& known, DispatchProjection& queue);
  [[nodiscard]] std::optional<Due> first_of(const SharedText& handler) const;

  std::unordered_map<const DispatchProjection*, Known> known_;
  std::map<SharedText, Times> ready_;  // by handler
  Times leases_;
  Times timeouts_;
  std::size_t attempt_count_ = 0;
};

}  // namespace holdfast
