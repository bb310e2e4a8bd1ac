#include "net/http_server.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/threads.h"
#include "net/acceptor.h"
#include "net/net_reactor.h"
#include "net/tls.h"

namespace holdfast::net {

namespace {

class ReactorServer final : public HttpServer {
 public:
  ReactorServer(const Limits& limits, Handler handler)
      : state_{.limits = limits, .handler = std::move(handler)} {}
  ~ReactorServer() override { stop_threads(); }

  Result<void> open(const Options& options);

  [[nodiscard]] std::vector<std::string> urls() const override { return urls_; }
  [[nodiscard]] Counters counters() const override;
  bool drain(std::chrono::milliseconds grace) override;
  void stop() override { stop_threads(); }

 private:
  Result<std::vector<Listener>> open_listeners(const Options& options);
  Result<void> start_threads();
  void stop_threads();

  ServerState state_;
  std::unique_ptr<TlsContext> tls_;
  std::vector<std::string> urls_;
  std::vector<std::unique_ptr<Reactor>> reactors_;
  std::mutex stop_mutex_;
  ThreadGroup threads_;
};

Result<std::vector<Listener>> ReactorServer::open_listeners(const Options& options) {
  if (options.listen.empty() || options.threads == 0) {
    return Error(ErrorCode::invalid_argument, "a server needs an address and a thread");
  }
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return Error(ErrorCode::invalid_argument, "TLS needs both a certificate and a key");
  }
  if (!options.tls_certificate.empty()) {
    HOLDFAST_TRY(tls_, TlsContext::create(options.tls_certificate, options.tls_key));
  }
  std::vector<Listener> listeners;
  for (const std::string& address : options.listen) {
    HOLDFAST_TRY(auto listener, Listener::open(address));
    const std::string_view scheme = listener.is_unix() ? "" : tls_ ? "https://" : "http://";
    urls_.push_back(fmt::format("{}{}", scheme, listener.name()));
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

Result<void> ReactorServer::open(const Options& options) {
  HOLDFAST_TRY(auto listeners, open_listeners(options));
  std::vector<std::shared_ptr<Mailbox>> mailboxes;
  for (std::size_t count = 0; count < options.threads; ++count) {
    HOLDFAST_TRY(auto reactor, Reactor::create(state_));
    mailboxes.push_back(reactor->mailbox());
    reactors_.push_back(std::move(reactor));
  }
  Reactor& first = *reactors_.front();
  first.set_acceptor(
      std::make_unique<Acceptor>(first, std::move(listeners), std::move(mailboxes), tls_.get()));
  return start_threads();
}

Result<void> ReactorServer::start_threads() {
  std::vector<std::function<void()>> bodies;
  for (const auto& reactor : reactors_) {
    bodies.emplace_back([&reactor = *reactor] {
      pthread_setname_np(pthread_self(), "holdfast-net");
      reactor.run();
    });
  }
  return threads_.start(bodies);
}

Counters ReactorServer::counters() const {
  return {.accepted = state_.accepted.load(),
          .refused = state_.refused.load(),
          .open = state_.open.load(),
          .requests = state_.requests.load(),
          .malformed = state_.malformed.load()};
}

bool ReactorServer::drain(std::chrono::milliseconds grace) {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  for (const auto& reactor : reactors_) {
    reactor->mailbox()->post(Drain{});
  }
  std::unique_lock lock(state_.mutex);
  return state_.changed.wait_until(lock, deadline,
                                   [&] { return !state_.accepting && state_.live.load() == 0; });
}

void ReactorServer::stop_threads() {
  const std::lock_guard lock(stop_mutex_);
  for (const auto& reactor : reactors_) {
    reactor->mailbox()->post(Stop{});
  }
  threads_.join();
}

}  // namespace

namespace {

// Each connection needs a descriptor; the default soft limit is too low for a server.
void allow_files(std::size_t connections) {
  constexpr rlim_t kOthers = 256;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = std::clamp<rlim_t>(connections + kOthers, limit.rlim_cur, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const Options& options, Handler handler) {
  allow_files(options.limits.connections);
  auto server = std::make_unique<ReactorServer>(options.limits, std::move(handler));
  HOLDFAST_CHECK(server->open(options));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace holdfast::net
