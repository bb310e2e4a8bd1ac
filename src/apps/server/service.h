// Service: the state that the operations of a server share.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "apps/server/alarm.h"
#include "apps/server/auth_failures.h"
#include "apps/server/authenticator.h"
#include "apps/server/event_feed.h"
#include "apps/server/gauges.h"
#include "apps/server/metrics.h"
#include "apps/server/polls.h"
#include "apps/server/readers.h"
#include "apps/server/server_log.h"
#include "apps/server/waiters.h"
#include "apps/server/worker_list.h"
#include "net/http_server.h"
#include "runs/api/query_requests.h"
#include "runs/engine/engine_loop.h"
#include "runs/lease_adapter/lease_adapters.h"
#include "runs/service/run_commands.h"

namespace holdfast {

inline constexpr std::chrono::milliseconds kLongestWait{kLongestWaitMs};

struct Service {
  Loop& loop;
  std::unique_ptr<LeaseAdapters> leases;  // nullptr: no queue is bound to a backend
  Clock& clock;
  Random& random;
  ServerLog& log;
  Metrics& metrics;
  Authenticator authenticator;
  AuthFailures auth_failures;
  RunCommands commands;
  Alarm alarm;
  Readers readers;
  WorkerList workers;
  Polls polls;
  Waiters waiters;
  EventFeed events;
  LastGauges gauges;
  std::string version;
  std::string store;  // its kind, for example sqlite; its location is not for callers
  TimeMs started_at;
  std::atomic<bool> draining = false;
  std::atomic<std::size_t> delayed = 0;           // delayed responses to failed authentications
  std::atomic<bool> failures_to_log = false;      // an alarm is set that logs the rest
  std::function<net::Counters()> http = nullptr;  // of the connections
};

// Handles one request. The response may follow later.
void serve(Service& service, const net::ExchangePtr& exchange);

}  // namespace holdfast
