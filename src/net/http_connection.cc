#include "net/http_connection.h"

#include <sys/epoll.h>

#include <utility>

#include "holdfast/assert.h"
#include "net/net_reactor.h"

namespace holdfast::net {

namespace {

// Time for the peer to read the last response; then the connection is closed.
constexpr std::chrono::milliseconds kLinger{2'000};
// Bytes read from one connection before the others get their turn.
constexpr int kReadsInARow = 32;

constexpr Refusal kTooSlow{408, "request_timeout", "the request did not arrive in time"};
constexpr Refusal kNoAnswer{503, "answer_timeout", "the server did not answer in time",
                            WhatNext::retry};
constexpr Refusal kUnknownOutcome{503, "answer_timeout",
                                  "the server did not answer in time, and the request may still be "
                                  "processed: check whether it was, or "
                                  "repeat it with the same idempotency key",
                                  WhatNext::in_doubt};
constexpr Refusal kFull{503, "busy", "there are too many connections", WhatNext::retry};
constexpr Refusal kDraining{503, "unavailable", "the server is shutting down", WhatNext::retry};

}  // namespace

Connection::Connection(Reactor& reactor, ConnectionId id, Adopt adopted)
    : reactor_(reactor),
      id_(id),
      transport_(std::move(adopted.fd), adopted.tls),
      peer_(std::move(adopted.peer)),
      counted_(adopted.as == Adopt::As::served),
      live_(counted_) {
  peer_.tls = adopted.tls != nullptr;
}

void Connection::start() {
  if (!counted_) {
    keep_alive_ = false;
    send(problem(kFull));
    run();
  } else if (transport_.is_tls()) {
    set_timer(reactor_.limits().receive);
  } else {
    phase_ = Phase::reading;
    set_timer(reactor_.limits().idle);
  }
}

void Connection::set_timer(std::chrono::milliseconds from_now) {
  reactor_.timers().set(*this, reactor_.now() + from_now);
}

void Connection::on_events(std::uint32_t events) {
  if (closed()) {
    return;
  }
  if ((events & EPOLLERR) != 0) {
    close();
    return;
  }
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP)) != 0) {
    readable_ = true;
  }
  if ((events & (EPOLLRDHUP | EPOLLHUP)) != 0) {
    peer_closed_ = true;
  }
  run();
}

void Connection::run() {
  int reads_left = kReadsInARow;
  while (step(reads_left) == Next::proceed) {
  }
  if (reads_left == 0 && !closed()) {
    reactor_.rewatch(*this);
  }
}

Connection::Next Connection::step(int& reads_left) {
  // The frames of a WebSocket are also read while the peer does not read.
  if (!output_.empty() && flush() == Next::wait && phase_ != Phase::upgraded) {
    return Next::wait;
  }
  switch (phase_) {
    case Phase::handshake:
      return shake_hands();
    case Phase::reading:
    case Phase::upgraded:
      return read(reads_left);
    case Phase::answering:
      notice_absence();
      return Next::wait;
    case Phase::streaming:
      reactor_.timers().clear(*this);
      end_piece();
      if (peer_left()) {
        close();
      }
      return Next::wait;
    case Phase::sending:
      end_piece();
      end_answer();
      return Next::proceed;
    case Phase::lingering:
      return discard(reads_left);
    case Phase::closed:
      return Next::wait;
  }
  return Next::wait;
}

Connection::Next Connection::flush() {
  const IoResult result = transport_.write(output_);
  if (web_socket_ != nullptr) {
    web_socket_->sent(result.bytes);
  }
  if (result.io == Io::failed || result.io == Io::closed) {
    close();
    return Next::wait;
  }
  if (output_.empty()) {
    send_blocked_ = false;
    if (phase_ == Phase::upgraded) {
      wait_for_frames();
      web_socket_->drained();
    }
    return Next::proceed;
  }
  // The time counts from the last byte that was sent.
  const bool sends =
      phase_ == Phase::sending || phase_ == Phase::streaming || phase_ == Phase::upgraded;
  if (sends && (result.bytes > 0 || !send_blocked_)) {
    set_timer(reactor_.limits().send);
  }
  send_blocked_ = true;
  return Next::wait;
}

