// The requests and responses about deliveries: what a member receives, acknowledges and replays,
// and what the administrator sees of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "access/http_operation.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/shared_text.h"
#include "delivery/api/broker_requests.h"
#include "delivery/broker/delivery_rows.h"
#include "delivery/contract/envelope.h"

namespace holdfast::delivery {

// Below the time in which a broker must answer.
inline constexpr std::uint64_t kMostWaitSeconds = 10;

struct ClaimDeliveriesRequest {
  NumberUpTo<kMostWaitSeconds> wait = {};
  PageLimit<kMostEntries> limit = {};

  static void visit(auto& self, auto& v) {
    v.optional("wait", self.wait);
    v.optional("limit", self.limit);
  }
};

struct DeliveryView {
  std::uint64_t delivery_id = 0;
  std::uint32_t attempt = 0;
  std::string mesh = {};
  std::string broker_message_id = {};
  std::string client_message_id = {};
  std::optional<Digest> request_fingerprint = {};
  std::uint32_t envelope_version = 0;
  Destination destination = {};
  std::string sender_pubkey = {};
  std::string sender_name = {};
  Priority priority = Priority::next;
  std::string reply_to_id = {};
  Payload meta = {};
  std::optional<std::string> body = {};
  bool redacted = false;
  std::uint64_t history_seq = 0;
  TimeMs created_at = {};

  static void visit(auto& self, auto& v) {
    v.required("delivery_id", self.delivery_id);
    v.required("attempt", self.attempt);
    visit_message(self, v);
  }
  // What it delivers.
  static void visit_message(auto& self, auto& v) {
    v.required("mesh", self.mesh);
    v.required("broker_message_id", self.broker_message_id);
    v.required("client_message_id", self.client_message_id);
    v.optional("request_fingerprint", self.request_fingerprint);
    v.required("envelope_version", self.envelope_version);
    v.required("destination", self.destination);
    v.required("sender_pubkey", self.sender_pubkey);
    v.required("sender_name", self.sender_name);
    v.required("priority", self.priority);
    v.optional("reply_to_id", self.reply_to_id);
    v.optional("meta", self.meta);
    v.required("body", self.body);
    v.required("redacted", self.redacted);
    v.required("history_seq", self.history_seq);
    v.required("created_at", self.created_at);
  }
};

struct DeliveriesResponse {
  std::string lease = {};
  std::optional<TimeMs> lease_until = {};
  std::vector<DeliveryView> deliveries = {};

  static void visit(auto& self, auto& v) {
    v.optional("lease", self.lease);
    v.optional("lease_until", self.lease_until);
    v.required("deliveries", self.deliveries);
  }
};

struct AckDeliveriesRequest {
  std::string lease = {};
  std::vector<std::uint64_t> delivery_ids = {};

  static void visit(auto& self, auto& v) {
    v.required("lease", self.lease);
    v.required("delivery_ids", self.delivery_ids);
  }
};

struct AckDeliveriesResponse {
  std::vector<std::uint64_t> acked = {};
  std::vector<std::uint64_t> fenced = {};

  static void visit(auto& self, auto& v) {
    v.required("acked", self.acked);
    v.required("fenced", self.fenced);
  }
};

// A member that is connected, or that was heard of within the presence lease.
struct PeerView {
  std::string pubkey = {};
  std::string name = {};
  std::string status = {};
  std::string summary = {};
  std::uint64_t connections = 0;
  TimeMs since = {};

  static void visit(auto& self, auto& v) {
    v.required("pubkey", self.pubkey);
    v.required("name", self.name);
    v.optional("status", self.status);
    v.optional("summary", self.summary);
    v.required("connections", self.connections);
    v.required("since", self.since);
  }
};

struct PeersResponse {
  std::vector<PeerView> peers = {};

  static void visit(auto& self, auto& v) { v.required("peers", self.peers); }
};

// What is not given keeps its value.
struct ProfileRequest {
  std::optional<std::string> status = {};
  std::optional<std::string> summary = {};
  std::optional<bool> visible = {};

  static void visit(auto& self, auto& v) {
    v.optional("status", self.status);
    v.optional("summary", self.summary);
    v.optional("visible", self.visible);
  }
};

struct ProfileView {
  std::string status = {};
  std::string summary = {};
  bool visible = true;

  static void visit(auto& self, auto& v) {
    v.optional("status", self.status);
    v.optional("summary", self.summary);
    v.required("visible", self.visible);
  }
};

struct DeadDeliveriesRequest {
  NumberUpTo<kLastSequence> after = {};
  PageLimit<kMostEntries> limit = {};

  static void visit(auto& self, auto& v) {
    v.optional("after", self.after);
    v.optional("limit", self.limit);
  }
};

HOLDFAST_ENUM(DeliveryChoice, all, queued, leased, delivered, dead);

struct ListDeliveriesRequest {
  DeliveryChoice state = DeliveryChoice::all;
  std::string member = {};
  NumberUpTo<kLastSequence> after = {};
  PageLimit<kMostEntries> limit = {};

  static void visit(auto& self, auto& v) {
    v.optional("state", self.state);
    v.optional("member", self.member);
    v.optional("after", self.after);
    v.optional("limit", self.limit);
  }
};

struct DeliveryListEntry {
  std::uint64_t delivery_id = 0;
  std::string broker_message_id = {};
  Destination destination = {};
  std::uint64_t history_seq = 0;
  std::string sender = {};
  std::string recipient = {};
  Priority priority = Priority::next;
  DeliveryState state = DeliveryState::queued;
  std::uint32_t attempts = 0;
  TimeMs created_at = {};
  std::optional<TimeMs> lease_until = {};
  std::optional<TimeMs> delivered_at = {};
  std::string reason = {};

  static void visit(auto& self, auto& v) {
    v.required("delivery_id", self.delivery_id);
    v.required("broker_message_id", self.broker_message_id);
    v.required("destination", self.destination);
    v.required("history_seq", self.history_seq);
    v.required("sender", self.sender);
    v.required("recipient", self.recipient);
    v.required("priority", self.priority);
    v.required("state", self.state);
    v.required("attempts", self.attempts);
    v.required("created_at", self.created_at);
    v.optional("lease_until", self.lease_until);
    v.optional("delivered_at", self.delivered_at);
    v.optional("reason", self.reason);
  }
};

struct DeliveryList {
  std::vector<DeliveryListEntry> deliveries = {};
  std::uint64_t next_after = 0;

  static void visit(auto& self, auto& v) {
    v.required("deliveries", self.deliveries);
    v.required("next_after", self.next_after);
  }
};

struct ReplayRequest {
  std::vector<std::uint64_t> delivery_ids = {};

  static void visit(auto& self, auto& v) { v.required("delivery_ids", self.delivery_ids); }
};

struct ReplayResponse {
  std::uint64_t replayed = 0;

  static void visit(auto& self, auto& v) { v.required("replayed", self.replayed); }
};

}  // namespace holdfast::delivery
