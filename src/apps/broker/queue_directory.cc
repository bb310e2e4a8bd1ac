// The operations on queues themselves: what is in them, their consumers and their dead messages.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "apps/broker/directory_calls.h"
#include "base/quote.h"
#include "delivery/api/broker_views.h"
#include "delivery/contract/rejection.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

Result<QueueEntry> get_queue_named(SqlSession& session, const QueueKey& key) {
  HOLDFAST_TRY(auto found, find_queue_entry(session, key.first, key.second));
  return found.has_value()
             ? Result<QueueEntry>(*std::move(found))
             : Error{ErrorCode::not_found, fmt::format("there is no queue {}", quote(key.second))};
}

// Without its consumers.
Result<QueueStatus> read_status(SqlSession& session, const std::string& workspace,
                                const QueueKey& key) {
  HOLDFAST_TRY(const QueueEntry entry, get_queue_named(session, key));
  HOLDFAST_TRY(const QueueCounts counts, count_queue(session, key));
  QueueStatus status;
  status.mesh = workspace;
  status.mesh_id = key.first;
  status.queue = view_of(entry);
  status.ready = counts.ready;
  status.delayed = counts.delayed;
  status.leased = counts.leased;
  status.dead = counts.dead;
  HOLDFAST_TRY(status.next_due_at, next_due(session, key));
  return status;
}

// The queue of the path, to the administrator.
Result<QueueStatus> read_whole_status(SqlSession& session, BrokerCall& call) {
  HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
  const QueueKey key{entry.workspace.mesh_id, call.arguments.at(1)};
  HOLDFAST_TRY(QueueStatus status, read_status(session, entry.workspace.slug, key));
  HOLDFAST_TRY(status.consumers, list_consumers(session, key.first, key.second));
  return status;
}

template <typename Change>
Result<BrokerReply> change_whole(BrokerCall& call, const Change& change) {
  HOLDFAST_TRY(
      const auto status,
      call.write<QueueStatus>([&](SqlSession& session, QueueStatus& changed) -> Result<void> {
        HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
        HOLDFAST_CHECK(change(session, QueueKey{entry.workspace.mesh_id, call.arguments.at(1)}));
        HOLDFAST_TRY(changed, read_whole_status(session, call));
        return {};
      }));
  return reply_with(status);
}

Result<BrokerReply> reply_with_dead(BrokerCall& call, const DeadMessagesRequest& request,
                                    const std::function<Result<QueueKey>(SqlSession&)>& queue) {
  HOLDFAST_TRY(const auto entries,
               call.read<std::vector<QueueListEntry>>(
                   [&](SqlSession& session, std::vector<QueueListEntry>& found) -> Result<void> {
                     HOLDFAST_TRY(const QueueKey key, queue(session));
                     HOLDFAST_CHECK(get_queue_named(session, key));
                     HOLDFAST_TRY(found,
                                  list_dead(session, {.queue = key,
                                                      .after_id = request.after,
                                                      .reason = request.reason,
                                                      .limit = static_cast<std::uint32_t>(
                                                          request.limit.value_or(kUsualEntries))}));
                     return {};
                   }));
  // Every id comes behind "0".
  const std::string after = request.after.empty() ? "0" : request.after;
  return reply_with(DeadMessageList{views_of(entries),
                                    entries.empty() ? after : entries.back().broker_message_id});
}

// A consumer sees what it could claim.
Result<QueueKey> queue_of_consumer(SqlSession& session, const BrokerCall& call) {
  const QueueKey key{call.caller.workspace.mesh_id, call.arguments.at(0)};
  HOLDFAST_TRY(const QueueEntry entry, get_queue_named(session, key));
  const ConsumerKey consumer{key, call.caller.member_id};
  HOLDFAST_TRY(const auto grants, find_grants(session, std::span(&consumer, 1)));
  if (entry.settings.access == QueueAccess::closed && grants.front() != ConsumerGrant::granted) {
    return rejected(Rejection::not_allowed,
                    fmt::format("the queue {} is closed, and the member was not granted it",
                                quote(key.second)));
  }
  return key;
}

// Which dead messages: those that are named, or all of them with a reason.
template <typename Request>
Result<DeadSelection> selection_of(BrokerCall& call, const Request& request) {
  const std::uint64_t limit = request.limit.value_or(kUsualEntries);
  if (limit < 1 || limit > kMostEntries) {
    return Error{ErrorCode::invalid_argument, "limit must be from 1 to 1000"}.with("field",
                                                                                   "limit");
  }
  if (!request.broker_message_ids.empty()) {
    HOLDFAST_CHECK(check_message_ids(request.broker_message_ids, "broker_message_ids"));
    if (!request.reason.empty()) {
      return Error{ErrorCode::invalid_argument, "broker_message_ids and reason cannot be combined"}
          .with("field", "reason");
    }
  }
  HOLDFAST_TRY(const auto key,
               call.read<QueueKey>([&](SqlSession& session, QueueKey& found) -> Result<void> {
                 HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
                 found = {entry.workspace.mesh_id, call.arguments.at(1)};
                 HOLDFAST_CHECK(get_queue_named(session, found));
                 return {};
               }));
  return DeadSelection{key, request.broker_message_ids, request.reason,
                       static_cast<std::uint32_t>(limit)};
}

