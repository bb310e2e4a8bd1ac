// Who is present, over HTTP.
#include "apps/broker/broker_call.h"
#include "apps/broker/push_hub.h"
#include "delivery/broker/push_rows.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMostStatusBytes = 64;
constexpr std::size_t kMostSummaryBytes = 1024;

Result<void> check_length(std::string_view field, const std::optional<std::string>& text,
                          std::size_t most) {
  return text.value_or("").size() <= most
             ? Result<void>()
             : Error{ErrorCode::invalid_argument,
                     std::string(field) + " has at most " + std::to_string(most) + " bytes"}
                   .with("field", field);
}

}  // namespace

Result<BrokerReply> get_peers(BrokerCall& call) {
  HOLDFAST_ASSERT(call.service.push != nullptr);
  HOLDFAST_CHECK(call.query.finish());
  return reply_with(PeersResponse{call.service.push->peers(call.caller)});
}

Result<BrokerReply> set_profile(BrokerCall& call) {
  HOLDFAST_ASSERT(call.service.push != nullptr);
  HOLDFAST_TRY(const auto request, read_body<ProfileRequest>(call));
  HOLDFAST_CHECK(check_length("status", request.status, kMostStatusBytes));
  HOLDFAST_CHECK(check_length("summary", request.summary, kMostSummaryBytes));
  HOLDFAST_TRY(const auto name,
               call.read<std::string>([&](SqlSession& session, std::string& found) -> Result<void> {
                 HOLDFAST_TRY(found, read_display_name(session, call.caller.member_id));
                 return {};
               }));
  return reply_with(call.service.push->set_profile(call.caller, name, request));
}

}  // namespace holdfast::delivery
