// A raw WebSocket peer of a server under test: frames byte by byte, and a handler that records.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/ws_frames.h"
#include "net/ws_handshake.h"
#include "tests/support/test_client.h"

namespace holdfast::net {

inline constexpr std::string_view kWsTestKey = "dGhlIHNhbXBsZSBub25jZQ==";

inline std::string ws_request(std::string_view path, std::string_view more = "") {
  return "GET " + std::string(path) +
         " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
         std::string(kWsTestKey) + "\r\n" + std::string(more) + "\r\n";
}

class WsPeerClient {
 public:
  explicit WsPeerClient(TestClient client) : client_(std::move(client)) {}
  explicit WsPeerClient(const std::string& url, std::string_view path = "/",
                        int receive_buffer_bytes = 0)
      : client_(url, receive_buffer_bytes) {
    client_.send(ws_request(path));
    opened_ = read_head();
  }

  [[nodiscard]] bool opened() const { return opened_; }
  TestClient& raw() { return client_; }

  bool send_raw(std::string_view bytes) { return client_.send(bytes); }
  bool send(std::string_view text, WsOpcode opcode = WsOpcode::text) {
    return client_.send(ws_frame(opcode, text, WsMask{1, 2, 3, 4}));
  }
  // The next event of any kind; a close event with kLost at the end or the deadline.
  WsEvent next() {
    for (;;) {
      const std::string& unread = client_.unread();
      if (parser_.state() == WsParser::State::reading && taken_ < unread.size()) {
        taken_ += parser_.take(std::string_view(unread).substr(taken_));
      }
      if (parser_.state() == WsParser::State::event) {
        return parser_.take_event();
      }
      const bool failed = parser_.state() == WsParser::State::failed;
      if (failed || (taken_ == unread.size() && !client_.read_some())) {
        return {WsOpcode::close, "", ws_code::kLost};
      }
    }
  }
  // The next text message; pings are skipped.
  std::string text() {
    for (;;) {
      WsEvent event = next();
      if (event.kind == WsOpcode::text) {
        return std::move(event.data);
      }
      if (event.kind == WsOpcode::close) {
        return "closed " + std::to_string(event.code);
      }
    }
  }

 private:
  bool read_head() {
    constexpr std::string_view kEnd = "\r\n\r\n";
    if (!client_.read_until(kEnd)) {
      return false;
    }
    taken_ = client_.unread().find(kEnd) + kEnd.size();
    return client_.unread().starts_with("HTTP/1.1 101 ");
  }

  TestClient client_;
  bool opened_ = false;
  std::size_t taken_ = 0;
  WsParser parser_{WsPeer::server, 64U << 20U};
};

}  // namespace holdfast::net
