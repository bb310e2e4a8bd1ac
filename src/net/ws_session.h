// WsSession: the state of an upgraded connection of the server, between its transport and its
// handler. It runs in the thread of the reactor.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/mailbox.h"
#include "net/net_timers.h"
#include "net/web_socket.h"
#include "net/ws_frames.h"

namespace holdfast::net {

// Bytes that the system has not taken yet. While there are more than the limit, nothing is added.
struct WsBuffered {
  std::atomic<std::size_t> bytes = 0;
  std::atomic<std::size_t> limit = SIZE_MAX;  // known once the connection is upgraded

  [[nodiscard]] bool overflows() const { return bytes.load() > limit.load(); }
};

// What the application holds. It holds only the mailbox and the number of the connection.
class ServerWebSocket final : public WebSocket {
 public:
  ServerWebSocket(std::shared_ptr<Mailbox> mailbox, ConnectionId id,
                  std::shared_ptr<WsBuffered> buffered)
      : mailbox_(std::move(mailbox)), id_(id), buffered_(std::move(buffered)) {}

  void send(std::string_view text) override;
  void close(std::uint16_t code, std::string_view reason) override;
  [[nodiscard]] std::size_t buffered() const override { return buffered_->bytes.load(); }

 private:
  std::shared_ptr<Mailbox> mailbox_;
  ConnectionId id_;
  std::shared_ptr<WsBuffered> buffered_;
};

class WsSession {
 public:
  WsSession(const WebSocketLimits& limits, std::shared_ptr<WebSocketHandler> handler,
            std::shared_ptr<WsBuffered> buffered, SteadyTime now);
  // As ended(ws_code::kLost).
  ~WsSession() { ended(ws_code::kLost); }
  WsSession(const WsSession&) = delete;
  WsSession& operator=(const WsSession&) = delete;

  // Bytes of the peer. Gives the frames to send at once; sets `end` when the connection ends after
  // them, with the code of ended().
  struct Reply {
    std::string frames = {};
    std::uint16_t end = 0;  // 0: it stays open
  };
  Reply take(std::string_view bytes, SteadyTime now);

  // Frames entered the output, or the system has taken bytes of it.
  void added(std::size_t bytes) { buffered_->bytes += bytes; }
  void sent(std::size_t bytes) { buffered_->bytes -= bytes; }
  // The output is empty: the handler may send more.
  void drained();
  [[nodiscard]] bool overflows() const { return buffered_->overflows(); }

  // Notifies the handler, once.
  void ended(std::uint16_t code);

  enum class Due : std::uint8_t { nothing, ping, silent };
  // What the time requires; a ping is due once per silence.
  Due due(SteadyTime now);
  [[nodiscard]] SteadyTime next_due() const;

 private:
  const WebSocketLimits& limits_;
  std::shared_ptr<WebSocketHandler> handler_;
  std::shared_ptr<WsBuffered> buffered_;
  WsParser parser_;
  SteadyTime heard_;
  bool pinged_ = false;  // since then
};

}  // namespace holdfast::net
