// WsClient: a WebSocket to a server over TCP, TLS or a unix socket. libcurl connects (proxies,
// names and certificates are its work); frames are those of ws_frames.h, because the libcurl of
// Debian 12 has none.
//
// One thread uses it; only wake() may be called by others. Calls block that thread, never longer
// than their time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/random.h"
#include "holdfast/result.h"
#include "net/http_client.h"
#include "net/ws_frames.h"

namespace holdfast::net {

struct WsClientOptions {
  HttpOptions http = {};     // token, authorities, time to connect
  std::string target = "/";  // path and query, percent-encoded
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::chrono::milliseconds handshake{10'000};
  std::chrono::milliseconds send{30'000};  // without progress
  std::size_t message_bytes = 8U << 20U;   // of the server
};

struct WsIncoming {
  enum class Kind : std::uint8_t {
    text,
    closed,  // by a close frame, or lost; nothing follows
    silent,  // no byte in the time
    woken,   // by wake()
  };
  Kind kind = Kind::closed;
  std::string text = {};   // of a message; the reason of a close frame
  std::uint16_t code = 0;  // of a close frame; ws_code::kLost if there was none
};

class WsClient {
 public:
  // unavailable: no connection. Other statuses than 101 are errors with the field "status":
  // unauthenticated for 401, permission_denied for 403, else invalid_argument; unavailable from
  // 500 on. `random` must outlive it.
  static Result<std::unique_ptr<WsClient>> connect(Url url, WsClientOptions options,
                                                   Random& random);
  ~WsClient();
  WsClient(const WsClient&) = delete;
  WsClient& operator=(const WsClient&) = delete;

  // unavailable: the connection is lost, and receive() reports it.
  Result<void> send(std::string_view text);
  Result<void> ping();
  // The next message. Pings are answered meanwhile; binary messages end the connection.
  WsIncoming receive(std::chrono::milliseconds silence);
  // Any thread: the current or the next receive() returns.
  void wake() const;
  // Sends a close frame and ends the connection without waiting for the answer of the server.
  void close(std::uint16_t code, std::string_view reason);

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class Ready : std::uint8_t { socket, woken, late };

  WsClient(Url url, WsClientOptions options, Random& random);
  Result<void> open();
  Result<void> shake_hands();
  Result<std::string> read_head(Time deadline);
  Result<void> write(std::string_view bytes);
  Result<void> send_frame(WsOpcode opcode, std::string_view payload);
  // Bytes that arrived; empty: none now.
  Result<std::string_view> read();
  Ready wait(short events, Time deadline) const;
  bool handle(WsEvent event, WsIncoming& incoming);
  WsIncoming lost(std::string_view reason);

  const Url url_;
  const WsClientOptions options_;
  Random& random_;
  std::unique_ptr<HttpTransfer> transfer_;
  OwnedFd event_;
  int socket_ = -1;
  std::vector<char> buffer_;
  std::string unread_;  // bytes behind the last event
  WsParser parser_;
  bool ended_ = false;
};

}  // namespace holdfast::net
