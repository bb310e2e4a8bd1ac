// The requests and responses about queues: what consumers claim and end, what senders look up and
// take back, and what operators do with dead messages.
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
#include "delivery/api/delivery_requests.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/queue_decision.h"

namespace holdfast::delivery {

inline constexpr std::uint64_t kMostClaimed = 100;
inline constexpr std::uint64_t kLongestDelayMs = 30ULL * 86'400'000;

struct ClaimQueueRequest {
  std::optional<std::uint64_t> limit = {};
  std::uint64_t wait_ms = 0;
  std::uint64_t lease_ms = 0;
  std::string lease = {};
  std::string key = {};

  static void visit(auto& self, auto& v) {
    v.optional("limit", self.limit);
    v.optional("wait_ms", self.wait_ms);
    v.optional("lease_ms", self.lease_ms);
    v.optional("lease", self.lease);
    v.optional("key", self.key);
  }
};

struct QueueMessageView {
  std::string broker_message_id = {};
  std::string client_message_id = {};
  std::uint32_t delivery = 0;
  std::string mesh = {};
  std::string queue = {};
  std::optional<Digest> request_fingerprint = {};
  std::uint32_t envelope_version = 0;
  std::string sender_pubkey = {};
  std::string sender_name = {};
  Priority priority = Priority::next;
  std::string ordering_key = {};
  std::string reply_to_id = {};
  Payload meta = {};
  std::optional<std::string> body = {};
  bool redacted = false;
  std::uint64_t history_seq = 0;
  TimeMs created_at = {};
  std::optional<TimeMs> expires_at = {};

  static void visit(auto& self, auto& v) {
    v.required("broker_message_id", self.broker_message_id);
    v.required("client_message_id", self.client_message_id);
    v.required("delivery", self.delivery);
    v.required("mesh", self.mesh);
    v.required("queue", self.queue);
    v.optional("request_fingerprint", self.request_fingerprint);
    v.required("envelope_version", self.envelope_version);
    v.required("sender_pubkey", self.sender_pubkey);
    v.required("sender_name", self.sender_name);
    v.required("priority", self.priority);
    v.optional("ordering_key", self.ordering_key);
    v.optional("reply_to_id", self.reply_to_id);
    v.optional("meta", self.meta);
    v.required("body", self.body);
    v.required("redacted", self.redacted);
    v.required("history_seq", self.history_seq);
    v.required("created_at", self.created_at);
    v.optional("expires_at", self.expires_at);
  }
};

struct ClaimQueueResponse {
  std::string lease = {};
  std::optional<TimeMs> lease_until = {};
  std::vector<QueueMessageView> messages = {};

  static void visit(auto& self, auto& v) {
    v.optional("lease", self.lease);
    v.optional("lease_until", self.lease_until);
    v.required("messages", self.messages);
  }
};

struct AckQueueRequest {
  std::string lease = {};
  std::vector<std::string> broker_message_ids = {};

  static void visit(auto& self, auto& v) {
    v.required("lease", self.lease);
    v.required("broker_message_ids", self.broker_message_ids);
  }
};

struct NackQueueRequest {
  std::string lease = {};
  std::vector<std::string> broker_message_ids = {};
  std::uint64_t delay_ms = 0;
  std::string reason = {};

  static void visit(auto& self, auto& v) {
    v.required("lease", self.lease);
    v.required("broker_message_ids", self.broker_message_ids);
    v.optional("delay_ms", self.delay_ms);
    v.optional("reason", self.reason);
  }
};

struct ExtendQueueRequest {
  std::string lease = {};
  std::vector<std::string> broker_message_ids = {};
  std::uint64_t lease_ms = 0;

  static void visit(auto& self, auto& v) {
    v.required("lease", self.lease);
    v.required("broker_message_ids", self.broker_message_ids);
    v.optional("lease_ms", self.lease_ms);
  }
};

struct FencedMessage {
  std::string broker_message_id = {};
  QueueFence reason = QueueFence::unknown_message;

  static void visit(auto& self, auto& v) {
    v.required("broker_message_id", self.broker_message_id);
    v.required("reason", self.reason);
  }
};

struct AckQueueResponse {
  std::vector<std::string> acked = {};
  std::vector<FencedMessage> fenced = {};

  static void visit(auto& self, auto& v) {
    v.required("acked", self.acked);
    v.required("fenced", self.fenced);
  }
};

struct NackQueueResponse {
  std::vector<std::string> returned = {};
  std::vector<std::string> dead = {};
  std::vector<FencedMessage> fenced = {};

  static void visit(auto& self, auto& v) {
    v.required("returned", self.returned);
    v.required("dead", self.dead);
    v.required("fenced", self.fenced);
  }
};

struct ExtendQueueResponse {
  std::vector<std::string> extended = {};
  std::optional<TimeMs> lease_until = {};
  std::vector<FencedMessage> fenced = {};

  static void visit(auto& self, auto& v) {
    v.required("extended", self.extended);
    v.optional("lease_until", self.lease_until);
    v.required("fenced", self.fenced);
  }
};

// Senders

struct SentMessagesRequest {
  std::vector<std::string> client_message_ids = {};

  static void visit(auto& self, auto& v) {
    v.required("client_message_ids", self.client_message_ids);
  }
};

struct WithdrawRequest {
  std::vector<std::string> client_message_ids = {};
  std::string dead_reason = {};

  static void visit(auto& self, auto& v) {
    v.required("client_message_ids", self.client_message_ids);
    v.optional("dead_reason", self.dead_reason);
  }
};

HOLDFAST_ENUM(SentState, unknown, ready, delayed, leased, done, dead, discarded);

struct SentMessageView {
  std::string client_message_id = {};
  std::string broker_message_id = {};
  SentState state = SentState::unknown;
  std::uint32_t deliveries = 0;
  std::string reason = {};

