// BrokerServer: a broker as a service of its own: a BrokerHost behind HTTP.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "apps/broker/broker_host.h"
#include "net/http_server.h"

namespace holdfast::delivery {

class BrokerServer {
 public:
  // Errors of BrokerHost::start and net::HttpServer::start. The limits of the body and of the time
  // for an answer are the broker's own.
  static Result<std::unique_ptr<BrokerServer>> start(const BrokerHostOptions& options,
                                                     net::Options http, Clock& clock,
                                                     Random& random, ServerLog& log);
  ~BrokerServer() { stop(std::chrono::milliseconds(0)); }
  BrokerServer(const BrokerServer&) = delete;
  BrokerServer& operator=(const BrokerServer&) = delete;

  [[nodiscard]] std::vector<std::string> urls() const { return http_->urls(); }
  // Takes no more requests and answers those in progress. True when all were answered in time.
  bool stop(std::chrono::milliseconds grace);

 private:
  BrokerServer() = default;

  std::unique_ptr<BrokerHost> host_;
  std::unique_ptr<net::HttpServer> http_;
};

}  // namespace holdfast::delivery