Connection::Next Connection::shake_hands() {
  const Io io = transport_.handshake();
  if (io == Io::blocked) {
    return Next::wait;
  }
  if (io != Io::done) {
    ++reactor_.state().malformed;
    close();
    return Next::wait;
  }
  phase_ = Phase::reading;
  readable_ = true;
  set_timer(reactor_.limits().idle);
  return Next::proceed;
}

Connection::Next Connection::read(int& reads_left) {
  if (!input_.empty()) {
    const std::string ahead = std::exchange(input_, std::string());
    feed(ahead);
    return Next::proceed;
  }
  if (!readable_ || reads_left == 0) {
    return Next::wait;
  }
  --reads_left;
  const bool head = parser_ == nullptr || parser_->state() == RequestParser::State::head;
  const std::span<char> buffer = head ? reactor_.small_buffer() : reactor_.buffer();
  const IoResult result = transport_.read(buffer);
  switch (result.io) {
    case Io::done:
      // Less than the buffer holds: the socket is empty, and epoll reports new data.
      readable_ = transport_.is_tls() || peer_closed_ || result.bytes == buffer.size();
      feed({buffer.data(), result.bytes});
      return Next::proceed;
    case Io::blocked:
      readable_ = false;
      return Next::wait;
    case Io::closed:
    case Io::failed:
      close();
      return Next::wait;
  }
  return Next::wait;
}

void Connection::feed(std::string_view bytes) {
  if (phase_ == Phase::upgraded) {
    take_frames(bytes);
    return;
  }
  if (parser_ == nullptr) {
    parser_ = std::make_unique<RequestParser>(
        ParserLimits{reactor_.limits().header_bytes, reactor_.limits().body_bytes});
    continued_ = false;
    set_timer(reactor_.limits().receive);
  }
  const std::size_t used = parser_->take(bytes);
  switch (parser_->state()) {
    case RequestParser::State::head:
      return;
    case RequestParser::State::body:
      if (parser_->head().expects_continue && !std::exchange(continued_, true) &&
          parser_->head().request.body.empty()) {
        output_.add("HTTP/1.1 100 Continue\r\n\r\n");
      }
      return;
    case RequestParser::State::done:
      input_ = bytes.substr(used);
      deliver();
      return;
    case RequestParser::State::refused:
      refuse(parser_->refusal());
      return;
  }
}

void Connection::deliver() {
  const Head& head = parser_->head();
  minor_ = static_cast<std::uint8_t>(head.minor);
  keep_alive_ = head.keep_alive;
  Request request = parser_->take_request();
  parser_.reset();
  bodyless_ = request.method == "HEAD";
  changes_nothing_ = bodyless_ || request.method == "GET";
  request.peer = peer_;
  phase_ = Phase::answering;
  set_timer(reactor_.limits().answer);
  presence_ = std::make_shared<Presence>();
  ++reactor_.state().requests;
  reactor_.state().handler(std::make_shared<ServerExchange>(
      std::move(request), ReturnAddress{reactor_.mailbox(), id_, presence_}));
}

void Connection::refuse(Refusal refusal) {
  ++reactor_.state().malformed;
  keep_alive_ = false;
  bodyless_ = parser_ != nullptr && parser_->head().request.method == "HEAD";
  parser_.reset();
  input_ = std::string();
  send(problem(refusal));
}

AnswerForm Connection::answer_form(BodyEnd end) {
  keep_alive_ = keep_alive_ && end != BodyEnd::close && !reactor_.draining();
  const After kept = minor_ == 0 ? After::keep_alive : After::implied;
  return {end, keep_alive_ ? kept : After::close};
}

void Connection::send(Response response) {
  output_.add(response_head(response, answer_form(BodyEnd::length), reactor_.date()));
  if (!bodyless_ && may_have_body(response.status)) {
    output_.add(std::move(response.body));
  }
  phase_ = Phase::sending;
}

void Connection::reply(Response response) {
  if (phase_ == Phase::answering) {
    presence_.reset();
    send(std::move(response));
    run();
  }
}

void Connection::open_stream(const Response& head) {
  if (phase_ == Phase::answering) {
    bodyless_ = bodyless_ || !may_have_body(head.status);
    chunked_ = minor_ == 1;
    const AnswerForm form = answer_form(chunked_ ? BodyEnd::chunked : BodyEnd::close);
    output_.add(response_head(head, form, reactor_.date()));
    phase_ = Phase::streaming;
    run();
  }
}

