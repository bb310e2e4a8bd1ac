#include <algorithm>

#include "apps/broker/broker_call.h"
#include "apps/broker/directory_calls.h"
#include "apps/broker/push_hub.h"
#include "delivery/api/broker_views.h"
#include "delivery/broker/refusal_detail.h"
#include "delivery/contract/features.h"
#include "delivery/contract/rejection.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kPageBytes = 4U << 20U;  // of bodies: a page ends after so many

// What this broker implements; the contract knows more.
bool is_offered(std::string_view feature) {
  return feature == kDedupeFeature || feature == kMaxPayloadFeature ||
         feature == kConnectionPolicyFeature;
}

}  // namespace

NegotiationResponse features_of(const BrokerService& service, const Workspace& workspace,
                                const std::vector<std::string>& required) {
  BrokerFeatures features;
  features.dedupe = service.dedupe;
  features.window = workspace.dedupe;
  features.inline_bytes = workspace.max_inline_bytes;
  if (service.push != nullptr) {
    features.connection_policy = service.push->options().policy;
  }
  NegotiationResponse response = answer_negotiation({}, features);
  std::erase_if(response.supported, [](const auto& feature) { return !is_offered(feature.first); });
  for (const std::string& name : required) {
    if (!response.supported.contains(name)) {
      response.missing_required.push_back(name);
    }
  }
  return response;
}

Result<BrokerReply> get_dedupe(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const ClientMessageId id, ClientMessageId::parse(call.arguments.at(0)));
  HOLDFAST_TRY(const auto record,
               call.read<std::optional<DedupeRecord>>(
                   [&](SqlSession& session, std::optional<DedupeRecord>& found) -> Result<void> {
                     HOLDFAST_TRY(found, find_dedupe(session, call.caller.workspace.mesh_id,
                                                     call.caller.member_id, id));
                     return {};
                   }));
  if (!record.has_value()) {
    return Error{ErrorCode::not_found, "no message of yours has this id"};
  }
  return reply_with(view_of(*record, id));
}

Result<BrokerReply> get_features(BrokerCall& call) {
  HOLDFAST_TRY(const FeaturesRequest request, call.query.read<FeaturesRequest>());
  return reply_with(features_of(call.service, call.caller.workspace, request.require));
}

Result<BrokerReply> get_history(BrokerCall& call) {
  HOLDFAST_TRY(const HistoryRequest request, call.query.read<HistoryRequest>());
  const Destination destination{request.kind, request.ref};
  HOLDFAST_CHECK(check_destination(destination));
  const std::uint64_t after = request.after.value_or(0);
  const auto limit = static_cast<std::uint32_t>(request.limit.value_or(kUsualEntries));
  const Workspace& workspace = call.caller.workspace;
  HOLDFAST_TRY(
      const auto entries,
      call.read<std::vector<HistoryEntry>>([&](SqlSession& session,
                                               std::vector<HistoryEntry>& found) -> Result<void> {
        HOLDFAST_TRY(const auto refused, check_readable(session, call.caller, destination));
        if (refused.has_value()) {
          return rejected(*refused, destination_detail(*refused, destination));
        }
        HOLDFAST_TRY(found, read_history(session, workspace.mesh_id, destination, after, limit));
        return {};
      }));
  HistoryResponse response;
  response.next_after = after;
  std::size_t bytes = 0;
  for (const HistoryEntry& entry : entries) {
    if (bytes > kPageBytes) {
      break;
    }
    bytes += entry.body.size();
    response.messages.push_back(view_of(entry, workspace.body_form));
    response.next_after = entry.history_seq;
  }
  return reply_with(response);
}

Result<BrokerReply> get_mentions(BrokerCall& call) {
  HOLDFAST_TRY(const MentionsRequest request, call.query.read<MentionsRequest>());
  if (!request.after.empty()) {
    HOLDFAST_CHECK(Ulid::parse(request.after));
  }
  const auto limit = static_cast<std::uint32_t>(request.limit.value_or(kUsualEntries));
  HOLDFAST_TRY(const auto entries,
               call.read<std::vector<MentionEntry>>(
                   [&](SqlSession& session, std::vector<MentionEntry>& found) -> Result<void> {
                     HOLDFAST_TRY(found, read_mentions(session, call.caller.workspace.mesh_id,
                                                       call.caller.pubkey, request.after, limit));
                     return {};
                   }));
  MentionsResponse response{views_of(entries), request.after};
  if (!entries.empty()) {
    response.next_after = entries.back().broker_message_id;
  }
  return reply_with(response);
}

// For the administrator.
Result<BrokerReply> redact(BrokerCall& call) {
  HOLDFAST_CHECK(read_body<RedactRequest>(call));
  HOLDFAST_TRY(const Ulid id, Ulid::parse(call.arguments.at(1)));
  HOLDFAST_TRY(const auto redacted,
               call.write<RedactedMessage>([&](SqlSession& session,
                                               RedactedMessage& message) -> Result<void> {
                 HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
                 HOLDFAST_TRY(message, redact_message(session, entry.workspace.mesh_id, id.text(),
                                                      call.service.clock.now()));
                 return {};
               }));
  return reply_with(view_of(redacted));
}

}  // namespace holdfast::delivery
