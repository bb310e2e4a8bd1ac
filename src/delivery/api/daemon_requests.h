// The requests and responses of a daemon: what programs of this machine send to it.
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

inline constexpr std::uint64_t kMostOutboxRows = 500;
inline constexpr std::uint64_t kUsualOutboxRows = 50;

// Messages

struct SendRequest {
  std::string to = {};
  std::optional<std::string> message = {};  // required; may be empty
  std::optional<Priority> priority = {};
  Payload meta = {};
  std::string reply_to_id = {};
  std::string replyToId = {};  // another name of reply_to_id
  std::optional<std::string> client_message_id = {};
  std::vector<std::string> mentions = {};
  std::string ordering_key = {};

  static void visit(auto& self, auto& v) {
    v.required("to", self.to);
    v.required("message", self.message);
    v.optional("priority", self.priority);
    v.optional("meta", self.meta);
    v.optional("reply_to_id", self.reply_to_id);
    v.optional("replyToId", self.replyToId);
    v.optional("client_message_id", self.client_message_id);
    v.optional("mentions", self.mentions);
    v.optional("ordering_key", self.ordering_key);
  }
};

struct TopicPostRequest {
  std::string topic = {};
  std::optional<std::string> message = {};  // required; may be empty
  std::optional<Priority> priority = {};
  std::vector<std::string> mentions = {};
  std::optional<std::string> client_message_id = {};

  static void visit(auto& self, auto& v) {
    v.required("topic", self.topic);
    v.required("message", self.message);
    v.optional("priority", self.priority);
    v.optional("mentions", self.mentions);
    v.optional("client_message_id", self.client_message_id);
  }
};

struct SendView {
  std::string client_message_id = {};
  std::string status = {};  // queued or inflight
  bool duplicate = false;
  std::string broker_message_id = {};
  std::string history_id = {};

  static void visit(auto& self, auto& v) {
    v.required("client_message_id", self.client_message_id);
    v.optional("status", self.status);
    v.optional("duplicate", self.duplicate);
    v.optional("broker_message_id", self.broker_message_id);
    v.optional("history_id", self.history_id);
  }
};

// The outbox

enum class OutboxListed : std::uint8_t { all, pending, inflight, done, dead, aborted };

struct OutboxListRequest {
  OutboxListed status = OutboxListed::all;
  std::string error = {};
  NumberUpTo<INT64_MAX> since = {};
  NumberUpTo<INT64_MAX> before = {};
  std::string before_id = {};
  PageLimit<kMostOutboxRows> limit = {};

  static void visit(auto& self, auto& v) {
    v.optional("status", self.status);
    v.optional("error", self.error);
    v.optional("since", self.since);
    v.optional("before", self.before);
    v.optional("before_id", self.before_id);
    v.optional("limit", self.limit);
  }
};

struct OutboxRowView {
  std::string id = {};
  std::string client_message_id = {};
  std::string status = {};
  std::string request_fingerprint = {};
  std::string mesh = {};
  Destination destination = {};
  std::string to = {};
  std::optional<Priority> priority = {};
  std::string ordering_key = {};
  std::string reply_to_id = {};
  std::vector<std::string> mentions = {};
  std::optional<std::string> message = {};  // of inspect
  Payload meta = {};
  std::optional<TimeMs> payload_pruned_at = {};
  TimeMs enqueued_at = {};
  std::optional<TimeMs> first_sent_at = {};
  std::optional<TimeMs> last_attempt_at = {};
  std::uint64_t attempts = 0;
  bool ambiguous = false;
  bool poison_suspect = false;
  std::optional<TimeMs> next_attempt_at = {};
  std::string last_error = {};
  std::uint64_t last_status = 0;
  std::optional<TimeMs> delivered_at = {};
  std::string broker_message_id = {};
  std::string history_id = {};
  std::optional<TimeMs> aborted_at = {};
  std::string aborted_by = {};
  std::string abort_reason = {};
  std::string superseded_by = {};
  std::string supersedes = {};
  std::string late_broker_message_id = {};

