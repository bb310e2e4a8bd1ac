#include "delivery/daemon/outbox.h"

#include <fmt/format.h>

#include <algorithm>

#include "delivery/contract/rejection.h"
#include "delivery/daemon/outbox_refusal.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint64_t kFullPercent = 95;

constexpr std::string_view kRecoverRows =
    "UPDATE outbox SET status = 'pending', attempts = attempts + 1, ambiguous = 1, "
    "lease_token = NULL, lease_until = NULL, next_attempt_at = $1i WHERE status = 'inflight'";
// A clock that was set back must not delay what waits.
constexpr std::string_view kBoundWaits =
    "UPDATE outbox SET next_attempt_at = $1i WHERE status = 'pending' AND next_attempt_at > $1i";
constexpr std::string_view kAllLanes =
    "SELECT mesh, dest_kind, dest_ref, priority, ordering_key, "
    "CASE poison_suspect WHEN 1 THEN id ELSE '' END AS parked FROM outbox "
    "WHERE status IN ('pending', 'inflight') "
    "GROUP BY mesh, dest_kind, dest_ref, priority, ordering_key, parked";

// What the fingerprint of a request to an existing row covers: the same text means the same
// destination, also when the name leads to another member today.
Destination destination_for(const Outgoing& message, const OutboxEntry& known) {
  if (message.to_text == known.to_text) {
    return known.destination;
  }
  return message.destination.value_or(Destination{DestinationKind::dm, message.to_text});
}

}  // namespace

Result<std::unique_ptr<Outbox>> Outbox::open(const std::string& path, const OutboxLimits& limits,
                                             OutboxStoreOptions options, Clock& clock,
                                             Random& random) {
  HOLDFAST_TRY(auto store, OutboxStore::open(path, std::move(options)));
  std::unique_ptr<Outbox> outbox(new Outbox(std::move(store), limits, clock, random));
  HOLDFAST_CHECK(outbox->recover());
  return outbox;
}

Result<void> Outbox::recover() {
  const std::int64_t now = clock_.now().value;
  return store_->write([&](OutboxTransaction& transaction) -> Result<void> {
    HOLDFAST_CHECK(transaction.sql.execute(kRecoverRows, {now + limits_.min_backoff_ms}));
    HOLDFAST_CHECK(transaction.sql.execute(kBoundWaits, {now + limits_.max_backoff_ms}));
    return {};
  });
}

std::string Outbox::new_ulid() {
  std::array<std::byte, 10> entropy{};
  random_.fill(entropy);
  return ulids_.next(clock_.now(), entropy).text();
}

Result<SendReply> Outbox::send(const Outgoing& message) {
  HOLDFAST_CHECK(check_outgoing(message));
  if (const std::uint64_t most = inline_bytes_; message.body.size() > most) {
    return rejected(Rejection::too_large,
                    fmt::format("the message has {} bytes; at most {}", message.body.size(), most));
  }
  return transact<SendReply>(
      [&](OutboxTransaction& transaction) { return decide(transaction, message); });
}

Result<SendReply> Outbox::decide(OutboxTransaction& transaction, const Outgoing& message) {
  HOLDFAST_CHECK(transaction.reach(OutboxFault::send_begun));
  std::optional<OutboxEntry> known;
  if (message.id.has_value()) {
    HOLDFAST_TRY(known, find_by_client_id(transaction.sql, message.id->text()));
  }
  if (known.has_value()) {
    const Digest fingerprint =
        fingerprint_of(envelope_of(message, destination_for(message, *known)));
    return SendReply{decide_send(decision_row(*known), fingerprint), known->client_message_id, {}};
  }
  if (!message.destination.has_value()) {
    return rejected(Rejection::unknown_destination,
                    fmt::format("no member with the name \"{}\" is known; use the public key",
                                message.to_text));
  }
  HOLDFAST_CHECK(check_space(transaction));
  const OutboxEntry entry = new_entry(message, *message.destination);
  HOLDFAST_CHECK(insert_outbox_entry(transaction.sql, entry));
  ++transaction.waiting;
  HOLDFAST_CHECK(transaction.reach(OutboxFault::send_inserted));
  return SendReply{decide_send(std::nullopt, entry.request_fingerprint), entry.client_message_id,
                   lane_of(entry)};
}

Result<void> Outbox::check_space(const OutboxTransaction& transaction) const {
  if (transaction.waiting >= max_waiting_) {
    return outbox_refused(
               OutboxRefusal::outbox_full,
               fmt::format("{} messages wait in the outbox already", transaction.waiting))
        .with("retry_after_s", std::uint64_t{1});
  }
  if (const std::uint64_t most = max_bytes_; transaction.bytes >= most / 100 * kFullPercent) {
    return outbox_refused(OutboxRefusal::outbox_low_on_space,
                          fmt::format("the outbox has used {} of {} bytes; `holdfast outbox "
                                      "compact` frees some",
                                      transaction.bytes, most))
        .with("retry_after_s", std::uint64_t{60});
  }
  return {};
}

OutboxEntry Outbox::new_entry(const Outgoing& message, const Destination& destination) {
  OutboxEntry entry;
  entry.id = new_ulid();
  entry.client_message_id = message.id.has_value() ? message.id->text() : new_ulid();
  entry.mesh = message.mesh;
  entry.destination = destination;
  entry.to_text = message.to_text;
  entry.priority = message.priority;
  entry.ordering_key = message.ordering_key;
  entry.reply_to_id = message.reply_to_id;
  entry.meta = message.meta;
  entry.mentions = message.mentions;
  entry.payload = message.body;
  entry.request_fingerprint = fingerprint_of(envelope_of(message, destination));
  entry.enqueued_at = clock_.now();
  return entry;
}

std::uint64_t Outbox::used_percent() const {
  return store_->bytes() * 100 / std::max<std::uint64_t>(max_bytes_, 1);
}

Result<std::vector<Lane>> Outbox::lanes() {
  std::vector<Lane> lanes;
  HOLDFAST_CHECK(store_->read([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(const SqlRows rows, sql.query(kAllLanes, {}));
    for (const auto& cells : rows) {
      const auto kind = enum_from<DestinationKind>(cells[1].bytes);
      const auto priority = enum_from<Priority>(cells[3].bytes);
      HOLDFAST_ASSERT(kind.has_value() && priority.has_value());  // the columns are checked
      lanes.push_back(
          {cells[0].bytes, *kind, cells[2].bytes, *priority, cells[4].bytes, cells[5].bytes});
    }
    return {};
  }));
  return lanes;
}

}  // namespace holdfast::delivery