  static void visit(auto& self, auto& v) {
    v.required("client_message_id", self.client_message_id);
    v.optional("broker_message_id", self.broker_message_id);
    v.required("state", self.state);
    v.required("deliveries", self.deliveries);
    v.optional("reason", self.reason);
  }
};

struct SentMessagesResponse {
  std::vector<SentMessageView> messages = {};

  static void visit(auto& self, auto& v) { v.required("messages", self.messages); }
};

// Dead messages

struct DeadMessagesRequest {
  std::string after = {};
  std::string reason = {};
  PageLimit<kMostEntries> limit = {};

  static void visit(auto& self, auto& v) {
    v.optional("after", self.after);
    v.optional("reason", self.reason);
    v.optional("limit", self.limit);
  }
};

struct DeadMessageView {
  std::string broker_message_id = {};
  std::string client_message_id = {};
  std::string sender = {};
  Priority priority = Priority::next;
  std::string ordering_key = {};
  std::uint64_t history_seq = 0;
  std::uint32_t deliveries = 0;
  TimeMs created_at = {};
  TimeMs dead_at = {};
  std::string reason = {};

  static void visit(auto& self, auto& v) {
    v.required("broker_message_id", self.broker_message_id);
    v.required("client_message_id", self.client_message_id);
    v.required("sender", self.sender);
    v.required("priority", self.priority);
    v.optional("ordering_key", self.ordering_key);
    v.required("history_seq", self.history_seq);
    v.required("deliveries", self.deliveries);
    v.required("created_at", self.created_at);
    v.required("dead_at", self.dead_at);
    v.required("reason", self.reason);
  }
};

struct DeadMessageList {
  std::vector<DeadMessageView> messages = {};
  std::string next_after = {};

  static void visit(auto& self, auto& v) {
    v.required("messages", self.messages);
    v.required("next_after", self.next_after);
  }
};

struct RedriveRequest {
  std::vector<std::string> broker_message_ids = {};
  std::string reason = {};
  std::optional<std::uint64_t> limit = {};
  std::uint64_t delay_ms = 0;
  bool preview = false;

  static void visit(auto& self, auto& v) {
    v.optional("broker_message_ids", self.broker_message_ids);
    v.optional("reason", self.reason);
    v.optional("limit", self.limit);
    v.optional("delay_ms", self.delay_ms);
    v.optional("preview", self.preview);
  }
};

struct DiscardRequest {
  std::vector<std::string> broker_message_ids = {};
  std::string reason = {};
  std::optional<std::uint64_t> limit = {};
  bool preview = false;

  static void visit(auto& self, auto& v) {
    v.optional("broker_message_ids", self.broker_message_ids);
    v.optional("reason", self.reason);
    v.optional("limit", self.limit);
    v.optional("preview", self.preview);
  }
};

struct DeadMessagesChanged {
  std::vector<std::string> broker_message_ids = {};
  bool preview = false;

  static void visit(auto& self, auto& v) {
    v.required("broker_message_ids", self.broker_message_ids);
    v.required("preview", self.preview);
  }
};

// The queues themselves

struct CreateQueueRequest {
  std::string name = {};
  QueueOrder order = QueueOrder::shared;
  QueueAccess access = QueueAccess::open;
  std::uint32_t max_deliveries = 20;
  std::uint64_t lease_ms = 30'000;

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.optional("order", self.order);
    v.optional("access", self.access);
    v.optional("max_deliveries", self.max_deliveries);
    v.optional("lease_ms", self.lease_ms);
  }
};

// What is not given keeps its value.
struct ConfigureQueueRequest {
  std::optional<QueueAccess> access = {};
  std::optional<std::uint32_t> max_deliveries = {};
  std::optional<std::uint64_t> lease_ms = {};

  static void visit(auto& self, auto& v) {
    v.optional("access", self.access);
    v.optional("max_deliveries", self.max_deliveries);
    v.optional("lease_ms", self.lease_ms);
  }
};

struct QueueView {
  std::string name = {};
  std::uint64_t messages = 0;
  QueueOrder order = QueueOrder::shared;
  QueueAccess access = QueueAccess::open;
  std::uint32_t max_deliveries = 0;
  std::uint64_t lease_ms = 0;
  TimeMs created_at = {};

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.required("messages", self.messages);
    v.required("order", self.order);
    v.required("access", self.access);
    v.required("max_deliveries", self.max_deliveries);
    v.required("lease_ms", self.lease_ms);
    v.required("created_at", self.created_at);
  }
};

struct QueueList {
  std::vector<QueueView> queues = {};

  static void visit(auto& self, auto& v) { v.required("queues", self.queues); }
};

// A queue with what is in it; to members without the consumers.
struct QueueStatus {
  std::string mesh = {};
  std::string mesh_id = {};
  QueueView queue = {};
  std::uint64_t ready = 0;
  std::uint64_t delayed = 0;
  std::uint64_t leased = 0;
  std::uint64_t dead = 0;
  std::optional<TimeMs> next_due_at = {};
  std::vector<std::string> consumers = {};

  static void visit(auto& self, auto& v) {
    v.required("mesh", self.mesh);
    v.required("mesh_id", self.mesh_id);
    v.required("queue", self.queue);
    v.required("ready", self.ready);
    v.required("delayed", self.delayed);
    v.required("leased", self.leased);
    v.required("dead", self.dead);
    v.optional("next_due_at", self.next_due_at);
    v.optional("consumers", self.consumers);
  }
};

struct GrantRequest {
  std::string member = {};

  static void visit(auto& self, auto& v) { v.required("member", self.member); }
};

}  // namespace holdfast::delivery
