// The requests and responses about messages: one type each, with one list of fields. The request of
// POST /v1/messages is MessageRequest in
// delivery/contract/message_request.h, because a daemon computes with it.
//
// The tables call a workspace a mesh; `mesh` in a request is the name of a workspace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "access/http_operation.h"
#include "base/clock.h"
#include "base/fields.h"
#include "base/shared_text.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/message_request.h"

namespace holdfast::delivery {

inline constexpr std::uint64_t kMostEntries = 1000;
inline constexpr std::uint64_t kUsualEntries = 100;
inline constexpr std::uint64_t kLastSequence = INT64_MAX;

// Messages

struct AcceptResponse {
  std::string broker_message_id = {};
  std::string client_message_id = {};
  std::string history_id = {};
  bool duplicate = false;
  bool history_available = true;
  TimeMs first_seen_at = {};
  std::uint64_t fanout_count = 0;

  static void visit(auto& self, auto& v) {
    v.required("broker_message_id", self.broker_message_id);
    v.required("client_message_id", self.client_message_id);
    v.required("history_id", self.history_id);
    v.required("duplicate", self.duplicate);
    v.required("history_available", self.history_available);
    v.required("first_seen_at", self.first_seen_at);
    v.required("fanout_count", self.fanout_count);
  }
};

struct DedupeResponse {
  std::string client_message_id = {};
  std::string broker_message_id = {};
  std::string history_id = {};
  std::string broker_fingerprint_prefix = {};
  bool history_available = true;
  TimeMs first_seen_at = {};

  static void visit(auto& self, auto& v) {
    v.required("client_message_id", self.client_message_id);
    v.required("broker_message_id", self.broker_message_id);
    v.required("history_id", self.history_id);
    v.required("broker_fingerprint_prefix", self.broker_fingerprint_prefix);
    v.required("history_available", self.history_available);
    v.required("first_seen_at", self.first_seen_at);
  }
};

struct FeaturesRequest {
  std::vector<std::string> require = {};

  static void visit(auto& self, auto& v) { v.optional("require", self.require); }
};

struct HistoryRequest {
  DestinationKind kind = DestinationKind::topic;
  std::string ref = {};
  NumberUpTo<kLastSequence> after = {};
  PageLimit<kMostEntries> limit = {};

  static void visit(auto& self, auto& v) {
    v.optional("kind", self.kind);
    v.required("ref", self.ref);
    v.optional("after", self.after);
    v.optional("limit", self.limit);
  }
};

struct HistoryMessage {
  std::uint64_t history_seq = 0;
  std::string history_id = {};
  std::string broker_message_id = {};
  TimeMs created_at = {};
  bool pruned = false;
  bool redacted = false;
  std::string sender_pubkey = {};
  std::string sender_name = {};
  std::string client_message_id = {};
  std::optional<Priority> priority = {};
  std::string reply_to_id = {};
  Payload meta = {};
  std::optional<std::string> body = {};

  static void visit(auto& self, auto& v) {
    v.required("history_seq", self.history_seq);
    v.required("history_id", self.history_id);
    v.required("broker_message_id", self.broker_message_id);
    v.required("created_at", self.created_at);
    v.required("pruned", self.pruned);
    v.required("redacted", self.redacted);
    v.optional("sender_pubkey", self.sender_pubkey);
    v.optional("sender_name", self.sender_name);
    v.optional("client_message_id", self.client_message_id);
    v.optional("priority", self.priority);
    v.optional("reply_to_id", self.reply_to_id);
    v.optional("meta", self.meta);
    v.optional("body", self.body);
  }
};

struct HistoryResponse {
  std::vector<HistoryMessage> messages = {};
  std::uint64_t next_after = 0;

  static void visit(auto& self, auto& v) {
    v.required("messages", self.messages);
    v.required("next_after", self.next_after);
  }
};

struct RedactRequest {
  static void visit(auto& /*self*/, auto& /*v*/) {}
};

struct RedactedView {
  std::string broker_message_id = {};
  std::string history_id = {};
  Destination destination = {};
  std::uint64_t history_seq = 0;
  TimeMs redacted_at = {};

  static void visit(auto& self, auto& v) {
    v.required("broker_message_id", self.broker_message_id);
    v.required("history_id", self.history_id);
    v.required("destination", self.destination);
    v.required("history_seq", self.history_seq);
    v.required("redacted_at", self.redacted_at);
  }
};

struct MentionsRequest {
  std::string after = {};
  PageLimit<kMostEntries> limit = {};

  static void visit(auto& self, auto& v) {
    v.optional("after", self.after);
    v.optional("limit", self.limit);
  }
};

struct MentionView {
  std::string broker_message_id = {};
  Destination destination = {};
  std::uint64_t history_seq = 0;
  TimeMs created_at = {};

  static void visit(auto& self, auto& v) {
    v.required("broker_message_id", self.broker_message_id);
    v.required("destination", self.destination);
    v.required("history_seq", self.history_seq);
    v.required("created_at", self.created_at);
  }
};

struct MentionsResponse {
  std::vector<MentionView> mentions = {};
  std::string next_after = {};

  static void visit(auto& self, auto& v) {
    v.required("mentions", self.mentions);
    v.optional("next_after", self.next_after);
  }
};

}  // namespace holdfast::delivery