  static void visit(auto& self, auto& v) {
    v.required("id", self.id);
    v.required("client_message_id", self.client_message_id);
    v.required("status", self.status);
    v.required("request_fingerprint", self.request_fingerprint);
    v.required("mesh", self.mesh);
    v.required("destination", self.destination);
    v.required("to", self.to);
    v.optional("priority", self.priority);
    v.optional("ordering_key", self.ordering_key);
    v.optional("reply_to_id", self.reply_to_id);
    v.optional("mentions", self.mentions);
    v.optional("message", self.message);
    v.optional("meta", self.meta);
    v.optional("payload_pruned_at", self.payload_pruned_at);
    v.required("enqueued_at", self.enqueued_at);
    v.optional("first_sent_at", self.first_sent_at);
    v.optional("last_attempt_at", self.last_attempt_at);
    v.required("attempts", self.attempts);
    v.required("ambiguous", self.ambiguous);
    v.optional("poison_suspect", self.poison_suspect);
    v.optional("next_attempt_at", self.next_attempt_at);
    v.optional("last_error", self.last_error);
    v.optional("last_status", self.last_status);
    v.optional("delivered_at", self.delivered_at);
    v.optional("broker_message_id", self.broker_message_id);
    v.optional("history_id", self.history_id);
    v.optional("aborted_at", self.aborted_at);
    v.optional("aborted_by", self.aborted_by);
    v.optional("abort_reason", self.abort_reason);
    v.optional("superseded_by", self.superseded_by);
    v.optional("supersedes", self.supersedes);
    v.optional("late_broker_message_id", self.late_broker_message_id);
  }
};

struct OutboxList {
  std::vector<OutboxRowView> messages = {};
  std::string next_before_id = {};  // empty: no more

  static void visit(auto& self, auto& v) {
    v.required("messages", self.messages);
    v.optional("next_before_id", self.next_before_id);
  }
};

// The rows that took each other's place, oldest first.
struct OutboxChain {
  std::vector<OutboxRowView> chain = {};

  static void visit(auto& self, auto& v) { v.required("chain", self.chain); }
};

struct RequeueMessageRequest {
  bool automatic = false;  // make a fresh id
  std::optional<std::string> new_client_message_id = {};
  std::optional<std::string> message = {};  // in place of the old one
  bool force = false;
  std::string reason = {};

  static void visit(auto& self, auto& v) {
    v.optional("auto", self.automatic);
    v.optional("new_client_message_id", self.new_client_message_id);
    v.optional("message", self.message);
    v.optional("force", self.force);
    v.optional("reason", self.reason);
  }
};

struct RequeueView {
  std::string result = {};  // requeued or delivered
  OutboxRowView old_message = {};
  std::optional<OutboxRowView> new_message = {};

  static void visit(auto& self, auto& v) {
    v.required("result", self.result);
    v.required("old", self.old_message);
    v.optional("new", self.new_message);
  }
};

struct RequeueBulkRequest {
  OutboxListed status = OutboxListed::dead;  // dead or pending
  std::string error = {};
  std::optional<TimeMs> since = {};
  std::optional<TimeMs> before = {};
  std::optional<std::uint64_t> limit = {};
  std::uint64_t rate = 0;  // messages per second; 0: all at once
  bool dry_run = false;
  bool force = false;
  std::string reason = {};

  static void visit(auto& self, auto& v) {
    v.optional("status", self.status);
    v.optional("error", self.error);
    v.optional("since", self.since);
    v.optional("before", self.before);
    v.optional("limit", self.limit);
    v.optional("rate", self.rate);
    v.optional("dry_run", self.dry_run);
    v.optional("force", self.force);
    v.optional("reason", self.reason);
  }
};

struct RequeueBulkOutcome {
  std::string id = {};
  std::string client_message_id = {};
  std::string result = {};  // would_requeue, requeued, delivered or refused
  std::string new_client_message_id = {};
  std::string why = {};  // of refused

  static void visit(auto& self, auto& v) {
    v.required("id", self.id);
    v.required("client_message_id", self.client_message_id);
    v.required("result", self.result);
    v.optional("new_client_message_id", self.new_client_message_id);
    v.optional("why", self.why);
  }
};

struct RequeueBulkView {
  std::vector<RequeueBulkOutcome> outcomes = {};

  static void visit(auto& self, auto& v) { v.required("outcomes", self.outcomes); }
};

struct AbortMessageRequest {
  std::string reason = {};
  bool force = false;

