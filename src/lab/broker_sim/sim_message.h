// SimMessage: a message as a client of the simulator sends it, and its request. Nothing here uses
// the readers or the fingerprint of the broker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::broker_sim {

// What is wrong with a request on purpose; at most one thing.
enum class Defect : std::uint8_t {
  none,
  not_json,
  unknown_member,
  envelope_version,
  bad_id,
  bad_ref,
  many_mentions,
  drift,  // another fingerprint than that of the envelope
};
inline constexpr std::uint64_t kDefects = 8;

struct SimMessage {
  std::string token;      // empty: no Authorization
  std::string workspace;  // by name
  std::string id;
  std::string kind;
  std::string ref;
  std::string priority;        // empty: none
  std::string meta;            // as it is sent; empty: none
  std::string canonical_meta;  // of it, by RFC 8785; empty for {} and null
  std::string body;
  std::string reply_to;
  std::vector<std::string> mentions;
  std::int64_t first_sent_at = 0;  // 0: none
  // Of a message to a queue; 0 and empty: none.
  std::int64_t not_before = 0;
  std::int64_t expires_at = 0;
  std::string ordering_key;
  std::uint32_t attempt = 0;
  Defect defect = Defect::none;
};

// SHA-256 in hex over the seven fields of the contract.
std::string fingerprint_hex(const SimMessage& message);
// The body of POST /v1/messages.
std::string request_body(const SimMessage& message);

}  // namespace holdfast::broker_sim
