#include "delivery/broker/queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/quote.h"
#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kByOperator = "discarded by an operator";
constexpr std::string_view kBySender = "withdrawn by its sender";
constexpr std::uint32_t kLookForOne = 1;

// The settings of a queue, which is locked.
Result<QueueSettings> lock_queue(SqlSession& session, const QueueKey& key) {
  HOLDFAST_TRY(const auto found, lock_queues(session, std::span(&key, 1)));
  if (found.empty()) {
    return rejected(Rejection::unknown_destination,
                    fmt::format("there is no queue {}", quote(key.second)));
  }
  return found.begin()->second;
}

// Those that are dead, of all that were named.
Result<std::vector<PlaceRow>> read_dead(SqlSession& session, const DeadSelection& selection) {
  std::vector<PlaceRow> dead;
  if (selection.broker_message_ids.empty()) {
    HOLDFAST_TRY(const auto listed, list_dead(session, {.queue = selection.queue,
                                                        .reason = selection.reason,
                                                        .limit = selection.limit}));
    for (const QueueListEntry& entry : listed) {
      dead.push_back({entry.broker_message_id, entry.place});
    }
    return dead;
  }
  std::vector<PlaceKey> keys;
  for (const std::string& id : selection.broker_message_ids) {
    keys.push_back({selection.queue, id});
  }
  HOLDFAST_TRY(const auto places, read_places(session, keys));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (places[i].has_value() && places[i]->state == QueueState::dead) {
      dead.push_back({keys[i].broker_message_id, *places[i]});
    }
  }
  return dead;
}

Result<std::vector<Queues::Sent>> read_sent(SqlSession& session, const QueueKey& queue,
                                            std::string_view sender,
                                            const std::vector<std::string>& ids) {
  HOLDFAST_TRY(const auto known, find_sent(session, queue, sender, ids));
  std::vector<PlaceKey> keys;
  for (const auto& broker_id : known) {
    keys.push_back({queue, broker_id.value_or("")});
  }
  HOLDFAST_TRY(const auto places, read_places(session, keys));
  std::vector<Queues::Sent> sent;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    sent.push_back({ids[i], known[i].value_or(""), places[i]});
  }
  return sent;
}

bool is_open(const QueuePlace& place) {
  return place.state == QueueState::ready || place.state == QueueState::delayed ||
         place.state == QueueState::leased;
}

}  // namespace

Queues::Queues(BrokerStore& store, Clock& clock, Random& random)
    : store_(store),
      clock_(clock),
      random_(random),
      commands_([this](auto commands) { return run_group(std::move(commands)); }) {}

std::string Queues::new_lease() {
  const std::lock_guard lock(lease_mutex_);
  std::array<std::byte, 10> entropy{};
  random_.fill(entropy);
  return leases_.next(clock_.now(), entropy).text();
}

std::vector<Result<QueueReply>> Queues::run_group(std::vector<QueueCommand> commands) {
  std::vector<Result<QueueReply>> replies;
  QueueEvents events;
  const TimeMs now = clock_.now();
  auto done = store_.consume([&](SqlSession& session) -> Result<void> {
    QueueGroup group(session, now, [this] { return new_lease(); });
    HOLDFAST_CHECK(store_.reach(FaultPoint::queue_read));
    HOLDFAST_TRY(replies, group.run(commands));
    events = group.events();
    return store_.reach(FaultPoint::queue_written);
  });
  if (done.ok()) {
    count(events);
    if (events.more_ready) {
      store_.commits().notify();
    }
    done = store_.reach(FaultPoint::queue_committed);
  }
  return done.ok() ? std::move(replies)
                   : std::vector<Result<QueueReply>>(commands.size(), done.error());
}

void Queues::count(const QueueEvents& events) {
  counters_.leases_ended += events.leases_ended;
  counters_.dead += events.dead;
}

Result<QueueClaimed> Queues::claim(QueueClaim claim) {
  HOLDFAST_TRY(QueueReply reply, commands_.run(QueueCommand(std::move(claim))));
  QueueClaimed claimed = std::get<QueueClaimed>(std::move(reply));
  counters_.claimed += claimed.messages.size();
  counters_.redelivered += static_cast<std::uint64_t>(std::ranges::count_if(
      claimed.messages, [](const QueueMessage& m) { return m.delivery > 1; }));
  return claimed;
}

Result<QueueSettled> Queues::settle(QueueSettle settle) {
  const QueueSettlement::Kind kind = settle.kind;
  HOLDFAST_TRY(QueueReply reply, commands_.run(QueueCommand(std::move(settle))));
  QueueSettled settled = std::get<QueueSettled>(std::move(reply));
  counters_.fenced += settled.fenced.size();
  switch (kind) {
    case QueueSettlement::Kind::ack:
      counters_.acked += settled.settled.size();
      break;
    case QueueSettlement::Kind::nack:
      counters_.nacked += settled.settled.size();
      break;
    case QueueSettlement::Kind::extend:
      counters_.extended += settled.settled.size();
      break;
  }
  return settled;
}

