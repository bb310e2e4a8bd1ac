// Connection: one peer, from its first byte to the last. It reads a request, passes it to the
// handler, sends the response, and repeats. It runs in the thread of its reactor and never blocks.
//
//   handshake -> reading -> answering -> sending -> reading | lingering -> closed
//                               \-> streaming -> sending
//                               \-> upgraded -> sending
//
// An idle connection holds no buffers: they are allocated with the first byte of a request and
// freed after the last byte of its response; the buffers of an upgraded one, after each message.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_exchange.h"
#include "net/http_parser.h"
#include "net/http_writer.h"
#include "net/mailbox.h"
#include "net/net_timers.h"
#include "net/transport.h"
#include "net/ws_session.h"

namespace holdfast::net {

class Reactor;

class Connection final : public Timed {
 public:
  Connection(Reactor& reactor, ConnectionId id, Adopt adopted);

  void start();
  // Event bits of epoll.
  void on_events(std::uint32_t events);
  void on_time() override;

  void reply(Response response);
  void open_stream(const Response& head);
  void write_piece(std::string piece, std::function<void(bool)> sent);
  void finish_stream();

  void upgrade(Upgrade upgrade);
  // Nothing, unless it is a WebSocket.
  void send_frame(std::string frame);
  void close_web_socket(std::uint16_t code, std::string_view reason);

  // Accepts no more requests; a pending response is still sent.
  void drain();
  void close();
  [[nodiscard]] bool closed() const { return phase_ == Phase::closed; }
  [[nodiscard]] int fd() const { return transport_.fd(); }
  [[nodiscard]] ConnectionId id() const { return id_; }

 private:
  enum class Phase : std::uint8_t {
    handshake,
    reading,    // a request, or waiting for one
    answering,  // the handler has the request
    streaming,  // the response is sent in pieces
    upgraded,   // a WebSocket
    sending,    // the rest of the response
    lingering,  // everything was sent; waits until the peer closes
    closed,
  };
  enum class Next : std::uint8_t { proceed, wait };

  void run();
  Next step(int& reads_left);
  Next flush();
  Next shake_hands();
  Next read(int& reads_left);
  Next discard(int& reads_left);
  void feed(std::string_view bytes);
  void deliver();
  void refuse(Refusal refusal);  // by value: it may belong to the parser, which is destroyed
  void send(Response response);
  void end_piece();
  void end_answer();
  void linger();
  void notice_absence();
  bool peer_left();
  void leave();
  [[nodiscard]] AnswerForm answer_form(BodyEnd end);
  void set_timer(std::chrono::milliseconds from_now);
  void take_frames(std::string_view bytes);
  void add_frames(std::string frames);
  void close_overflowing();
  void end_web_socket(std::uint16_t code);
  void wait_for_frames();
  void on_web_socket_time();

  Reactor& reactor_;
  ConnectionId id_;
  Transport transport_;
  Peer peer_;
  std::unique_ptr<RequestParser> parser_;  // from the first byte of a request to its last
  std::string input_;                      // bytes read after the request
  Output output_;
  std::shared_ptr<Presence> presence_;  // while a response is pending
  std::function<void(bool)> piece_sent_;
  std::unique_ptr<WsSession> web_socket_;  // while it is upgraded

  Phase phase_ = Phase::handshake;
  bool counted_;              // as an open connection
  bool live_;                 // counted as live
  bool readable_ = false;     // the socket may have data
  bool peer_closed_ = false;  // the peer has closed its sending side
  bool send_blocked_ = false;
  bool continued_ = false;        // 100 Continue was sent
  bool keep_alive_ = true;        // another request may follow
  bool bodyless_ = false;         // the response has no body: HEAD, or by its status
  bool changes_nothing_ = false;  // the method of the request is GET or HEAD
  bool chunked_ = false;          // of a stream
  std::uint8_t minor_ = 1;        // of HTTP/1.minor, in the request
};

}  // namespace holdfast::net
