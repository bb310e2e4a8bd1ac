// Envelope: the part of a message that its fingerprint covers.
//
// The fingerprint is SHA-256 over seven fields joined by one zero byte each: the version in
// decimal, the kind and the reference of the destination, the id of the message replied to (or
// nothing), the priority, the canonical form of the meta object (RFC 8785; nothing when it is
// empty), and the SHA-256 of the body in lower-case hex. No field holds a zero byte: check_envelope
// refuses it.
//
// The sender and the mentions are not covered. The dedupe key has the sender; a retry with other
// mentions is the same message, and the first list counts.
//
// Where bodies are sealed there are two fingerprints: the daemon's own is made of the caller's
// plain body and never leaves the machine; that of the wire is made of the sealed bytes, which are
// sealed once and kept. Both use this function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/hash.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

enum class DestinationKind : std::uint8_t { topic, dm, queue };
enum class Priority : std::uint8_t { now, next, low };

// Where a message goes: a topic by name, a member by its public key, or a queue by name.
struct Destination {
  DestinationKind kind = DestinationKind::topic;
  std::string ref;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("kind", self.kind);
    v.required("ref", self.ref);
  }
  friend auto operator<=>(const Destination&, const Destination&) = default;
};

// A public key as text: 64 lower-case hex digits.
bool is_public_key(std::string_view text);

// A name for topics and queues, a public key for members. invalid_request.
Result<void> check_destination(const Destination& destination);

inline constexpr std::uint32_t kEnvelopeVersion = 1;

struct Envelope {
  std::uint32_t version = kEnvelopeVersion;
  Destination destination;
  std::string reply_to;  // the broker's id of another message; empty: none
  Priority priority = Priority::next;
  std::string meta;  // in canonical form; empty: none
  std::string body;  // any bytes
};

// The meta object in the form that envelopes have: no value, null and {} are the same.
// invalid_request when it is not an object, or has no canonical form.
Result<std::string> canonical_meta(std::string_view json);

// The destination, reply_to and the absence of zero bytes. invalid_request.
Result<void> check_envelope(const Envelope& envelope);

// The envelope must have passed check_envelope.
Digest fingerprint_of(const Envelope& envelope);

// The first 8 bytes in hex, for messages about fingerprints that differ.
std::string fingerprint_prefix(const Digest& fingerprint);

}  // namespace holdfast::delivery

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<delivery::DestinationKind>[] = {"topic", "dm",
                                                                             "queue"};
template <>
inline constexpr std::string_view kEnumNames<delivery::Priority>[] = {"now", "next", "low"};

}  // namespace holdfast
