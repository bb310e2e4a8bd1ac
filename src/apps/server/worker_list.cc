#include "apps/server/worker_list.h"

namespace holdfast {

namespace {

constexpr std::int64_t kForgottenAfterMs = 10 * 60 * 1000;
constexpr std::size_t kMostKnown = 10'000;

}  // namespace

KnownWorker& WorkerList::entry(const WorkerIdentity& worker, TimeMs now) {
  if (workers_.size() >= kMostKnown) {
    forget_old(now);
  }
  const auto [at, fresh] = workers_.try_emplace(worker.id);
  KnownWorker& known = at->second;
  if (fresh) {
    known.id = worker.id;
    known.first_seen_at = now;
  }
  if (!worker.name.empty()) {
    known.name = worker.name;
  }
  if (!worker.version.empty()) {
    known.version = worker.version;
  }
  known.last_seen_at = now;
  return known;
}

void WorkerList::forget_old(TimeMs now) {
  std::erase_if(workers_, [&](const auto& known) {
    return known.second.polling == 0 &&
           now.value - known.second.last_seen_at.value > kForgottenAfterMs;
  });
}

void WorkerList::seen(const WorkerIdentity& worker, TimeMs now) {
  const std::scoped_lock lock(mutex_);
  entry(worker, now);
}

void WorkerList::polls(const WorkerIdentity& worker, const std::vector<SharedText>& queues,
                       const std::vector<SharedText>& handlers, TimeMs now) {
  const std::scoped_lock lock(mutex_);
  KnownWorker& known = entry(worker, now);
  known.queues = queues;
  known.handlers = handlers;
  ++known.polling;
}

void WorkerList::polled(const std::string& id, TimeMs now) {
  const std::scoped_lock lock(mutex_);
  const auto known = workers_.find(id);
  if (known != workers_.end()) {
    known->second.last_seen_at = now;
    known->second.polling -= known->second.polling > 0 ? 1U : 0U;
  }
}

std::vector<KnownWorker> WorkerList::all(TimeMs now) {
  const std::scoped_lock lock(mutex_);
  forget_old(now);
  std::vector<KnownWorker> found;
  found.reserve(workers_.size());
  for (const auto& [id, worker] : workers_) {
    found.push_back(worker);
  }
  return found;
}

}  // namespace holdfast