// What is too long is refused where settings are checked.
std::int64_t lease_ms_of(std::uint64_t lease_ms) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(lease_ms, INT64_MAX));
}

Queues::Preview preview_of(bool preview) {
  return preview ? Queues::Preview::yes : Queues::Preview::no;
}

}  // namespace

Result<BrokerReply> get_queue(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const auto status,
               call.read<QueueStatus>([&](SqlSession& session, QueueStatus& found) -> Result<void> {
                 HOLDFAST_TRY(const QueueKey key, queue_of_consumer(session, call));
                 HOLDFAST_TRY(found, read_status(session, call.caller.workspace.slug, key));
                 return {};
               }));
  return reply_with(status);
}

Result<BrokerReply> list_dead_of_member(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, call.query.read<DeadMessagesRequest>());
  return reply_with_dead(call, request,
                         [&](SqlSession& session) { return queue_of_consumer(session, call); });
}

Result<BrokerReply> list_all_queues(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const auto entries,
               call.read<std::vector<QueueEntry>>(
                   [&](SqlSession& session, std::vector<QueueEntry>& found) -> Result<void> {
                     HOLDFAST_TRY(const auto entry,
                                  get_workspace_named(session, call.arguments.at(0)));
                     HOLDFAST_TRY(found, list_queues(session, entry.workspace.mesh_id));
                     return {};
                   }));
  return reply_with(QueueList{views_of(entries)});
}

Result<BrokerReply> add_queue(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<CreateQueueRequest>(call));
  const TimeMs now = call.service.clock.now();
  const QueueSettings settings{request.order, request.access, request.max_deliveries,
                               lease_ms_of(request.lease_ms)};
  HOLDFAST_CHECK(call.service.store.write([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
    return create_queue(session, entry.workspace.mesh_id, request.name, now, settings);
  }));
  return reply_with(view_of(QueueEntry{request.name, now, 0, settings}), kStatusCreated);
}

Result<BrokerReply> show_queue(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const auto status,
               call.scan<QueueStatus>([&](SqlSession& session, QueueStatus& found) -> Result<void> {
                 HOLDFAST_TRY(found, read_whole_status(session, call));
                 return {};
               }));
  return reply_with(status);
}

Result<BrokerReply> change_queue(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<ConfigureQueueRequest>(call));
  return change_whole(call, [&](SqlSession& session, const QueueKey& key) -> Result<void> {
    HOLDFAST_TRY(const QueueEntry entry, get_queue_named(session, key));
    QueueSettings settings = entry.settings;
    settings.access = request.access.value_or(settings.access);
    settings.max_deliveries = request.max_deliveries.value_or(settings.max_deliveries);
    settings.lease_ms =
        request.lease_ms.has_value() ? lease_ms_of(*request.lease_ms) : settings.lease_ms;
    return configure_queue(session, key.first, key.second, settings);
  });
}

Result<BrokerReply> add_consumer(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<GrantRequest>(call));
  return change_whole(call, [&](SqlSession& session, const QueueKey& key) -> Result<void> {
    HOLDFAST_TRY(const auto member, get_member_named(session, key.first, request.member));
    return grant_queue(session, key.first, key.second, member.member_id, call.service.clock.now());
  });
}

Result<BrokerReply> end_consumer(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  return change_whole(call, [&](SqlSession& session, const QueueKey& key) -> Result<void> {
    HOLDFAST_TRY(const auto member, get_member_named(session, key.first, call.arguments.at(2)));
    return withdraw_queue(session, key.first, key.second, member.member_id);
  });
}

Result<BrokerReply> list_dead_messages(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, call.query.read<DeadMessagesRequest>());
  return reply_with_dead(call, request, [&](SqlSession& session) -> Result<QueueKey> {
    HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
    return QueueKey{entry.workspace.mesh_id, call.arguments.at(1)};
  });
}

Result<BrokerReply> redrive_dead(BrokerCall& call) {
  HOLDFAST_ASSERT(call.service.queues != nullptr);
  HOLDFAST_TRY(const auto request, read_body<RedriveRequest>(call));
  if (request.delay_ms > kLongestDelayMs) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("delay_ms must be from 0 to {}", kLongestDelayMs)}
        .with("field", "delay_ms");
  }
  HOLDFAST_TRY(const DeadSelection selection, selection_of(call, request));
  HOLDFAST_TRY(const auto ids,
               call.service.queues->redrive(selection, static_cast<std::int64_t>(request.delay_ms),
                                            preview_of(request.preview)));
  return reply_with(DeadMessagesChanged{ids, request.preview});
}

Result<BrokerReply> discard_dead(BrokerCall& call) {
  HOLDFAST_ASSERT(call.service.queues != nullptr);
  HOLDFAST_TRY(const auto request, read_body<DiscardRequest>(call));
  HOLDFAST_TRY(const DeadSelection selection, selection_of(call, request));
  HOLDFAST_TRY(const auto ids,
               call.service.queues->discard(selection, preview_of(request.preview)));
  return reply_with(DeadMessagesChanged{ids, request.preview});
}

}  // namespace holdfast::delivery
