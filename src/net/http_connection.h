// Connection: one peer, from its first byte to the last. It reads a request, hands it on, sends the
// answer, and again. Everything happens in the thread of its reactor; nothing in it blocks.
//
//   handshake -> reading -> answering -> sending -> reading | lingering -> closed
//                               \-> streaming -> sending
//
// An idle connection holds no buffers: they come with the first byte of a request and go with the
// last of its answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/http_exchange.h"
#include "net/http_parser.h"
#include "net/http_writer.h"
#include "net/mailbox.h"
#include "net/net_timers.h"
#include "net/transport.h"

namespace holdfast::net {

class Reactor;

class Connection final : public Timed {
 public:
  Connection(Reactor& reactor, ConnectionId id, Adopt adopted);

  void start();
  // Bits of epoll.
  void on_events(std::uint32_t events);
  void on_time() override;

  void reply(Response response);
  void open_stream(const Response& head);
  void write_piece(std::string piece, std::function<void(bool)> sent);
  void finish_stream();

  // No more requests; the answer that is owed still goes out.
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
    streaming,  // the answer comes in pieces
    sending,    // the rest of the answer
    lingering,  // everything was sent; waits until the peer has read it
    closed,
  };
  enum class Next : std::uint8_t { go_on, wait };

  void run();
  Next step(int& reads_left);
  Next flush();
  Next shake_hands();
  Next read(int& reads_left);
  Next discard(int& reads_left);
  void feed(std::string_view bytes);
  void deliver();
  void refuse(Refusal refusal);  // by value: it may be of the parser, which goes
  void send(Response response);
  void end_piece();
  void end_answer();
  void linger();
  void notice_absence();
  bool peer_left();
  void leave();
  [[nodiscard]] AnswerForm answer_form(BodyEnd end);
  void set_timer(std::chrono::milliseconds from_now);

  Reactor& reactor_;
  ConnectionId id_;
  Transport transport_;
  Peer peer_;
  std::unique_ptr<RequestParser> parser_;  // from the first byte of a request to its last
  std::string input_;                      // what was read behind the request
  Output output_;
  std::shared_ptr<Presence> presence_;  // while an answer is owed
  std::function<void(bool)> piece_sent_;

  Phase phase_ = Phase::handshake;
  bool counted_;              // among the open ones
  bool live_;                 // among the live ones
  bool readable_ = false;     // there may be something to read
  bool peer_closed_ = false;  // the peer will send nothing more
  bool send_blocked_ = false;
  bool continued_ = false;        // 100 Continue was said
  bool keep_alive_ = true;        // the next request may come
  bool bodyless_ = false;         // the answer has no body: to HEAD, or by its status
  bool changes_nothing_ = false;  // the request: a method that is safe to repeat
  bool chunked_ = false;          // of a stream
  std::uint8_t minor_ = 1;        // of HTTP/1.minor, in the request
};

}  // namespace holdfast::net