  static void visit(auto& self, auto& v) {
    v.optional("reason", self.reason);
    v.optional("force", self.force);
  }
};

struct CompactRequest {
  TimeMs ended_before = {};

  static void visit(auto& self, auto& v) { v.required("ended_before", self.ended_before); }
};

struct CompactView {
  std::uint64_t compacted = 0;

  static void visit(auto& self, auto& v) { v.required("compacted", self.compacted); }
};

// The daemon itself

struct EmptyRequest {
  static void visit(auto& /*self*/, auto& /*v*/) {}
};

struct DaemonHealth {
  bool connected = false;
  bool degraded = false;
  std::vector<std::string> reasons = {};  // of degraded
  std::string mesh = {};
  std::string member = {};
  std::string member_pubkey = {};
  std::string broker = {};  // the URL that it is connected to
  std::uint64_t queue_depth = 0;
  std::uint64_t inflight = 0;
  std::uint64_t dead = 0;
  std::uint64_t lag_ms = 0;  // since the oldest pending message was accepted
  std::uint64_t outbox_percent = 0;
  std::string receiving = {};  // websocket or poll; empty: it does not receive
  std::uint64_t unread = 0;
  std::uint64_t inbox_percent = 0;
  std::uint64_t uptime_s = 0;
  std::uint64_t pid = 0;
  std::string daemon_version = {};

  static void visit(auto& self, auto& v) {
    v.required("connected", self.connected);
    v.required("degraded", self.degraded);
    v.required("reasons", self.reasons);
    v.required("mesh", self.mesh);
    v.required("member", self.member);
    v.required("member_pubkey", self.member_pubkey);
    v.optional("broker", self.broker);
    v.required("queue_depth", self.queue_depth);
    v.required("inflight", self.inflight);
    v.required("dead", self.dead);
    v.required("lag_ms", self.lag_ms);
    v.required("outbox_percent", self.outbox_percent);
    v.optional("receiving", self.receiving);
    v.required("unread", self.unread);
    v.required("inbox_percent", self.inbox_percent);
    v.required("uptime_s", self.uptime_s);
    v.required("pid", self.pid);
    v.required("daemon_version", self.daemon_version);
  }
};

struct DaemonVersion {
  std::string daemon_version = {};
  std::string ipc_api = {};
  std::vector<std::string> ipc_features = {};
  std::uint64_t schema_version = 0;
  std::string mesh = {};
  std::uint64_t max_age_hours = 0;  // 0: not negotiated
  std::uint64_t inline_bytes = 0;

  static void visit(auto& self, auto& v) {
    v.required("daemon_version", self.daemon_version);
    v.required("ipc_api", self.ipc_api);
    v.required("ipc_features", self.ipc_features);
    v.required("schema_version", self.schema_version);
    v.required("mesh", self.mesh);
    v.optional("max_age_hours", self.max_age_hours);
    v.optional("inline_bytes", self.inline_bytes);
  }
};

// What callers and brokers this daemon works with.
struct DaemonCompat {
  std::vector<std::string> ipc_api = {};
  std::vector<std::string> ipc_features = {};
  std::vector<std::string> broker_features = {};  // that it requires
  std::uint64_t envelope_version = 0;
  std::uint64_t outbox_schema = 0;
  std::uint64_t inbox_schema = 0;

  static void visit(auto& self, auto& v) {
    v.required("ipc_api", self.ipc_api);
    v.required("ipc_features", self.ipc_features);
    v.required("broker_features", self.broker_features);
    v.required("envelope_version", self.envelope_version);
    v.required("outbox_schema", self.outbox_schema);
    v.required("inbox_schema", self.inbox_schema);
  }
};

struct DaemonReloaded {
  std::string status = {};
  std::vector<std::string> restart_for = {};

  static void visit(auto& self, auto& v) {
    v.required("status", self.status);
    v.required("restart_for", self.restart_for);
  }
};

struct DaemonStopped {
  std::string status = {};

  static void visit(auto& self, auto& v) { v.required("status", self.status); }
};

}  // namespace holdfast::delivery

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<delivery::OutboxListed>[] = {
    "all", "pending", "inflight", "done", "dead", "aborted"};

}  // namespace holdfast
