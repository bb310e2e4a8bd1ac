// Mailbox: how other threads send messages to a reactor, which handles them in order. Exchanges and
// streams keep the mailbox, not the reactor: after its end their messages are dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/owned_fd.h"
#include "net/http.h"
#include "net/web_socket.h"

namespace holdfast::net {

class TlsContext;
struct WsBuffered;

using ConnectionId = std::uint64_t;

// An accepted connection.
struct Adopt {
  enum class As : std::uint8_t { served, refused };  // refused: over the limit, receives a 503
  OwnedFd fd;
  Peer peer;
  TlsContext* tls = nullptr;
  As as = As::served;
};
struct GiveReply {
  ConnectionId id;
  Response response;
};
struct OpenStream {
  ConnectionId id;
  Response head;
};
struct WritePiece {
  ConnectionId id;
  std::string piece;
  std::function<void(bool alive)> sent;
};
struct FinishStream {
  ConnectionId id;
};
// The connection becomes a WebSocket.
struct Upgrade {
  ConnectionId id;
  std::string key;  // of the handshake
  std::shared_ptr<WebSocketHandler> handler;
  std::shared_ptr<WsBuffered> buffered;
};
struct SendFrame {
  ConnectionId id;
  std::string frame;
};
struct CloseWebSocket {
  ConnectionId id;
  std::uint16_t code;
  std::string reason;
};
struct Call {
  std::function<void()> function;
};
struct Drain {};
struct Stop {};

using Mail = std::variant<Adopt, GiveReply, OpenStream, WritePiece, FinishStream, Upgrade,
                          SendFrame, CloseWebSocket, Call, Drain, Stop>;

class Mailbox {
 public:
  explicit Mailbox(OwnedFd event) : event_(std::move(event)) {}

  // Any thread. After close() messages are dropped.
  void post(Mail mail);
  // All of them in their order, as one.
  void post_all(std::vector<Mail> mails);
  // The descriptor that becomes readable when another thread has posted a message.
  [[nodiscard]] int event() const { return event_.get(); }

  // The following functions are for the thread of the reactor.
  void own() { owner_ = std::this_thread::get_id(); }
  void clear_event() const;
  [[nodiscard]] bool empty();
  // All messages posted so far; `into` must be empty, and its memory is reused.
  void take(std::vector<Mail>& into);
  void close();

 private:
  // Adds messages with the mutex held, and wakes the reactor.
  template <typename Add>
  void add(const Add& add);

  OwnedFd event_;
  std::atomic<std::thread::id> owner_ = std::thread::id();
  std::mutex mutex_;
  std::vector<Mail> mails_;
  bool woken_ = false;  // the event was set since the last take()
  bool closed_ = false;
};

}  // namespace holdfast::net
