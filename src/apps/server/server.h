// Server: a store as a service. It owns the loop of the store, the connections and the operations
// between them. The caller waits and then stops it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/server/server_log.h"
#include "base/clock.h"
#include "base/random.h"
#include "holdfast/result.h"
#include "net/http_server.h"
#include "runs/lease_adapter/lease_adapters.h"

namespace holdfast {

struct ServerOptions {
  std::string store;        // URL
  std::string shown_store;  // the same without its secrets
  net::Options http;
  std::uint64_t max_rate = 0;  // requests per second and token; 0: no limit
  // Failed authentications a minute from one address; 0: no limit.
  std::uint64_t max_auth_failures = 60;
  std::size_t readers = 2;         // threads that read the journal
  std::size_t worker_threads = 0;  // threads that execute http and exec steps in this process
  // Queues whose attempts lease backends carry to workers.
  std::vector<QueueBinding> backends = {};
  std::string version;
  // Called once, from a thread of the loop, when the store failed for good.
  std::function<void(const Error& why)> failed = nullptr;
};

class Server {
 public:
  // Creates the store if it does not exist. While the store is unavailable, the server listens and
  // answers unavailable. Backends need not be available. Errors of the store and of
  // net::HttpServer::start; permission_denied when other machines could reach the server and the
  // store has no tokens. clock, random and log must outlive it.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Clock& clock,
                                               Random& random, ServerLog& log);
  virtual ~Server() = default;
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] virtual std::vector<std::string> urls() const = 0;
  // Callers need a token.
  [[nodiscard]] virtual bool has_tokens() const = 0;
  // Refuses new work, answers the requests in progress, then closes everything. True when all
  // requests were answered within `grace`.
  virtual bool stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace holdfast
