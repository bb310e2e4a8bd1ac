// WorkerList: the workers that called this server recently, for operators. The claims of a worker
// are in the journal.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/shared_text.h"
#include "runs/api/work_requests.h"

namespace holdfast {

struct KnownWorker {
  std::string id;
  std::string name;
  std::string version;
  std::vector<SharedText> queues;
  std::vector<SharedText> handlers;
  TimeMs first_seen_at;
  TimeMs last_seen_at;
  std::size_t polling = 0;  // calls that wait for attempts now
};

class WorkerList {
 public:
  void seen(const WorkerIdentity& worker, TimeMs now);
  // It starts to wait for attempts of these queues and handlers.
  void polls(const WorkerIdentity& worker, const std::vector<SharedText>& queues,
             const std::vector<SharedText>& handlers, TimeMs now);
  void polled(const std::string& id, TimeMs now);

  // Ordered by id, without those that have not called for long.
  std::vector<KnownWorker> all(TimeMs now);

 private:
  KnownWorker& entry(const WorkerIdentity& worker, TimeMs now);
  void forget_old(TimeMs now);

  std::mutex mutex_;
  std::map<std::string, KnownWorker, std::less<>> workers_;
};

}  // namespace holdfast
