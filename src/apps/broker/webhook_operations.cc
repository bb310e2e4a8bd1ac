// The operations on webhooks, for the administrator.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/broker/directory_calls.h"
#include "apps/broker/webhook_sender.h"
#include "apps/broker/webhook_url.h"
#include "base/quote.h"
#include "delivery/api/webhook_views.h"
#include "delivery/contract/message_id.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMostDescription = 500;
constexpr std::uint64_t kUsualOverlapSeconds = 86'400;
constexpr std::uint32_t kReplayRows = 1000;  // of one request
constexpr std::uint32_t kUsualInFlight = 4;

Error bad_field(std::string_view field, std::string text) {
  return Error{ErrorCode::invalid_argument, std::move(text)}.with("field", std::string(field));
}

const net::AddressPolicy* policy_of(const BrokerService& service) {
  return service.webhooks == nullptr ? nullptr : &service.webhooks->addresses();
}

Result<WebhookEndpoint> get_webhook_named(SqlSession& session, const BrokerCall& call) {
  HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
  const std::string& id = call.arguments.at(1);
  HOLDFAST_TRY(auto found, find_webhook(session, entry.workspace.mesh_id, id));
  if (!found.has_value()) {
    return Error{ErrorCode::not_found, fmt::format("there is no webhook {}", quote(id))};
  }
  return *std::move(found);
}

// Changes the webhook of the path, and gives what it is afterwards.
template <typename Change>
Result<WebhookView> change_named(BrokerCall& call, const Change& change) {
  const TimeMs now = call.service.clock.now();
  HOLDFAST_TRY(const auto view, call.write<WebhookView>([&](SqlSession& session,
                                                            WebhookView& changed) -> Result<void> {
    HOLDFAST_TRY(const WebhookEndpoint before, get_webhook_named(session, call));
    HOLDFAST_CHECK(change(session, before));
    HOLDFAST_TRY(const WebhookEndpoint after, get_webhook_named(session, call));
    changed = view_of(after, now);
    return {};
  }));
  call.service.webhooks_changed();
  return view;
}

template <typename T, typename Read>
Result<T> read_named(BrokerCall& call, const Read& read) {
  return call.read<T>([&](SqlSession& session, T& value) -> Result<void> {
    HOLDFAST_TRY(const WebhookEndpoint endpoint, get_webhook_named(session, call));
    HOLDFAST_TRY(value, read(session, endpoint));
    return {};
  });
}

// As they are stored: members by their keys, sorted, each once.
Result<std::vector<Destination>> known_destinations(SqlSession& session, const std::string& mesh_id,
                                                    std::vector<Destination> wanted) {
  if (wanted.size() > kMostWebhookDestinations) {
    return bad_field("destinations", fmt::format("a webhook names at most {} destinations",
                                                 kMostWebhookDestinations));
  }
  for (Destination& one : wanted) {
    switch (one.kind) {
      case DestinationKind::topic:
        HOLDFAST_CHECK(get_topic_named(session, mesh_id, one.ref));
        break;
      case DestinationKind::dm: {
        HOLDFAST_TRY(const MemberEntry member, get_member_named(session, mesh_id, one.ref));
        one.ref = member.pubkey;
        break;
      }
      case DestinationKind::queue: {
        HOLDFAST_TRY(const auto queues, list_queues(session, mesh_id));
        if (std::ranges::find(queues, one.ref, &QueueEntry::name) == queues.end()) {
          return Error{ErrorCode::not_found, fmt::format("there is no queue {}", quote(one.ref))};
        }
        break;
      }
    }
  }
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

Result<void> check_settings(const BrokerService& service, const WebhookSettings& settings) {
  HOLDFAST_CHECK(parse_webhook_url(settings.url, policy_of(service)));
  if (settings.description.size() > kMostDescription) {
    return bad_field("description",
                     fmt::format("a description has at most {} bytes", kMostDescription));
  }
  if (settings.max_in_flight == 0 || settings.max_in_flight > kMostWebhookInFlight) {
    return bad_field("max_in_flight",
                     fmt::format("max_in_flight is 1 to {}", kMostWebhookInFlight));
  }
  if (settings.rate_per_second > kMostWebhookRate) {
    return bad_field("rate_per_second",
                     fmt::format("rate_per_second is at most {}", kMostWebhookRate));
  }
  return {};
}

// A number beyond any limit stays beyond it.
std::uint32_t small_number(std::uint64_t number) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, UINT32_MAX));
}

