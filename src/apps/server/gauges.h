// Gauges: numbers from the loop, for metrics. The newest values are kept, so that metrics are
// available while the loop waits for its store.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "apps/server/queue_view.h"
#include "runs/engine/live_state.h"

namespace holdfast {

struct Gauges {
  std::vector<QueueView> queues;
  std::uint64_t live_runs = 0;
  std::uint64_t position = 0;
  EndedCounts ended;
  std::uint64_t manual_waits = 0;
  std::uint64_t parked_steps = 0;
  std::uint64_t exhausted_attempts = 0;
  TimeMs at;
};

// Safe from any thread.
class LastGauges {
 public:
  // nullptr before the first values.
  [[nodiscard]] std::shared_ptr<const Gauges> get() {
    const std::scoped_lock lock(mutex_);
    return newest_;
  }
  void put(std::shared_ptr<const Gauges> gauges) {
    const std::scoped_lock lock(mutex_);
    newest_ = std::move(gauges);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Gauges> newest_;
};

}  // namespace holdfast
