// Reactor: one thread that serves many connections. It sleeps until a socket, a timer or the
// mailbox has an event; an idle reactor does not wake up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "holdfast/result.h"
#include "net/http_connection.h"
#include "net/http_server.h"
#include "net/mailbox.h"
#include "net/net_timers.h"

namespace holdfast::net {

class Acceptor;

// The state that all reactors of a server share.
struct ServerState {
  Limits limits;
  Handler handler;

  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> open = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> malformed = 0;

  // Connections over the limit that are receiving a 503.
  std::atomic<std::uint64_t> rejected = 0;
  // Open connections, without those that only wait for the peer to read the last response.
  std::atomic<std::uint64_t> live = 0;
  std::mutex mutex = {};
  std::condition_variable changed = {};  // no connection is live, or accepting has ended
  bool accepting = true;                 // guarded by the mutex

  void end_accepting() {
    const std::lock_guard lock(mutex);
    accepting = false;
    changed.notify_all();
  }
  void one_less_live() {
    if (live.fetch_sub(1) == 1) {
      const std::lock_guard lock(mutex);
      changed.notify_all();
    }
  }
};

class Reactor {
 public:
  static Result<std::unique_ptr<Reactor>> create(ServerState& state);
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;
  ~Reactor();

  // Any thread.
  [[nodiscard]] const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }

  // Before run(): makes this reactor run the acceptor.
  void set_acceptor(std::unique_ptr<Acceptor> acceptor);
  // The body of the thread; returns after Stop was posted, with everything closed.
  void run();

  // For connections and the acceptor, in the thread of the reactor.
  [[nodiscard]] ServerState& state() const { return state_; }
  [[nodiscard]] const Limits& limits() const { return state_.limits; }
  [[nodiscard]] Timers& timers() { return timers_; }
  [[nodiscard]] SteadyTime now() const { return now_; }
  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] std::span<char> buffer() { return buffer_; }
  [[nodiscard]] std::span<char> small_buffer() { return buffer().first(kSmallBufferBytes); }
  // The current time as in a Date header.
  std::string_view date();
  void adopt(Adopt adopted);
  // The connection was closed; it is destroyed once none of its functions can be running.
  void bury(const Connection& connection) { buried_.push_back(connection.id()); }
  // Schedules another event for a connection that has unread data.
  void rewatch(const Connection& connection) const;
  // Watches a listening socket (level-triggered); `number` is for the acceptor.
  void watch_listener(int socket, std::size_t number) const;
  void ignore_listener(int socket) const;

 private:
  static constexpr std::size_t kBufferBytes = 64U << 10U;
  static constexpr std::size_t kSmallBufferBytes = 16U << 10U;

  Reactor(ServerState& state, OwnedFd epoll, OwnedFd event);
  void handle_mail();
  void wait_for_events();
  void on_event(std::uint64_t key, std::uint32_t events);
  void fire_timers();
  void bury_closed();
  void close_everything();
  Connection* find(ConnectionId id);

  void handle(Adopt& mail);
  void handle(GiveReply& mail);
  void handle(OpenStream& mail);
  void handle(WritePiece& mail);
  void handle(FinishStream& mail);
  void handle(Upgrade& mail);
  void handle(SendFrame& mail);
  void handle(CloseWebSocket& mail);
  void handle(Call& mail);
  void handle(Drain& mail);
  void handle(Stop& mail);

  ServerState& state_;
  OwnedFd epoll_;
  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<Acceptor> acceptor_;
  Timers timers_;
  std::unordered_map<ConnectionId, std::unique_ptr<Connection>> connections_;
  std::vector<ConnectionId> buried_;
  std::vector<Mail> mails_;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
  ConnectionId last_id_;
  SteadyTime now_ = std::chrono::steady_clock::now();
  std::time_t date_time_ = -1;
  std::string date_;
  bool draining_ = false;
  bool stopped_ = false;
};

}  // namespace holdfast::net
