#include "apps/broker/broker_server.h"

namespace holdfast::delivery {

namespace {

// Below the 15 s after which a daemon tries again, so that retries do not pile up.
constexpr std::chrono::milliseconds kAnswerTime{14'000};

}  // namespace

Result<std::unique_ptr<BrokerServer>> BrokerServer::start(const BrokerHostOptions& options,
                                                          net::Options http, Clock& clock,
                                                          Random& random, ServerLog& log) {
  for (const std::string& address : http.listen) {
    HOLDFAST_CHECK(net::check_address(address));
  }
  http.limits.body_bytes = kMostBodyBytes;
  http.limits.answer = kAnswerTime;
  std::unique_ptr<BrokerServer> server(new BrokerServer());
  HOLDFAST_TRY(server->host_, BrokerHost::start(options, clock, random, log));
  BrokerHost* const host = server->host_.get();
  HOLDFAST_TRY(server->http_,
               net::HttpServer::start(
                   http, [host](const net::ExchangePtr& exchange) { host->serve(exchange); }));
  host->set_listener(server->http_.get());
  return server;
}

bool BrokerServer::stop(std::chrono::milliseconds grace) {
  if (http_ == nullptr) {
    return true;
  }
  host_->release_polls();
  const bool in_time = http_->drain(grace);
  host_->stop();
  host_->set_listener(nullptr);
  http_->stop();
  http_.reset();
  return in_time;
}

}  // namespace holdfast::delivery
