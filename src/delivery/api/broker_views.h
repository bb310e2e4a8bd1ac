// What is stored about workspaces, members, topics and messages, as a broker's responses show it.
#pragma once

#include "delivery/api/broker_requests.h"
#include "delivery/api/delivery_requests.h"
#include "delivery/api/directory_requests.h"
#include "delivery/api/queue_requests.h"
#include "delivery/broker/broker.h"
#include "delivery/broker/broker_listing.h"
#include "delivery/broker/broker_lookup.h"
#include "delivery/broker/deliveries.h"
#include "delivery/broker/orphan_check.h"
#include "delivery/broker/queues.h"
#include "delivery/broker/redaction.h"

namespace holdfast::delivery {

AcceptResponse view_of(const AcceptReply& reply);
DedupeResponse view_of(const DedupeRecord& record, const ClientMessageId& id);
// The body of a sealed message is shown as base64url, that of a plain one as text.
HistoryMessage view_of(const HistoryEntry& entry, BodyForm form);
MentionView view_of(const MentionEntry& entry);
RedactedView view_of(const RedactedMessage& message);
DeliveryView view_of(const Delivery& delivery, const Workspace& workspace);
DeliveryListEntry view_of(const DeliveryEntry& entry);
WorkspaceView view_of(const WorkspaceEntry& entry);
MemberView view_of(const MemberEntry& entry);
TopicView view_of(const TopicEntry& entry);
SubscriptionView view_of(const SubscriptionEntry& entry);
QueueView view_of(const QueueEntry& entry);
QueueMessageView view_of(const QueueMessage& message, const Workspace& workspace);
DeadMessageView view_of(const QueueListEntry& entry);
SentMessageView view_of(const Queues::Sent& sent);
FencedMessage view_of(const std::pair<std::string, QueueFence>& fenced);
OrphanResponse view_of(const OrphanReport& report);

template <typename Entry>
auto views_of(const std::vector<Entry>& entries) {
  std::vector<decltype(view_of(entries.front()))> views;
  views.reserve(entries.size());
  for (const Entry& entry : entries) {
    views.push_back(view_of(entry));
  }
  return views;
}

}  // namespace holdfast::delivery
