// The hello of a connection for pushes: what a member signs with its ed25519 key, and the codes
// with which such connections are closed. docs/delivery-push.md describes the protocol.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace holdfast::delivery {

// How far the clock of a member may be from that of the broker.
inline constexpr std::int64_t kHelloSkewMs = 60'000;

// nonce: of the broker, for this connection; a captured hello is of no use for another.
std::string hello_text(std::string_view mesh, std::string_view pubkey, TimeMs timestamp,
                       std::string_view nonce);

bool is_hello_in_time(TimeMs timestamp, TimeMs now);

// Close codes; negotiation has those of features.h.
namespace push_close {
inline constexpr std::uint16_t kUnauthenticated = 4001;
inline constexpr std::uint16_t kHelloTimeout = 4002;
inline constexpr std::uint16_t kReplaced = 4003;
inline constexpr std::uint16_t kAlreadyConnected = 4004;
inline constexpr std::uint16_t kRevoked = 4005;
}  // namespace push_close

}  // namespace holdfast::delivery
