// The operations on deliveries: for their recipients, and for the administrator.
#include <algorithm>

#include "apps/broker/delivery_polls.h"
#include "apps/broker/directory_calls.h"
#include "apps/broker/push_hub.h"
#include "delivery/api/broker_views.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

Result<BrokerReply> reply_with_list(BrokerCall& call, const DeliveryFilter& filter) {
  HOLDFAST_TRY(const auto entries,
               call.read<std::vector<DeliveryEntry>>(
                   [&](SqlSession& session, std::vector<DeliveryEntry>& found) -> Result<void> {
                     HOLDFAST_TRY(found, list_deliveries(session, filter));
                     return {};
                   }));
  return reply_with(DeliveryList{views_of(entries),
                                 entries.empty() ? filter.after_id : entries.back().delivery_id});
}

Result<std::uint64_t> replay(BrokerCall& call, const std::string& mesh_id,
                             const std::string& member_id, const ReplayRequest& request) {
  HOLDFAST_CHECK(check_delivery_ids(request.delivery_ids));
  const TimeMs now = call.service.clock.now();
  HOLDFAST_TRY(
      const auto replayed,
      call.write<std::uint64_t>([&](SqlSession& session, std::uint64_t& rows) -> Result<void> {
        HOLDFAST_TRY(rows, replay_rows(session, mesh_id, member_id, request.delivery_ids, now));
        return {};
      }));
  if (replayed > 0) {
    call.service.deliveries_changed();
  }
  return replayed;
}

}  // namespace

Result<void> check_delivery_ids(const std::vector<std::uint64_t>& ids) {
  const bool valid = !ids.empty() && ids.size() <= kMostEntries &&
                     std::all_of(ids.begin(), ids.end(),
                                 [](std::uint64_t id) { return id > 0 && id <= kLastSequence; });
  return valid ? Result<void>()
               : Error{ErrorCode::invalid_argument,
                       "delivery_ids has 1 to 1000 numbers, each at least 1"}
                     .with("field", "delivery_ids");
}

Result<BrokerReply> claim_deliveries(BrokerCall& call) {
  HOLDFAST_ASSERT(call.service.deliveries != nullptr);
  HOLDFAST_TRY(const auto request, call.query.read<ClaimDeliveriesRequest>());
  const auto limit = static_cast<std::uint32_t>(request.limit.value_or(kUsualEntries));
  if (call.service.push != nullptr) {
    call.service.push->heard(call.caller);
  }
  HOLDFAST_TRY(const auto claimed, call.service.deliveries->claim(
                                       {.member_id = call.caller.member_id, .limit = limit}));
  DeliveriesResponse response;
  if (!claimed.deliveries.empty()) {
    response.lease = claimed.owner;
    response.lease_until = claimed.lease_until;
  }
  for (const Delivery& delivery : claimed.deliveries) {
    response.deliveries.push_back(view_of(delivery, call.caller.workspace));
  }
  HOLDFAST_TRY(BrokerReply reply, reply_with(response));
  if (response.deliveries.empty() && request.wait.value_or(0) > 0) {
    reply.wait =
        DeliveryWait{.key = call.caller.member_id, .time = std::chrono::seconds(*request.wait)};
  }
  return reply;
}

Result<BrokerReply> ack_deliveries(BrokerCall& call) {
  HOLDFAST_ASSERT(call.service.deliveries != nullptr);
  HOLDFAST_TRY(const auto request, read_body<AckDeliveriesRequest>(call));
  HOLDFAST_CHECK(check_delivery_ids(request.delivery_ids));
  HOLDFAST_TRY(const auto outcome,
               call.service.deliveries->acknowledge(
                   {call.caller.member_id, request.lease, request.delivery_ids}));
  if (!outcome.acked.empty()) {
    call.service.deliveries_changed(call.caller.member_id);  // of lanes that were blocked
  }
  return reply_with(AckDeliveriesResponse{outcome.acked, outcome.fenced});
}

Result<BrokerReply> list_dead_deliveries(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, call.query.read<DeadDeliveriesRequest>());
  return reply_with_list(
      call, {.mesh_id = call.caller.workspace.mesh_id,
             .member_id = call.caller.member_id,
             .state = DeliveryState::dead,
             .after_id = request.after.value_or(0),
             .limit = static_cast<std::uint32_t>(request.limit.value_or(kUsualEntries))});
}

Result<BrokerReply> replay_deliveries(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<ReplayRequest>(call));
  HOLDFAST_TRY(const auto replayed,
               replay(call, call.caller.workspace.mesh_id, call.caller.member_id, request));
  return reply_with(ReplayResponse{replayed});
}

Result<BrokerReply> list_all_deliveries(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, call.query.read<ListDeliveriesRequest>());
  DeliveryFilter filter{
      .mesh_id = "",
      .state = enum_from<DeliveryState>(to_text(request.state)),  // none for "all"
      .after_id = request.after.value_or(0),
      .limit = static_cast<std::uint32_t>(request.limit.value_or(kUsualEntries))};
  HOLDFAST_CHECK(call.service.store.read([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
    filter.mesh_id = entry.workspace.mesh_id;
    if (!request.member.empty()) {
      HOLDFAST_TRY(const auto member, get_member_named(session, filter.mesh_id, request.member));
      filter.member_id = member.member_id;
    }
    return {};
  }));
  return reply_with_list(call, filter);
}

Result<BrokerReply> replay_for_members(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<ReplayRequest>(call));
  HOLDFAST_TRY(
      const auto entry,
      call.read<WorkspaceEntry>([&](SqlSession& session, WorkspaceEntry& found) -> Result<void> {
        HOLDFAST_TRY(found, get_workspace_named(session, call.arguments.at(0)));
        return {};
      }));
  HOLDFAST_TRY(const auto replayed, replay(call, entry.workspace.mesh_id, "", request));
  return reply_with(ReplayResponse{replayed});
}

}  // namespace holdfast::delivery
