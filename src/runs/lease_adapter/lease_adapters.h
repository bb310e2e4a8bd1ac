// LeaseAdapters: all queues of an engine that are bound to lease backends. An engine without any
// does not use this.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runs/lease_adapter/lease_adapter.h"

namespace holdfast {

// A queue and the backend that carries its attempts.
struct QueueBinding {
  std::string queue;
  OpenLeaseBackend open;
};

// invalid_argument when a name is not valid or a queue is bound twice.
Result<std::vector<SharedText>> bound_queues(const std::vector<QueueBinding>& bindings);

class LeaseAdapters {
 public:
  // The loop must outlive this; it carries the queues.
  static Result<std::unique_ptr<LeaseAdapters>> start(Loop& loop,
                                                      const std::vector<QueueBinding>& bindings);

  void stop();
  void committed(const CommitReport& report);
  std::vector<LeaseHealth> health();
  // A JSON array about the items of a run and their backends (docs/inspection.md); empty when the
  // run has none.
  Payload describe(const RunId& run);

 private:
  LeaseAdapters() = default;

  std::vector<std::unique_ptr<LeaseAdapter>> adapters_;
};

// LeaseObserver: passes commits to the adapters, once there are any, and to the next observer.
class LeaseObserver final : public CommitObserver {
 public:
  // next may be nullptr; otherwise it must outlive this.
  explicit LeaseObserver(CommitObserver* next) : next_(next) {}

  // nullptr: there are none any more.
  void attach(LeaseAdapters* adapters) { adapters_ = adapters; }

  void committed(const CommitReport& report) override;
  void reached(Position position) override;
  void store_unavailable(const Error& why) override;
  void store_returned(std::chrono::milliseconds outage) override;
  void stopped(const Error& why) override;

 private:
  CommitObserver* next_;
  std::atomic<LeaseAdapters*> adapters_ = nullptr;
};

// What one backend reports about the items of a run.
JsonText to_json(const LeaseHealth& health, const std::map<SharedText, KnownItem>& items,
                 TimeMs now);

}  // namespace holdfast
