#include "net/ws_session.h"

#include <utility>

#include "holdfast/assert.h"

namespace holdfast::net {

void ServerWebSocket::send(std::string_view text) {
  if (buffered_->overflows()) {
    return;  // the connection is about to be closed
  }
  std::string frame = ws_frame(WsOpcode::text, text);
  buffered_->bytes += frame.size();
  mailbox_->post(SendFrame{id_, std::move(frame)});
}

void ServerWebSocket::close(std::uint16_t code, std::string_view reason) {
  HOLDFAST_ASSERT(is_ws_close_code(code));
  mailbox_->post(CloseWebSocket{id_, code, std::string(reason)});
}

WsSession::WsSession(const WebSocketLimits& limits, std::shared_ptr<WebSocketHandler> handler,
                     std::shared_ptr<WsBuffered> buffered, SteadyTime now)
    : limits_(limits),
      handler_(std::move(handler)),
      buffered_(std::move(buffered)),
      parser_(WsPeer::client, limits.message_bytes),
      heard_(now) {
  buffered_->limit = limits.buffer_bytes;
}

WsSession::Reply WsSession::take(std::string_view bytes, SteadyTime now) {
  heard_ = now;
  pinged_ = false;
  Reply reply;
  while (!bytes.empty() && reply.end == 0) {
    bytes.remove_prefix(parser_.take(bytes));
    if (parser_.state() == WsParser::State::failed) {
      const WsFault& fault = parser_.fault();
      append_ws_frame(reply.frames, WsOpcode::close, ws_close_payload(fault.code, fault.reason));
      reply.end = fault.code;
    } else if (parser_.state() == WsParser::State::event) {
      WsEvent event = parser_.take_event();
      switch (event.kind) {
        case WsOpcode::text:
          handler_->on_text(std::move(event.data));
          break;
        case WsOpcode::ping:
          append_ws_frame(reply.frames, WsOpcode::pong, event.data);
          break;
        case WsOpcode::close:
          append_ws_frame(reply.frames, WsOpcode::close,
                          event.code == ws_code::kNoCode ? "" : ws_close_payload(event.code, ""));
          reply.end = event.code;
          break;
        case WsOpcode::binary:
          append_ws_frame(reply.frames, WsOpcode::close,
                          ws_close_payload(ws_code::kUnsupportedData, "only text is accepted"));
          reply.end = ws_code::kUnsupportedData;
          break;
        case WsOpcode::pong:
        case WsOpcode::continuation:
          break;
      }
    }
  }
  return reply;
}

void WsSession::drained() {
  if (handler_ != nullptr) {
    handler_->on_drained();
  }
}

void WsSession::ended(std::uint16_t code) {
  if (const auto handler = std::exchange(handler_, nullptr)) {
    handler->on_closed(code);
  }
}

WsSession::Due WsSession::due(SteadyTime now) {
  if (now >= heard_ + limits_.silence) {
    return Due::silent;
  }
  if (!pinged_ && now >= heard_ + limits_.ping) {
    pinged_ = true;
    return Due::ping;
  }
  return Due::nothing;
}

SteadyTime WsSession::next_due() const {
  return heard_ + (pinged_ || limits_.ping >= limits_.silence ? limits_.silence : limits_.ping);
}

}  // namespace holdfast::net
