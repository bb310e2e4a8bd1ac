// The operations on what the daemon has received.
#include <algorithm>

#include "apps/daemon/daemon_service.h"
#include "apps/daemon/inbox_view.h"
#include "base/quote.h"
#include "base/text.h"
#include "delivery/api/directory_requests.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMostSeenIds = 10'000;

Result<std::uint64_t> message_number(const std::string& text) {
  const auto number = parse_decimal(text);
  return number.has_value()
             ? Result<std::uint64_t>(*number)
             : Error{ErrorCode::not_found, "there is no message " + quote(text) + " in the inbox"};
}

InboxFilter filter_of(const InboxRequest& request) {
  InboxFilter filter;
  filter.after = request.after.value_or(0);
  if (request.since.has_value()) {
    filter.since = TimeMs{static_cast<std::int64_t>(*request.since)};
  }
  filter.topic = request.topic;
  filter.from = request.from;
  filter.seen = request.unread ? InboxFilter::Seen::unread : InboxFilter::Seen::any;
  filter.order = request.order == InboxOrder::oldest_first ? InboxFilter::Order::oldest_first
                                                           : InboxFilter::Order::newest_first;
  filter.limit = request.limit.value_or(kUsualInboxMessages);
  return filter;
}

}  // namespace

InboxMessageView view_of_message(const InboxMessage& message) {
  InboxMessageView view;
  view.id = message.id;
  view.mesh = message.mesh;
  view.destination = message.destination;
  view.sender_pubkey = message.sender_pubkey;
  view.sender_name = message.sender_name;
  view.client_message_id = message.client_message_id;
  view.broker_message_id = message.broker_message_id;
  view.priority = message.priority;
  view.reply_to_id = message.reply_to_id;
  if (!message.meta.empty()) {
    view.meta = Payload::trusted(message.meta);
  }
  view.body = message.body;
  view.redacted = message.redacted;
  view.history_seq = message.history_seq;
  view.created_at = message.created_at;
  view.received_at = message.received_at;
  view.seen_at = message.seen_at;
  return view;
}

Result<DaemonReply> list_inbox(DaemonCall& call) {
  HOLDFAST_TRY(const auto request, call.query.read<InboxRequest>());
  const InboxFilter filter = filter_of(request);
  HOLDFAST_TRY(const auto messages, call.service.inbox.list(filter));
  InboxPage page;
  std::vector<std::uint64_t> ids;
  page.next_after = filter.after;
  for (const InboxMessage& message : messages) {
    page.messages.push_back(view_of_message(message));
    page.next_after = std::max(page.next_after, message.id);
    ids.push_back(message.id);
  }
  if (request.mark_seen) {
    HOLDFAST_CHECK(call.service.inbox.mark_seen(ids));
  }
  HOLDFAST_TRY(const InboxCounts counts, call.service.inbox.counts());
  page.unread = counts.unread;
  return reply_with_view(page);
}

Result<DaemonReply> show_inbox_message(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const std::uint64_t id, message_number(call.arguments.at(0)));
  HOLDFAST_TRY(const InboxMessage message, call.service.inbox.find(id));
  return reply_with_view(view_of_message(message));
}

Result<DaemonReply> mark_inbox_seen(DaemonCall& call) {
  HOLDFAST_TRY(const auto request, read_json_body<InboxSeenRequest>(call));
  if (request.ids.empty() == !request.up_to.has_value() || request.ids.size() > kMostSeenIds) {
    return Error{ErrorCode::invalid_argument, "give either ids, at most 10000, or up_to"};
  }
  InboxSeenView view;
  if (request.up_to.has_value()) {
    HOLDFAST_TRY(view.marked, call.service.inbox.mark_seen_up_to(*request.up_to));
  } else {
    HOLDFAST_TRY(view.marked, call.service.inbox.mark_seen(request.ids));
  }
  return reply_with_view(view);
}

Result<DaemonReply> delete_inbox_message(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const std::uint64_t id, message_number(call.arguments.at(0)));
  HOLDFAST_CHECK(call.service.inbox.remove(id));
  return reply_with_view(DeletedResponse{call.arguments.at(0)});
}

// The response of the exchange itself is the stream, unless it is refused.
Result<void> begin_events(DaemonService& service, const net::ExchangePtr& exchange) {
  const net::Request& request = exchange->request();
  HOLDFAST_CHECK(service.access.check(request, service.clock.now().value));
  HOLDFAST_TRY(Query query, Query::parse(request.query));
  HOLDFAST_TRY(const auto given, query.read<EventsRequest>());
  const std::string_view header = request.header("Last-Event-ID");
  const std::string_view after = header.empty() ? std::string_view(given.after) : header;
  std::optional<EventPosition> position;
  if (!after.empty()) {
    position = EventPosition::parse(after);
    if (!position.has_value()) {
      return Error{ErrorCode::invalid_argument,
                   "after, or Last-Event-ID, is the id of an event or the number of a message"};
    }
  }
  return service.events.listen(position, [&] {
    net::Response head;
    head.content_type = "text/event-stream";
    head.headers.push_back({"Cache-Control", "no-store"});
    return exchange->stream(std::move(head));
  });
}

void serve_events(DaemonService& service, const net::ExchangePtr& exchange) {
  const auto begun = begin_events(service, exchange);
  int status = 200;
  if (!begun.ok()) {
    net::Response response = refused(service, exchange->request(), begun.error());
    status = response.status;
    exchange->reply(std::move(response));
  }
  service.counters.answered("events", status, transport_of(exchange->request()));
}

}  // namespace holdfast::delivery
