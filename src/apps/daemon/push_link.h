// PushLink: a WebSocket to a broker after its hello and negotiation (docs/delivery-push.md).
//
// One thread uses it; only wake() may be called by others.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/daemon/broker_link.h"
#include "base/random.h"
#include "delivery/daemon/inbox.h"
#include "net/ws_client.h"

namespace holdfast::delivery {

// How a member proves who it is.
struct MemberProof {
  std::string mesh;
  std::string pubkey;
  std::string seed;  // of the ed25519 key, 64 hex digits; empty: the token is presented
  std::string token;
};

class PushLink {
 public:
  // An error has the field "status" when the broker does not open a WebSocket, and "close_code"
  // when it ended the connection.
  static Result<std::unique_ptr<PushLink>> open(const BrokerSettings& settings,
                                                const std::string& url, const MemberProof& proof,
                                                TimeMs broker_now, Random& random);

  net::WsIncoming receive(std::chrono::milliseconds silence) { return socket_->receive(silence); }
  Result<void> ping() { return socket_->ping(); }
  Result<void> acknowledge(const std::vector<std::uint64_t>& delivery_ids);
  Result<void> resume(const std::vector<InboxCursor>& cursors);
  void wake() const { socket_->wake(); }
  void close() { socket_->close(net::ws_code::kNormal, ""); }

  // The frame that preceded a close, if it was an error.
  void heard(std::string detail) { detail_ = std::move(detail); }
  // Why the connection ended, with the field "close_code".
  [[nodiscard]] Error ended(const net::WsIncoming& closed) const;

 private:
  explicit PushLink(std::unique_ptr<net::WsClient> socket) : socket_(std::move(socket)) {}
  Result<void> greet(const MemberProof& proof, TimeMs broker_now);
  Result<void> negotiate_features();
  // The next frame, which must have this type.
  Result<std::string> expect(std::string_view type);

  std::unique_ptr<net::WsClient> socket_;
  std::string detail_;
};

}  // namespace holdfast::delivery