Result<WebhookSecret> secret_of(BrokerService& service, const std::string& given) {
  if (!given.empty()) {
    return WebhookSecret::parse(given);
  }
  std::array<std::byte, 32> bytes{};
  service.random.fill(bytes);
  return WebhookSecret::from_bytes(bytes);
}

}  // namespace

Result<BrokerReply> list_all_webhooks(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  const TimeMs now = call.service.clock.now();
  HOLDFAST_TRY(const auto list, call.read<WebhookList>([&](SqlSession& session,
                                                           WebhookList& found) -> Result<void> {
    HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
    HOLDFAST_TRY(const auto endpoints, list_webhooks(session, entry.workspace.mesh_id));
    for (const WebhookEndpoint& endpoint : endpoints) {
      found.webhooks.push_back(view_of(endpoint, now));
    }
    return {};
  }));
  return reply_with(list);
}

Result<BrokerReply> add_webhook(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<CreateWebhookRequest>(call));
  HOLDFAST_TRY(const WebhookSecret secret, secret_of(call.service, request.secret));
  WebhookEndpoint endpoint;
  endpoint.endpoint_id = new_id(call.service);
  endpoint.created_at = endpoint.state_at = call.service.clock.now();
  endpoint.settings.url = request.url;
  endpoint.settings.description = request.description;
  endpoint.settings.max_in_flight = small_number(request.max_in_flight.value_or(kUsualInFlight));
  endpoint.settings.rate_per_second = small_number(request.rate_per_second.value_or(0));
  HOLDFAST_CHECK(check_settings(call.service, endpoint.settings));
  HOLDFAST_CHECK(call.service.store.write([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
    endpoint.mesh_id = entry.workspace.mesh_id;
    HOLDFAST_TRY(endpoint.settings.destinations,
                 known_destinations(session, endpoint.mesh_id, request.destinations));
    return create_webhook(session, endpoint, secret);
  }));
  call.service.webhooks_changed();
  return reply_with(WebhookCreated{view_of(endpoint, endpoint.created_at), secret.text()},
                    kStatusCreated);
}

Result<BrokerReply> get_webhook(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(
      const auto endpoint,
      read_named<WebhookEndpoint>(call, [](SqlSession& /*session*/, const WebhookEndpoint& found) {
        return Result<WebhookEndpoint>(found);
      }));
  return reply_with(view_of(endpoint, call.service.clock.now()));
}

Result<BrokerReply> update_webhook(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<UpdateWebhookRequest>(call));
  HOLDFAST_TRY(
      const WebhookView view,
      change_named(call, [&](SqlSession& session, const WebhookEndpoint& before) -> Result<void> {
        WebhookSettings settings = before.settings;
        settings.url = request.url.value_or(settings.url);
        settings.description = request.description.value_or(settings.description);
        settings.max_in_flight =
            small_number(request.max_in_flight.value_or(settings.max_in_flight));
        settings.rate_per_second =
            small_number(request.rate_per_second.value_or(settings.rate_per_second));
        if (request.destinations.has_value()) {
          HOLDFAST_TRY(settings.destinations,
                       known_destinations(session, before.mesh_id, *request.destinations));
        }
        HOLDFAST_CHECK(check_settings(call.service, settings));
        return change_webhook(session, before, settings);
      }));
  return reply_with(view);
}

Result<BrokerReply> remove_webhook(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_CHECK(call.service.store.write([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(const WebhookEndpoint endpoint, get_webhook_named(session, call));
    return delete_webhook(session, endpoint.endpoint_id);
  }));
  call.service.webhooks_changed();
  return reply_with(DeletedResponse{call.arguments.at(1)});
}

Result<BrokerReply> enable_one_webhook(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<EnableWebhookRequest>(call));
  const WebhookBacklog backlog = request.skip ? WebhookBacklog::skip : WebhookBacklog::keep;
  const TimeMs now = call.service.clock.now();
  HOLDFAST_TRY(const WebhookView view,
               change_named(call, [&](SqlSession& session, const WebhookEndpoint& before) {
                 return enable_webhook(session, before.endpoint_id, backlog, now);
               }));
  return reply_with(view);
}

Result<BrokerReply> disable_one_webhook(BrokerCall& call) {
  HOLDFAST_CHECK(read_body<DisableWebhookRequest>(call));
  const TimeMs now = call.service.clock.now();
  HOLDFAST_TRY(const WebhookView view,
               change_named(call, [&](SqlSession& session, const WebhookEndpoint& before) {
                 return disable_webhook(session, before.endpoint_id, DisableReason::by_operator,
                                        now);
               }));
  return reply_with(view);
}

