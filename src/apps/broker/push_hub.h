// PushHub: all connections of /v1/ws. It knows which members are connected, wakes their sessions
// when there are deliveries for them, enforces the policy for duplicate connections, and notifies
// members of who is present.
//
// Idle connections cost no thread and no time: a commit is looked at once, and only the sessions of
// its recipients are woken. What a notification missed is found by a check of all connected members
// within ten seconds of the last commit.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apps/broker/presence_board.h"
#include "apps/broker/push_session.h"
#include "apps/server/server_log.h"
#include "base/threads.h"
#include "delivery/contract/features.h"
#include "net/http_server.h"
#include "net/ws_handshake.h"

namespace holdfast::delivery {

inline constexpr std::string_view kPushPath = "/v1/ws";

struct PushOptions {
  ConnectionPolicy policy = ConnectionPolicy::prefer_newest;
  std::vector<std::string> origins = {};    // of pages that may connect
  std::chrono::milliseconds hello{10'000};  // from the upgrade to a valid hello
  std::int64_t presence_lease_ms = 90'000;
};

// Counted since the start of the process.
struct PushCounters {
  std::atomic<std::uint64_t> opened{0};
  std::atomic<std::uint64_t> refused{0};  // upgrades and hellos
  std::atomic<std::uint64_t> concurrent{0};
  std::atomic<std::uint64_t> slow{0};  // closed because they did not read
  std::atomic<std::uint64_t> pushed{0};
};

class PushHub {
 public:
  using SessionPtr = std::shared_ptr<PushSession>;
  // Executes work on a thread that may wait for the store; busy when it cannot.
  using Run = std::function<Result<void>(std::function<void()> work)>;

  // All must outlive it; so must the threads of `run` and of the server that calls open(), which
  // end first.
  PushHub(BrokerService& service, ServerLog& log, PushOptions options, Run run);
  ~PushHub() { stop(); }
  PushHub(const PushHub&) = delete;
  PushHub& operator=(const PushHub&) = delete;

  Result<void> start();
  void stop();

  // A request for /v1/ws, on the thread of the server that has it.
  void open(const net::ExchangePtr& exchange);

  // After commits, in this process or another. Never blocks.
  void commits_changed();
  // Deliveries may be claimable that are not new; of one member, or of any.
  void check_member(const std::string& member_id);
  void check_all();
  // Its connections are closed.
  void member_revoked(const std::string& member_id);

  // Presence, of the caller's workspace. heard(): it is alive, by a request.
  void heard(const LookupResult& caller);
  ProfileView set_profile(const LookupResult& caller, const std::string& name,
                          const ProfileRequest& request);
  [[nodiscard]] std::vector<PeerView> peers(const LookupResult& caller) const;

  // For sessions.
  [[nodiscard]] BrokerService& service() const { return service_; }
  [[nodiscard]] const PushOptions& options() const { return options_; }
  PushCounters& counters() { return counters_; }
  ServerLog& log() { return log_; }
  void run(SessionPtr session);
  void retry(SessionPtr session);
  // False: the policy refuses it.
  bool join(const SessionPtr& session, const PresentMember& member);
  void left(const SessionPtr& session, std::uint16_t code);
  // Deliveries of the member were acknowledged or released: others of its connections and its
  // waiting requests may get the next ones.
  void lanes_freed(const PushSession& session);

  [[nodiscard]] const PushCounters& counters() const { return counters_; }
  [[nodiscard]] std::size_t connections() const;

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Time = std::chrono::steady_clock::time_point;
  using Sessions = std::vector<SessionPtr>;

  void loop();
  [[nodiscard]] Time next_due(Time now) const;
  bool check_store(Lock& lock);
  void check_new(Lock& lock);
  void check_everyone(Lock& lock);
  void wake(Lock& lock, const std::vector<std::string>& member_ids);
  void serve_timers(Lock& lock, Time now);
  void notify_presence(Lock& lock);
  static void send_events(const std::vector<PresenceEvent>& events, std::string_view mesh_id,
                          const Sessions& sessions);

  BrokerService& service_;
  ServerLog& log_;
  const PushOptions options_;
  const net::WsRules rules_;
  const Run run_;
  PushCounters counters_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::list<std::pair<Time, SessionPtr>> greeting_;          // until their hello; the oldest first
  std::unordered_multimap<std::string, SessionPtr> online_;  // by member
  PresenceBoard presence_;
  Sessions deferred_;  // no thread could run them
  Sessions failed_;    // the store could not be reached
  std::uint64_t last_id_ = 0;
  bool behind_ = true;  // last_id_ was not kept up to date
  bool changed_ = false;
  bool check_all_ = false;
  Time full_check_ = Time::max();  // of what a notification may have missed
  Time notify_at_ = Time::max();
  Time retry_at_ = Time::max();
  bool stopping_ = false;
  ThreadGroup thread_;
};

}  // namespace holdfast::delivery
