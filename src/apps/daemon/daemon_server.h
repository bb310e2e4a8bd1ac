// DaemonServer: a daemon in this process: its folder and lock, the outbox and the drain, the inbox
// and the receiver, and the listeners: a unix socket, and an address on the loopback interface.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/daemon/boot_clock.h"
#include "apps/daemon/daemon_service.h"
#include "apps/server/readers.h"
#include "net/http_server.h"

namespace holdfast::delivery {

// Requests at the same time; more are answered with 429 daemon_busy.
inline constexpr std::size_t kMostRequests = 64;

struct DaemonOptions {
  std::string version = {};
  std::optional<TcpMode> tcp = {};  // in place of the configuration
  // Requested by a caller, or because of an error: the membership has ended.
  std::function<void(std::optional<Error>)> on_stop = {};
  // Where tests kill the process; empty outside tests.
  std::function<Result<void>(OutboxFault)> outbox_fault = {};
  std::function<void(InboxFault)> inbox_fault = {};
};

class DaemonServer {
 public:
  // All must outlive it. busy: a daemon runs on the folder; not_found: it has joined no workspace;
  // the errors of the configuration, the outbox and the listeners.
  static Result<std::unique_ptr<DaemonServer>> start(const DaemonFolder& folder,
                                                     DaemonOptions options, Clock& clock,
                                                     Random& random, ServerLog& log);
  ~DaemonServer() { stop(std::chrono::milliseconds(0)); }
  DaemonServer(const DaemonServer&) = delete;
  DaemonServer& operator=(const DaemonServer&) = delete;

  [[nodiscard]] std::vector<std::string> urls() const { return http_->urls(); }
  // Takes no more requests, answers those in progress, and ends transmissions: no row is left
  // inflight. True when all requests were answered in time.
  bool stop(std::chrono::milliseconds grace);

 private:
  DaemonServer(DaemonFolder folder, DaemonOptions options, Clock& clock, Random& random,
               ServerLog& log)
      : folder_(std::move(folder)),
        options_(std::move(options)),
        clock_(clock),
        random_(random),
        log_(log),
        readers_(kMostRequests, kMostRequests) {}

  Result<void> open();
  Result<std::string> local_token();
  Result<void> open_service();
  Result<void> open_inbox();
  Result<std::vector<std::string>> reload();
  [[nodiscard]] static BackoffSettings backoff_of(const DaemonConfig& config);
  [[nodiscard]] BrokerSettings broker_settings() const;
  [[nodiscard]] Result<MemberProof> member_proof() const;
  Result<void> listen();
  void serve(const net::ExchangePtr& exchange);

  DaemonFolder folder_;
  DaemonOptions options_;
  BootClock clock_;
  Random& random_;
  ServerLog& log_;
  OwnedFd lock_;
  DaemonConfig config_;
  DaemonMember member_;
  DaemonCounters counters_;
  std::unique_ptr<Outbox> outbox_;
  std::unique_ptr<Drain> drain_;
  std::unique_ptr<Inbox> inbox_;
  std::unique_ptr<DaemonEvents> events_;
  std::unique_ptr<Receiver> receiver_;
  std::unique_ptr<MemberNames> names_;
  std::unique_ptr<LocalAccess> access_;
  std::unique_ptr<DaemonService> service_;
  std::atomic<std::size_t> requests_ = 0;
  Readers readers_;
  std::unique_ptr<net::HttpServer> http_;
};

}  // namespace holdfast::delivery
