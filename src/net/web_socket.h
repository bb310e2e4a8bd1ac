// WebSocket: a connection of the server that was upgraded (RFC 6455), and the handler of its
// messages. Text only: a binary message closes it with 1003.
//
// What is sent waits in a bounded buffer: a peer that does not read loses its connection (1013).
// A peer that is silent is pinged, and closed when it stays silent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::net {

struct WebSocketLimits {
  std::size_t message_bytes = 64U << 10U;  // of the peer: 1009
  // Not sent yet. When it is exceeded, the rest is dropped and the connection closed: 1013.
  std::size_t buffer_bytes = 4U << 20U;
  std::chrono::milliseconds ping{30'000};     // without a byte from the peer; then it is pinged
  std::chrono::milliseconds silence{75'000};  // then the connection is closed
};

class WebSocket {
 public:
  WebSocket() = default;
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;
  // Does not close the connection.
  virtual ~WebSocket() = default;

  // Any thread; never block; without effect once it was closed. Messages of one thread keep their
  // order.
  virtual void send(std::string_view text) = 0;
  // Everything sent before precedes it. The code must be one that may be sent.
  virtual void close(std::uint16_t code, std::string_view reason) = 0;
  // Bytes that the system has not taken yet, with their frames.
  [[nodiscard]] virtual std::size_t buffered() const = 0;
};

// Its functions are called by one thread of the server, one at a time, and must not block.
class WebSocketHandler {
 public:
  WebSocketHandler() = default;
  WebSocketHandler(const WebSocketHandler&) = delete;
  WebSocketHandler& operator=(const WebSocketHandler&) = delete;
  virtual ~WebSocketHandler() = default;

  virtual void on_text(std::string text) = 0;
  // The system has taken everything that was sent.
  virtual void on_drained() = 0;
  // Once; nothing follows. The code is that of the close frame that ended it, sent by either side;
  // ws_code::kLost if there was none. It may be missing when the server is stopped.
  virtual void on_closed(std::uint16_t code) = 0;
};

}  // namespace holdfast::net
