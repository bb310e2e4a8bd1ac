#include "delivery/api/broker_views.h"

#include "base/encoding.h"
#include "delivery/contract/envelope.h"

namespace holdfast::delivery {

AcceptResponse view_of(const AcceptReply& reply) {
  return {reply.broker_message_id, reply.client_message_id, reply.history_id,  reply.duplicate,
          reply.history_available, reply.first_seen_at,     reply.fanout_count};
}

DedupeResponse view_of(const DedupeRecord& record, const ClientMessageId& id) {
  return {id.text(),
          record.broker_message_id,
          record.history_id,
          fingerprint_prefix(record.fingerprint),
          record.history_available,
          record.first_seen_at};
}

namespace {

std::string body_text(const std::string& body, BodyForm form) {
  return form == BodyForm::sealed ? to_base64url(as_bytes(body)) : body;
}

}  // namespace

HistoryMessage view_of(const HistoryEntry& entry, BodyForm form) {
  HistoryMessage view;
  view.history_seq = entry.history_seq;
  view.history_id = entry.history_id;
  view.broker_message_id = entry.broker_message_id;
  view.created_at = entry.created_at;
  view.pruned = entry.pruned;
  view.redacted = entry.redacted;
  if (entry.pruned) {
    return view;
  }
  view.sender_pubkey = entry.sender_pubkey;
  view.sender_name = entry.sender_name;
  view.client_message_id = entry.client_message_id;
  view.priority = entry.priority;
  view.reply_to_id = entry.reply_to_id;
  if (entry.redacted) {
    return view;
  }
  if (!entry.meta.empty()) {
    view.meta = Payload(JsonText::trusted(entry.meta));
  }
  view.body = body_text(entry.body, form);
  return view;
}

RedactedView view_of(const RedactedMessage& message) {
  return {message.broker_message_id, message.history_id, message.destination, message.history_seq,
          message.redacted_at};
}

DeliveryView view_of(const Delivery& delivery, const Workspace& workspace) {
  const Envelope& envelope = delivery.envelope;
  DeliveryView view;
  view.delivery_id = delivery.delivery_id;
  view.attempt = delivery.attempt;
  view.mesh = workspace.slug;
  view.broker_message_id = delivery.broker_message_id;
  view.client_message_id = delivery.client_message_id;
  if (!delivery.redacted) {
    view.request_fingerprint = fingerprint_of(envelope);
  }
  view.envelope_version = envelope.version;
  view.destination = envelope.destination;
  view.sender_pubkey = delivery.sender_pubkey;
  view.sender_name = delivery.sender_name;
  view.priority = envelope.priority;
  view.reply_to_id = envelope.reply_to;
  if (!envelope.meta.empty()) {
    view.meta = Payload(JsonText::trusted(envelope.meta));
  }
  view.body = body_text(envelope.body, workspace.body_form);
  view.redacted = delivery.redacted;
  view.history_seq = delivery.history_seq;
  view.created_at = delivery.created_at;
  return view;
}

DeliveryListEntry view_of(const DeliveryEntry& entry) {
  return {entry.delivery_id, entry.broker_message_id, entry.destination, entry.history_seq,
          entry.sender_name, entry.recipient_name,    entry.priority,    entry.state,
          entry.attempts,    entry.created_at,        entry.lease_until, entry.delivered_at,
          entry.reason};
}

MentionView view_of(const MentionEntry& entry) {
  return {entry.broker_message_id, entry.destination, entry.history_seq, entry.created_at};
}

WorkspaceView view_of(const WorkspaceEntry& entry) {
  const Workspace& workspace = entry.workspace;
  return {workspace.slug,
          workspace.mesh_id,
          workspace.body_form,
          workspace.dedupe.mode,
          workspace.dedupe.retention_days,
          workspace.message_retention_days,
          workspace.rate_limit_per_window,
          workspace.window_seconds,
          workspace.max_inline_bytes,
          entry.created_at};
}

MemberView view_of(const MemberEntry& entry) {
  return {entry.member_id, entry.display_name, entry.pubkey, entry.created_at, entry.revoked_at};
}

TopicView view_of(const TopicEntry& entry) {
  return {entry.topic.name,
          entry.topic.access,
          entry.topic.sender_copy,
          entry.messages,
          entry.created_at,
          entry.archived_at,
          {}};
}

SubscriptionView view_of(const SubscriptionEntry& entry) {
  return {entry.member, entry.pubkey, entry.role, entry.joined_at};
}

QueueView view_of(const QueueEntry& entry) {
  const QueueSettings& settings = entry.settings;
  return {entry.name,      entry.messages,          settings.order,
          settings.access, settings.max_deliveries, static_cast<std::uint64_t>(settings.lease_ms),
          entry.created_at};
}

QueueMessageView view_of(const QueueMessage& message, const Workspace& workspace) {
  const Envelope& envelope = message.envelope;
  QueueMessageView view;
  view.broker_message_id = message.broker_message_id;
  view.client_message_id = message.client_message_id;
  view.delivery = message.delivery;
  view.mesh = workspace.slug;
  view.queue = envelope.destination.ref;
  if (!message.redacted) {
    view.request_fingerprint = fingerprint_of(envelope);
  }
  view.envelope_version = envelope.version;
  view.sender_pubkey = message.sender_pubkey;
  view.sender_name = message.sender_name;
  view.priority = envelope.priority;
  view.ordering_key = message.ordering_key;
  view.reply_to_id = envelope.reply_to;
  if (!envelope.meta.empty()) {
    view.meta = Payload(JsonText::trusted(envelope.meta));
  }
  view.body = body_text(envelope.body, workspace.body_form);
  view.redacted = message.redacted;
  view.history_seq = message.history_seq;
  view.created_at = message.created_at;
  if (message.expires_at.value > 0) {
    view.expires_at = message.expires_at;
  }
  return view;
}

DeadMessageView view_of(const QueueListEntry& entry) {
  return {entry.broker_message_id, entry.client_message_id, entry.sender_name,
          entry.priority,          entry.ordering_key,      entry.history_seq,
          entry.place.deliveries,  entry.created_at,        entry.place.ended_at,
          entry.place.reason};
}

SentMessageView view_of(const Queues::Sent& sent) {
  SentMessageView view;
  view.client_message_id = sent.client_message_id;
  view.broker_message_id = sent.broker_message_id;
  if (sent.place.has_value()) {
    view.state = enum_from<SentState>(to_text(sent.place->state)).value_or(SentState::unknown);
    view.deliveries = sent.place->deliveries;
    view.reason = sent.place->reason;
  }
  return view;
}

FencedMessage view_of(const std::pair<std::string, QueueFence>& fenced) {
  return {fenced.first, fenced.second};
}

OrphanResponse view_of(const OrphanReport& report) {
  OrphanResponse response;
  response.total = report.total();
  for (const auto& [mesh_id, counts] : report.found) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0) {
        response.found.push_back(
            {mesh_id, orphan_name(i), std::string(orphan_meaning(i)), counts[i]});
      }
    }
  }
  return response;
}

}  // namespace holdfast::delivery