Result<std::vector<std::string>> Queues::change_dead(
    const DeadSelection& selection, Preview preview,
    const std::function<QueuePlace(const QueuePlace&)>& change) {
  std::vector<std::string> ids;
  const auto work = [&](SqlSession& session) -> Result<void> {
    ids.clear();
    if (preview == Preview::no) {
      HOLDFAST_CHECK(lock_queue(session, selection.queue));
    }
    HOLDFAST_TRY(std::vector<PlaceRow> rows, read_dead(session, selection));
    for (PlaceRow& row : rows) {
      ids.push_back(row.broker_message_id);
      row.place = change(row.place);
    }
    return preview == Preview::yes ? Result<void>() : write_places(session, rows);
  };
  HOLDFAST_CHECK(preview == Preview::yes ? store_.read(work) : store_.consume(work));
  return ids;
}

Result<std::vector<std::string>> Queues::redrive(const DeadSelection& selection,
                                                 std::int64_t delay_ms, Preview preview) {
  const TimeMs now = clock_.now();
  HOLDFAST_TRY(const auto ids, change_dead(selection, preview, [&](const QueuePlace& place) {
                 return redrive_place(place, now, delay_ms);
               }));
  if (preview == Preview::no && !ids.empty()) {
    counters_.redriven += ids.size();
    store_.commits().notify();
  }
  return ids;
}

Result<std::vector<std::string>> Queues::discard(const DeadSelection& selection, Preview preview) {
  const TimeMs now = clock_.now();
  HOLDFAST_TRY(const auto ids, change_dead(selection, preview, [&](const QueuePlace& place) {
                 return discard_place(place, now, kByOperator);
               }));
  counters_.discarded += preview == Preview::no ? ids.size() : 0;
  return ids;
}

Result<std::vector<Queues::Sent>> Queues::find(const QueueKey& queue,
                                               const std::string& sender_member_id,
                                               const std::vector<std::string>& client_message_ids) {
  std::vector<Sent> sent;
  HOLDFAST_CHECK(store_.read([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(sent, read_sent(session, queue, sender_member_id, client_message_ids));
    return {};
  }));
  return sent;
}

Result<std::vector<Queues::Sent>> Queues::withdraw(
    const QueueKey& queue, const std::string& sender_member_id,
    const std::vector<std::string>& client_message_ids, const std::string& dead_reason) {
  std::vector<Sent> sent;
  std::vector<PlaceRow> rows;
  const TimeMs now = clock_.now();
  HOLDFAST_CHECK(store_.consume([&](SqlSession& session) -> Result<void> {
    rows.clear();
    HOLDFAST_CHECK(lock_queue(session, queue));
    HOLDFAST_TRY(sent, read_sent(session, queue, sender_member_id, client_message_ids));
    for (const Sent& one : sent) {
      if (one.place.has_value() && (is_open(*one.place) || one.place->state == QueueState::dead)) {
        rows.push_back({one.broker_message_id, dead_reason.empty()
                                                   ? discard_place(*one.place, now, kBySender)
                                                   : bury_place(*one.place, now, dead_reason)});
      }
    }
    return write_places(session, rows);
  }));
  (dead_reason.empty() ? counters_.discarded : counters_.dead) += rows.size();
  return sent;
}

// A queue is looked at before it is locked.
Result<QueueEvents> Queues::advance_all() {
  const TimeMs now = clock_.now();
  QueueEvents total;
  std::vector<QueueKey> due;
  HOLDFAST_CHECK(store_.read([&](SqlSession& session) -> Result<void> {
    due.clear();
    HOLDFAST_TRY(const auto keys, all_queues(session));
    for (const QueueKey& key : keys) {
      HOLDFAST_TRY(const auto found, find_due(session, key, now, kLookForOne));
      if (!found.empty()) {
        due.push_back(key);
      }
    }
    return {};
  }));
  for (const QueueKey& key : due) {
    for (bool all = false; !all;) {
      QueueEvents events;
      HOLDFAST_CHECK(store_.consume([&](SqlSession& session) -> Result<void> {
        events = {};
        HOLDFAST_TRY(const QueueSettings settings, lock_queue(session, key));
        HOLDFAST_TRY(all, advance_queue(session, key, settings, now, events));
        return {};
      }));
      count(events);
      total.leases_ended += events.leases_ended;
      total.dead += events.dead;
      total.more_ready = total.more_ready || events.more_ready;
    }
  }
  return total;
}

}  // namespace holdfast::delivery
