// The frames of /v1/ws: JSON texts with a member "type". docs/delivery-push.md describes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "delivery/api/broker_requests.h"
#include "delivery/api/delivery_requests.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/features.h"

namespace holdfast::delivery {

// The types of the frames that members send.
HOLDFAST_ENUM(MemberFrame, hello, feature_negotiation_request, client_ack, resume);

inline constexpr std::uint64_t kMostWindow = 1000;

// With a token, or with pubkey, timestamp and signature.
struct HelloFrame {
  std::string type = {};
  std::string mesh = {};
  std::string token = {};
  std::string pubkey = {};
  TimeMs timestamp = {};
  std::string signature = {};
  NumberUpTo<kMostWindow> window = {};
  bool presence = false;

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("mesh", self.mesh);
    v.optional("token", self.token);
    v.optional("pubkey", self.pubkey);
    v.optional("timestamp", self.timestamp);
    v.optional("signature", self.signature);
    v.optional("window", self.window);
    v.optional("presence", self.presence);
  }
};

struct NegotiationFrame {
  std::string type = {};
  std::vector<std::string> require = {};
  std::vector<std::string> optional = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.optional("require", self.require);
    v.optional("optional", self.optional);
  }
};

struct ClientAckFrame {
  std::string type = {};
  std::vector<std::uint64_t> delivery_ids = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("delivery_ids", self.delivery_ids);
  }
};

// The history of a destination up to a sequence was received.
struct CursorEntry {
  Destination destination = {};
  std::uint64_t after = 0;

  static void visit(auto& self, auto& v) {
    v.required("destination", self.destination);
    v.required("after", self.after);
  }
};

struct ResumeFrame {
  std::string type = {};
  std::vector<CursorEntry> cursor = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("cursor", self.cursor);
  }
};

// The frames of the broker.

struct ChallengeFrame {
  std::string type = "challenge";
  std::string nonce = {};
  TimeMs now = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("nonce", self.nonce);
    v.required("now", self.now);
  }
};

struct HelloAckFrame {
  std::string type = "hello_ack";
  std::string mesh = {};
  std::string pubkey = {};
  std::string name = {};
  std::string lease = {};
  std::uint64_t lease_ms = 0;
  std::uint64_t presence_lease_ms = 0;
  std::uint64_t window = 0;

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("mesh", self.mesh);
    v.required("pubkey", self.pubkey);
    v.required("name", self.name);
    v.required("lease", self.lease);
    v.required("lease_ms", self.lease_ms);
    v.required("presence_lease_ms", self.presence_lease_ms);
    v.required("window", self.window);
  }
};

struct NegotiationResponseFrame {
  std::string type = "feature_negotiation_response";
  std::map<std::string, FeatureParams> supported = {};
  std::vector<std::string> missing_required = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("supported", self.supported);
    v.required("missing_required", self.missing_required);
  }
};

struct PushFrame {
  std::string type = "push";
  std::string lease = {};
  TimeMs lease_until = {};
  std::vector<DeliveryView> deliveries = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("lease", self.lease);
    v.required("lease_until", self.lease_until);
    v.required("deliveries", self.deliveries);
  }
};

struct AckFrame {
  std::string type = "ack";
  std::vector<std::uint64_t> acked = {};
  std::vector<std::uint64_t> fenced = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("acked", self.acked);
    v.required("fenced", self.fenced);
  }
};

struct HistoryFrame {
  std::string type = "history";
  Destination destination = {};
  std::vector<HistoryMessage> messages = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("destination", self.destination);
    v.required("messages", self.messages);
  }
};

struct HistoryGapFrame {
  std::string type = "history_gap";
  Destination destination = {};
  std::uint64_t from = 0;
  std::uint64_t to = 0;

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("destination", self.destination);
    v.required("from", self.from);
    v.required("to", self.to);
  }
};

struct ResumedFrame {
  std::string type = "resumed";
  CursorEntry cursor = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("cursor", self.cursor);
  }
};

// peer_join, peer_leave or peer_update.
struct PeersFrame {
  std::string type = {};
  std::vector<PeerView> peers = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("peers", self.peers);
  }
};

// frame: the type of the frame that was refused.
struct ErrorFrame {
  std::string type = "error";
  std::string error = {};
  std::string detail = {};
  std::string frame = {};
  std::optional<Destination> destination = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("error", self.error);
    v.required("detail", self.detail);
    v.optional("frame", self.frame);
    v.optional("destination", self.destination);
  }
};

}  // namespace holdfast::delivery
