// Server: a store as a service. It owns the loop of the store, the connections, and what joins
// them; whoever runs it waits, and tells it to stop.
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

namespace holdfast {

struct ServerOptions {
  std::string store;        // URL
  std::string shown_store;  // the same without its secrets
  net::Options http;
  std::uint64_t max_rate = 0;  // requests per second and token; 0: no limit
  // Failed authentications a minute from one address; 0: no limit.
  std::uint64_t max_auth_failures = 60;
  std::size_t readers = 2;         // threads for what reads the journal
  std::size_t worker_threads = 0;  // that carry out http and exec steps here
  std::string version;
  // The store failed: the server is of no use any more. Called once, from a thread of the loop.
  std::function<void(const Error& why)> failed = nullptr;
};

class Server {
 public:
  // The store is made if there is none. One that cannot be reached is waited for: the server
  // listens and answers unavailable until it can. What the store and net::HttpServer::start say;
  // permission_denied when it would listen to other machines and nobody needs a token. clock,
  // random and log must outlive it.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Clock& clock,
                                               Random& random, ServerLog& log);
  virtual ~Server() = default;
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] virtual std::vector<std::string> urls() const = 0;
  // The store asks everybody for a token.
  [[nodiscard]] virtual bool has_tokens() const = 0;
  // No new claims and no new work; what is under way is answered. True when all of it was, before
  // the time was over. Then everything is closed, and the store is left in good order.
  virtual bool stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace holdfast
