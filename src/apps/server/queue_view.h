// Queues, leases and workers, as operators see them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "apps/server/worker_list.h"
#include "runs/engine/turn.h"
#include "runs/lease_adapter/lease_exchange.h"

namespace holdfast {

struct HandlerView {
  std::string handler;
  std::size_t visible = 0;
  std::size_t expired = 0;  // of these: the lease of a worker expired
  std::size_t later = 0;
  std::size_t held_back = 0;  // visible, but a circuit breaker lets no worker have them
  std::optional<TimeMs> oldest_at = std::nullopt;  // of the visible ones
  std::optional<TimeMs> next_at = std::nullopt;    // of the later ones
};

// The lease backend that carries a queue. Without the text of its error, which names hosts and
// users and is in the log.
struct QueueBackendView {
  bool reachable = true;
  std::optional<TimeMs> unreachable_since = std::nullopt;
  std::optional<TimeMs> next_try_at = std::nullopt;
};

struct QueueView {
  std::string name;
  std::vector<HandlerView> handlers;  // without timers
  std::size_t claimed = 0;
  std::size_t sleeping = 0;  // timers
  std::size_t anomalies = 0;
  std::size_t open_circuits = 0;                           // circuit breakers
  std::optional<QueueBackendView> backend = std::nullopt;  // empty: it is not bound to one

  // Of all handlers.
  [[nodiscard]] HandlerView total() const;
};

// All, or the one of that name.
std::vector<QueueView> queue_views(Turn& turn, const std::string& only);
// Adds the state of the backends, and the bound queues to which nothing was added yet.
void add_backends(std::vector<QueueView>& queues, const std::vector<LeaseHealth>& backends,
                  const std::string& only);
std::string queues_text(const std::vector<QueueView>& queues,
                        const std::vector<KnownWorker>& workers, TimeMs now);
std::string queue_text(const QueueView& queue, const std::vector<KnownWorker>& workers, TimeMs now);

struct LeaseView {
  std::string owner;
  std::string run_id;
  std::string workflow;
  std::string step;
  std::string queue;
  std::string runnable_key;
  TimeMs claimed_at;
  TimeMs lease_until;
  Payload progress;
};

std::vector<LeaseView> lease_views(Turn& turn);
// The workers that called this server, and other holders of claims.
std::string workers_text(const std::vector<KnownWorker>& workers,
                         const std::vector<LeaseView>& leases);

}  // namespace holdfast