Result<BrokerReply> rotate_webhook(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<RotateWebhookRequest>(call));
  HOLDFAST_TRY(const WebhookSecret secret, secret_of(call.service, request.secret));
  const std::uint64_t overlap = request.overlap_seconds.value_or(kUsualOverlapSeconds);
  if (overlap > kMostOverlapSeconds) {
    return bad_field("overlap_seconds",
                     fmt::format("overlap_seconds is at most {}", kMostOverlapSeconds));
  }
  const TimeMs until{call.service.clock.now().value +
                     static_cast<std::int64_t>(overlap) * kSecondsMs};
  HOLDFAST_TRY(WebhookView view,
               change_named(call, [&](SqlSession& session, const WebhookEndpoint& before) {
                 return rotate_webhook_secret(session, before.endpoint_id, secret, until);
               }));
  return reply_with(WebhookCreated{std::move(view), secret.text()});
}

Result<BrokerReply> list_deliveries_of_webhook(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, call.query.read<WebhookDeliveriesRequest>());
  using Entries = std::vector<WebhookDeliveryEntry>;
  const auto limit = static_cast<std::uint32_t>(request.limit.value_or(kUsualEntries));
  HOLDFAST_TRY(const auto entries,
               read_named<Entries>(call, [&](SqlSession& session, const WebhookEndpoint& of) {
                 return list_webhook_deliveries(
                     session, {.endpoint_id = of.endpoint_id,
                               .state = enum_from<WebhookDeliveryState>(to_text(request.state)),
                               .after_id = request.after,
                               .limit = limit});
               }));
  WebhookDeliveryList list;
  for (const WebhookDeliveryEntry& entry : entries) {
    list.deliveries.push_back(view_of(entry));
  }
  list.next_after = entries.empty() ? request.after : entries.back().broker_message_id;
  return reply_with(list);
}

Result<BrokerReply> list_attempts_of_webhook(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, call.query.read<WebhookAttemptsRequest>());
  using Entries = std::vector<WebhookAttemptEntry>;
  HOLDFAST_TRY(const auto entries,
               read_named<Entries>(call, [&](SqlSession& session, const WebhookEndpoint& of) {
                 return list_webhook_attempts(
                     session,
                     {.endpoint_id = of.endpoint_id,
                      .broker_message_id = request.message,
                      .before_id = request.before.value_or(0),
                      .limit = static_cast<std::uint32_t>(request.limit.value_or(kUsualEntries))});
               }));
  WebhookAttemptList list;
  for (const WebhookAttemptEntry& entry : entries) {
    list.attempts.push_back(view_of(entry));
  }
  list.next_before = entries.empty() ? request.before.value_or(0) : entries.back().attempt_id;
  return reply_with(list);
}

Result<BrokerReply> replay_to_webhook(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<WebhookReplayRequest>(call));
  const bool one = !request.broker_message_id.empty();
  if (one == (request.from.has_value() || request.until.has_value())) {
    return bad_field("broker_message_id",
                     "give either broker_message_id, or from and until as a range of time");
  }
  if (one) {
    HOLDFAST_CHECK(Ulid::parse(request.broker_message_id));
  }
  const TimeMs now = call.service.clock.now();
  WebhookReplay replay;
  replay.broker_message_id = request.broker_message_id;
  replay.from = request.from.value_or(TimeMs{0});
  replay.until = request.until.value_or(TimeMs{now.value + 1});
  if (!one && (replay.from.value < 0 || replay.until <= replay.from)) {
    return bad_field("until", "until is after from");
  }
  replay.choice = request.choice == WebhookReplayChoice::dead ? WebhookReplay::Choice::dead
                                                              : WebhookReplay::Choice::all;
  replay.after_id = request.after;
  replay.limit = kReplayRows;
  WebhookReplayed replayed;
  const auto work = [&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(const WebhookEndpoint endpoint, get_webhook_named(session, call));
    replay.endpoint_id = endpoint.endpoint_id;
    replay.mesh_id = endpoint.mesh_id;
    HOLDFAST_TRY(replayed, request.preview ? preview_webhook_replay(session, replay)
                                           : replay_webhook(session, replay, now));
    return {};
  };
  HOLDFAST_CHECK(request.preview ? call.service.store.scan(work) : call.service.store.write(work));
  if (one && replayed.messages + replayed.sending == 0) {
    return Error{ErrorCode::not_found,
                 fmt::format("the webhook has no message {}: it does not exist, or the webhook "
                             "does not name its destination",
                             quote(request.broker_message_id))};
  }
  if (!request.preview) {
    call.service.webhooks_changed();
  }
  WebhookReplayResponse response = view_of(replayed);
  response.preview = request.preview;
  return reply_with(response);
}

}  // namespace holdfast::delivery
