// Receiver: brings the messages of the member from a broker into the inbox. One thread, on a
// WebSocket; where none can be opened, with requests that wait.
//
//   stored     then shown to programs, then acknowledged: in this order
//   again      absorbed by the inbox, acknowledged too
//   no space   nothing is acknowledged: the broker keeps what does not fit
//   lost       connected again with back-off; what was not acknowledged comes again
//   replaced   by another program with the same identity (4003, 4004): no further attempt
//   revoked    the membership has ended (4005): reported once, no further attempt
//
// When a connection has become quiet, it requests the history behind its cursors, once: what a
// broker gave up to deliver is found there.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "apps/daemon/daemon_config.h"
#include "apps/daemon/daemon_events.h"
#include "apps/daemon/inbound.h"
#include "apps/daemon/push_link.h"
#include "apps/server/server_log.h"
#include "base/clock.h"
#include "base/threads.h"
#include "delivery/daemon/backoff.h"

namespace holdfast::delivery {

struct ReceiverOptions {
  BrokerSettings broker = {};
  MemberProof proof = {};
  ReceiveMode mode = ReceiveMode::automatic;
  BackoffSettings backoff = {};
  std::chrono::milliseconds quiet{2'000};         // then the history is requested
  std::chrono::milliseconds silence{45'000};      // then the broker is pinged
  std::chrono::milliseconds poll_period{60'000};  // then a WebSocket is tried again
  std::function<void(const Error&)> on_revoked = {};
};

struct ReceiverCounters {
  std::atomic<std::uint64_t> received = 0;  // new messages
  std::atomic<std::uint64_t> duplicates = 0;
  std::atomic<std::uint64_t> invalid = 0;
  std::atomic<std::uint64_t> connects = 0;
  std::atomic<std::uint64_t> pruned = 0;
};

struct ReceiverStatus {
  enum class Way : std::uint8_t { none, websocket, poll };
  Way way = Way::none;
  std::string broker;
  std::string trouble;  // why there is no connection
};

class Receiver {
 public:
  // All must outlive it. clock must not go backwards.
  Receiver(Inbox& inbox, DaemonEvents& events, ReceiverOptions options, Clock& clock,
           Random& random, ServerLog& log);
  ~Receiver() { stop(); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  Result<void> start();
  void stop();

  [[nodiscard]] ReceiverStatus status();
  void set_backoff(const BackoffSettings& backoff);
  [[nodiscard]] const ReceiverCounters& counters() const { return counters_; }

 private:
  void run();
  void connect();
  // False: the broker does not open a WebSocket.
  bool receive_pushes(const std::string& url);
  void serve(PushLink& link);
  bool handle(PushLink& link, const std::string& frame);
  bool handle_quiet(PushLink& link, bool& resumed, bool& pinged);
  void poll(const std::string& url);
  Result<void> poll_once(net::HttpClient& http);
  Result<void> store(const Inbound& inbound);
  void follow_cursor(const std::string& frame);
  void forget_destination(const std::string& frame);

  void connected(ReceiverStatus::Way way, const std::string& url);
  void not_connected(const Error& error);
  void prune_if_due();
  void wait(std::int64_t ms);
  void wait_after_failure();

  Inbox& inbox_;
  DaemonEvents& events_;
  const ReceiverOptions options_;
  const InboundOwner owner_;
  Clock& clock_;
  Random& random_;
  ServerLog& log_;
  ReceiverCounters counters_;
  std::stop_source stop_;
  std::uint64_t failures_ = 0;  // of the thread, as what follows
  std::int64_t next_prune_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  BackoffSettings backoff_;
  ReceiverStatus status_;
  PushLink* link_ = nullptr;  // to be woken
  bool ended_ = false;        // no further attempt

  ThreadGroup thread_;
};

}  // namespace holdfast::delivery

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<delivery::ReceiverStatus::Way>[] = {"", "websocket",
                                                                                 "poll"};

}  // namespace holdfast