void Connection::write_piece(std::string piece, std::function<void(bool)> sent) {
  if (phase_ != Phase::streaming) {
    sent(false);
    return;
  }
  HOLDFAST_ASSERT(piece_sent_ == nullptr);
  piece_sent_ = std::move(sent);
  if (!bodyless_ && !piece.empty()) {
    if (chunked_) {
      output_.add(chunk_head(piece.size()));
    }
    output_.add(std::move(piece));
    if (chunked_) {
      output_.add("\r\n");
    }
  }
  run();
}

void Connection::finish_stream() {
  if (phase_ == Phase::streaming) {
    presence_.reset();
    if (chunked_ && !bodyless_) {
      output_.add("0\r\n\r\n");
    }
    phase_ = Phase::sending;
    run();
  }
}

void Connection::end_piece() {
  if (piece_sent_ != nullptr) {
    std::exchange(piece_sent_, nullptr)(true);
  }
}

void Connection::end_answer() {
  if (!keep_alive_ || reactor_.draining()) {
    linger();
    return;
  }
  phase_ = Phase::reading;
  set_timer(reactor_.limits().idle);
}

// Closing a socket that has unread data resets the connection, and the peer may lose a response
// that it has not read yet. So the peer gets a moment to close first.
void Connection::linger() {
  phase_ = Phase::lingering;
  input_ = std::string();
  transport_.end();
  readable_ = true;
  set_timer(kLinger);
  if (std::exchange(live_, false)) {
    reactor_.state().one_less_live();
  }
}

Connection::Next Connection::discard(int& reads_left) {
  if (!readable_ || reads_left == 0) {
    return Next::wait;
  }
  --reads_left;
  const IoResult result = transport_.discard(reactor_.buffer());
  if (result.io == Io::done) {
    return Next::proceed;
  }
  readable_ = false;
  if (result.io != Io::blocked) {
    close();
  }
  return Next::wait;
}

// A peer that only closed its sending side looks the same; the response is still sent.
void Connection::notice_absence() {
  if (peer_left()) {
    leave();
  }
}

bool Connection::peer_left() {
  peer_closed_ = peer_closed_ || (readable_ && transport_.peer_finished());
  return peer_closed_;
}

void Connection::leave() {
  if (presence_ != nullptr) {
    if (const std::function<void()> gone = presence_->leave()) {
      gone();
    }
  }
}

void Connection::on_time() {
  switch (phase_) {
    case Phase::handshake:
      ++reactor_.state().malformed;
      close();
      return;
    case Phase::reading:
      if (parser_ == nullptr) {
        close();
      } else {
        refuse(kTooSlow);
        run();
      }
      return;
    case Phase::answering:
      leave();
      keep_alive_ = false;
      send(changes_nothing_ ? problem(kNoAnswer)
                            : problem(kUnknownOutcome, presence_->late_members()));
      presence_.reset();
      run();
      return;
    case Phase::upgraded:
      on_web_socket_time();
      return;
    case Phase::streaming:
    case Phase::sending:
    case Phase::lingering:
      close();
      return;
    case Phase::closed:
      return;
  }
}

void Connection::drain() {
  close_web_socket(ws_code::kGoingAway, "the server is shutting down");
  if (phase_ == Phase::handshake || (phase_ == Phase::reading && parser_ == nullptr)) {
    close();
  } else if (phase_ == Phase::reading) {
    keep_alive_ = false;
    parser_.reset();
    send(problem(kDraining));
    run();
  }
}

void Connection::close() {
  if (closed()) {
    return;
  }
  phase_ = Phase::closed;
  reactor_.timers().clear(*this);
  transport_.close();
  if (counted_) {
    --reactor_.state().open;
  } else {
    --reactor_.state().rejected;
  }
  if (std::exchange(live_, false)) {
    reactor_.state().one_less_live();
  }
  leave();
  presence_.reset();
  web_socket_.reset();
  if (piece_sent_ != nullptr) {
    std::exchange(piece_sent_, nullptr)(false);
  }
  reactor_.bury(*this);
}

}  // namespace holdfast::net
