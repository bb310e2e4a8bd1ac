// The part of Connection that serves a WebSocket.
#include <utility>

#include "net/http_connection.h"
#include "net/net_reactor.h"
#include "net/ws_handshake.h"

namespace holdfast::net {

void Connection::upgrade(Upgrade upgrade) {
  if (phase_ != Phase::answering) {
    upgrade.handler->on_closed(ws_code::kLost);
    return;
  }
  presence_.reset();
  const bool possible = minor_ == 1 && !reactor_.draining();
  if (!possible) {
    keep_alive_ = false;
    send(problem(minor_ == 1
                     ? Refusal{503, "unavailable", "the server is shutting down", WhatNext::retry}
                     : bad_request("a WebSocket needs HTTP/1.1")));
    upgrade.handler->on_closed(ws_code::kLost);
    run();
    return;
  }
  phase_ = Phase::upgraded;
  web_socket_ =
      std::make_unique<WsSession>(reactor_.limits().web_socket, std::move(upgrade.handler),
                                  std::move(upgrade.buffered), reactor_.now());
  wait_for_frames();
  add_frames(ws_response_head(upgrade.key, reactor_.date()));
  run();
}

void Connection::add_frames(std::string frames) {
  if (!frames.empty()) {
    web_socket_->added(frames.size());
    output_.add(std::move(frames));
  }
}

void Connection::take_frames(std::string_view bytes) {
  WsSession::Reply reply = web_socket_->take(bytes, reactor_.now());
  add_frames(std::move(reply.frames));
  if (reply.end != 0) {
    end_web_socket(reply.end);
  } else if (web_socket_->overflows()) {
    close_overflowing();
  } else if (output_.empty()) {
    wait_for_frames();
  }
}

void Connection::send_frame(std::string frame) {
  if (phase_ != Phase::upgraded) {
    return;
  }
  output_.add(std::move(frame));
  run();
  if (phase_ == Phase::upgraded && web_socket_->overflows()) {
    close_overflowing();
    run();
  }
}

void Connection::close_web_socket(std::uint16_t code, std::string_view reason) {
  if (phase_ == Phase::upgraded) {
    add_frames(ws_frame(WsOpcode::close, ws_close_payload(code, reason)));
    end_web_socket(code);
    run();
  }
}

// What is left of a frame that was begun precedes the close frame.
void Connection::close_overflowing() {
  output_.drop_unsent();
  output_.add(ws_frame(WsOpcode::close,
                       ws_close_payload(ws_code::kTryAgainLater, "too many bytes were not read")));
  end_web_socket(ws_code::kTryAgainLater);
}

// The close frame is the last thing that is sent; what the peer sends now is not read as frames.
void Connection::end_web_socket(std::uint16_t code) {
  web_socket_->ended(code);
  web_socket_.reset();
  keep_alive_ = false;
  phase_ = Phase::sending;
  set_timer(reactor_.limits().send);
}

void Connection::wait_for_frames() { reactor_.timers().set(*this, web_socket_->next_due()); }

void Connection::on_web_socket_time() {
  if (!output_.empty()) {
    close();  // without progress in sending
    return;
  }
  switch (web_socket_->due(reactor_.now())) {
    case WsSession::Due::silent:
      close_web_socket(ws_code::kGoingAway, "no answer to a ping");
      return;
    case WsSession::Due::ping:
      add_frames(ws_frame(WsOpcode::ping, ""));
      run();
      return;
    case WsSession::Due::nothing:
      wait_for_frames();
      return;
  }
}

}  // namespace holdfast::net
