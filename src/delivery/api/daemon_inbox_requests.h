// The requests and responses of a daemon about what it receives: the inbox and events.
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

namespace holdfast::delivery {

inline constexpr std::uint64_t kMostInboxMessages = 1000;
inline constexpr std::uint64_t kUsualInboxMessages = 50;

HOLDFAST_ENUM(InboxOrder, oldest_first, newest_first);

struct InboxRequest {
  NumberUpTo<INT64_MAX> after = {};
  NumberUpTo<INT64_MAX> since = {};
  std::string topic = {};
  std::string from = {};
  bool unread = false;
  InboxOrder order = InboxOrder::oldest_first;
  bool mark_seen = false;
  PageLimit<kMostInboxMessages> limit = {};

  static void visit(auto& self, auto& v) {
    v.optional("after", self.after);
    v.optional("since", self.since);
    v.optional("topic", self.topic);
    v.optional("from", self.from);
    v.optional("unread", self.unread);
    v.optional("order", self.order);
    v.optional("mark_seen", self.mark_seen);
    v.optional("limit", self.limit);
  }
};

struct InboxMessageView {
  std::uint64_t id = 0;
  std::string mesh = {};
  Destination destination = {};
  std::string sender_pubkey = {};
  std::string sender_name = {};
  std::string client_message_id = {};
  std::string broker_message_id = {};
  Priority priority = Priority::next;
  std::string reply_to_id = {};
  Payload meta = {};
  std::optional<std::string> body = {};
  bool redacted = false;
  std::uint64_t history_seq = 0;
  TimeMs created_at = {};
  TimeMs received_at = {};
  std::optional<TimeMs> seen_at = {};

  static void visit(auto& self, auto& v) {
    v.required("id", self.id);
    v.required("mesh", self.mesh);
    v.required("destination", self.destination);
    v.required("sender_pubkey", self.sender_pubkey);
    v.required("sender_name", self.sender_name);
    v.required("client_message_id", self.client_message_id);
    v.required("broker_message_id", self.broker_message_id);
    v.required("priority", self.priority);
    v.optional("reply_to_id", self.reply_to_id);
    v.optional("meta", self.meta);
    v.required("body", self.body);
    v.required("redacted", self.redacted);
    v.required("history_seq", self.history_seq);
    v.required("created_at", self.created_at);
    v.required("received_at", self.received_at);
    v.optional("seen_at", self.seen_at);
  }
};

struct InboxPage {
  std::vector<InboxMessageView> messages = {};
  std::uint64_t next_after = 0;  // of a page in the order oldest_first
  std::uint64_t unread = 0;

  static void visit(auto& self, auto& v) {
    v.required("messages", self.messages);
    v.required("next_after", self.next_after);
    v.required("unread", self.unread);
  }
};

// Either ids or up_to.
struct InboxSeenRequest {
  std::vector<std::uint64_t> ids = {};
  std::optional<std::uint64_t> up_to = {};

  static void visit(auto& self, auto& v) {
    v.optional("ids", self.ids);
    v.optional("up_to", self.up_to);
  }
};

struct InboxSeenView {
  std::uint64_t marked = 0;

  static void visit(auto& self, auto& v) { v.required("marked", self.marked); }
};

struct EventsRequest {
  std::string after = {};

  static void visit(auto& self, auto& v) { v.optional("after", self.after); }
};

struct TopicNameRequest {
  std::string topic = {};

  static void visit(auto& self, auto& v) { v.required("topic", self.topic); }
};

}  // namespace holdfast::delivery
