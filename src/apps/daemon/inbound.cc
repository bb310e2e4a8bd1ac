#include "apps/daemon/inbound.h"

#include "base/json_slice.h"
#include "base/json_value.h"
#include "delivery/api/push_frames.h"
#include "delivery/contract/message_id.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMostTextBytes = 1'048'576;
constexpr std::size_t kMostNameBytes = 1024;

bool is_sound(const InboxMessage& message, const InboundOwner& owner) {
  const bool own =
      message.destination.kind != DestinationKind::dm || message.destination.ref == owner.pubkey;
  return own && message.mesh == owner.mesh && is_public_key(message.sender_pubkey) &&
         ClientMessageId::parse(message.client_message_id).ok() &&
         !message.broker_message_id.empty() && message.sender_name.size() <= kMostNameBytes &&
         message.body.size() <= kMostTextBytes && check_destination(message.destination).ok();
}

template <typename View>
InboxMessage message_of_view(const View& view, const InboundOwner& owner) {
  InboxMessage message;
  message.recipient = owner.pubkey;
  message.sender_pubkey = view.sender_pubkey;
  message.sender_name = view.sender_name;
  message.client_message_id = view.client_message_id;
  message.broker_message_id = view.broker_message_id;
  message.reply_to_id = view.reply_to_id;
  message.meta = std::string(view.meta.view());
  message.body = view.body.value_or("");
  message.redacted = view.redacted;
  message.history_seq = view.history_seq;
  message.created_at = view.created_at;
  return message;
}

void take_delivery(std::string_view json, const InboundOwner& owner, Inbound& inbound) {
  const auto view = from_json<DeliveryView>(json);
  if (!view.ok()) {
    ++inbound.invalid;
    const auto loose = Json::parse(json);
    const auto id = loose.ok() ? loose.value().integer("delivery_id") : std::nullopt;
    if (id.value_or(0) > 0) {
      inbound.delivery_ids.push_back(static_cast<std::uint64_t>(*id));
    }
    return;
  }
  inbound.delivery_ids.push_back(view.value().delivery_id);
  InboxMessage message = message_of_view(view.value(), owner);
  message.mesh = view.value().mesh;
  message.destination = view.value().destination;
  message.priority = view.value().priority;
  if (is_sound(message, owner)) {
    inbound.messages.push_back(std::move(message));
  } else {
    ++inbound.invalid;
  }
}

void take_history(std::string_view json, const Destination& destination, const InboundOwner& owner,
                  Inbound& inbound) {
  const auto view = from_json<HistoryMessage>(json);
  if (!view.ok()) {
    ++inbound.invalid;
    return;
  }
  if (view.value().pruned || view.value().redacted || view.value().sender_pubkey == owner.pubkey) {
    return;
  }
  InboxMessage message = message_of_view(view.value(), owner);
  message.mesh = owner.mesh;
  message.destination = destination;
  message.priority = view.value().priority.value_or(Priority::next);
  if (is_sound(message, owner)) {
    inbound.messages.push_back(std::move(message));
  } else {
    ++inbound.invalid;
  }
}

// Calls `take` with each item of the list.
template <typename Take>
Result<void> each_item(std::string_view object, std::string_view name, const Take& take) {
  JsonSlicer members(object);
  while (const auto member = members.next()) {
    if (member->name != name || !member->value.starts_with('[')) {
      continue;
    }
    JsonSlicer items(member->value);
    while (const auto item = items.next()) {
      take(item->value);
    }
    return {};
  }
  return Error{ErrorCode::invalid_argument, "there is no list \"" + std::string(name) + "\""};
}

}  // namespace

Result<Inbound> read_deliveries(std::string_view json, const InboundOwner& owner) {
  HOLDFAST_TRY(const JsonText text, JsonText::parse(json));
  HOLDFAST_TRY(const Json object, Json::parse(text.view()));
  Inbound inbound;
  inbound.lease = std::string(object.text("lease"));
  HOLDFAST_CHECK(each_item(text.view(), "deliveries",
                           [&](std::string_view item) { take_delivery(item, owner, inbound); }));
  return inbound;
}

Result<Inbound> read_history_frame(std::string_view json, const InboundOwner& owner) {
  HOLDFAST_TRY(const JsonText text, JsonText::parse(json));
  Result<Destination> destination = Destination{};
  JsonSlicer members(text.view());
  while (const auto member = members.next()) {
    if (member->name == "destination") {
      destination = from_json<Destination>(member->value);
    }
  }
  HOLDFAST_TRY(const Destination checked, std::move(destination));
  Inbound inbound;
  HOLDFAST_CHECK(each_item(text.view(), "messages", [&](std::string_view item) {
    take_history(item, checked, owner, inbound);
  }));
  return inbound;
}

}  // namespace holdfast::delivery
