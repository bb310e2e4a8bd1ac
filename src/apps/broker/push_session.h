// PushSession: one connection of /v1/ws, from its hello to its end.
//
//   greeting -> negotiating -> open -> ended
//
// Frames are queued by the thread of the connection; one thread at a time works on them, claims
// deliveries and sends them. All claims of a connection have one lease owner; when it ends, what it
// holds can be claimed again at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/broker/broker_service.h"
#include "delivery/api/push_frames.h"
#include "delivery/broker/broker_lookup.h"
#include "delivery/broker/deliveries.h"
#include "holdfast/result.h"
#include "net/web_socket.h"

namespace holdfast::delivery {

class PushHub;

class PushSession final : public net::WebSocketHandler,
                          public std::enable_shared_from_this<PushSession> {
 public:
  PushSession(PushHub& hub, std::string nonce) : hub_(hub), nonce_(std::move(nonce)) {}

  // Before anything else; sends the challenge.
  void begin(std::shared_ptr<net::WebSocket> socket);

  void on_text(std::string text) override;
  void on_drained() override;
  void on_closed(std::uint16_t code) override;

  // Any thread; they do not wait.
  void wake();
  void end(std::uint16_t code, std::string_view reason);
  void send(std::string_view frame) { socket_->send(frame); }
  // Works on what is queued, on a thread that may wait.
  void work();

  // These do not change from the moment at which it joins the hub.
  [[nodiscard]] const LookupResult& caller() const { return caller_; }
  [[nodiscard]] bool wants_presence() const { return presence_; }
  [[nodiscard]] bool ended() const { return ended_.load(); }
  // Of the hub, with its lock: whether the session was added to it.
  void set_joined() { joined_ = true; }
  [[nodiscard]] bool joined() const { return joined_; }

 private:
  enum class Phase : std::uint8_t { greeting, negotiating, open };

  void schedule();
  std::vector<std::string> take_frames();
  void finish_work();

  void handle(const std::string& text);
  Result<void> handle(MemberFrame type, std::string_view object);
  Result<void> greet(std::string_view object);
  Result<void> negotiate(std::string_view object);
  Result<void> take_acks(std::string_view object);
  Result<void> take_cursor(std::string_view object);
  void refuse(const Error& error, std::string_view frame);
  void acknowledge();
  void push();
  void send_deliveries(const ClaimedDeliveries& claimed);
  void send_history();
  void send_page(CursorEntry& cursor, const std::vector<HistoryEntry>& entries);
  bool may_send();
  void release();
  template <HasFields T>
  void send_frame(const T& frame);

  PushHub& hub_;
  std::shared_ptr<net::WebSocket> socket_;
  std::atomic<bool> ended_ = false;
  bool joined_ = false;

  std::mutex mutex_;  // guards what follows
  std::vector<std::string> frames_;
  std::size_t frame_bytes_ = 0;
  bool scheduled_ = false;
  bool more_ = false;         // there may be deliveries
  bool wants_drain_ = false;  // it waits until everything was sent

  // Of the thread that works.
  Phase phase_ = Phase::greeting;
  bool presence_ = false;
  bool released_ = false;
  std::uint32_t window_ = 0;
  std::string nonce_;
  std::string lease_;
  LookupResult caller_;
  std::vector<std::uint64_t> acks_;
  std::map<std::uint64_t, TimeMs> outstanding_;  // pushed, with the end of their lease
  std::vector<CursorEntry> resume_;              // the history that is still to be sent
};

}  // namespace holdfast::delivery
