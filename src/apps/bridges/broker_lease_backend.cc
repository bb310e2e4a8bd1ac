#include "apps/bridges/broker_lease_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "apps/bridges/broker_queue_client.h"
#include "base/clock.h"
#include "base/encoding.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/random.h"
#include "holdfast/assert.h"
#include "runs/lease_backends/lease_messages.h"

namespace holdfast::bridges {

namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kLongestWait{10'000};
// A signal that another engine has claimed and not acknowledged for this long.
constexpr std::uint64_t kSignalLeaseMs = 5'000;
constexpr std::uint64_t kMostSignals = 100;
constexpr std::uint64_t kAnswerLeaseMs = 60'000;
// A worker reads its answer within this time, or claims again.
constexpr std::int64_t kAnswerLifeMs = 600'000;
constexpr std::size_t kMaxKey = 255;
constexpr std::string_view kTooOften = "taken back from lost workers too often";

// A signal as a message.
struct StoredSignal {
  std::string kind;
  std::string id;
  std::string worker;
  std::string claim;
  std::string token;
  std::string body;
  std::int64_t delay_ms = 0;

  static void visit(auto& self, auto& v) {
    v.required("kind", self.kind);
    v.required("id", self.id);
    v.optional("worker", self.worker);
    v.optional("claim", self.claim);
    v.optional("token", self.token);
    v.optional("body", self.body);
    v.optional("delay_ms", self.delay_ms);
  }
};

// An ordering key of a text of any length.
std::string key_of(std::string_view text) {
  const bool fits =
      !text.empty() && text.size() <= kMaxKey && text.find('\0') == std::string_view::npos;
  return fits ? std::string(text) : to_hex(sha256(text));
}

// What a message is to a worker or engine: LEASE/ID.
std::string reference_of(const BrokerQueueMessage& message) {
  return message.lease + "/" + message.broker_message_id;
}
BrokerQueueMessage message_of(std::string_view reference) {
  const std::size_t slash = reference.find('/');
  return slash == std::string_view::npos
             ? BrokerQueueMessage{}
             : BrokerQueueMessage{std::string(reference.substr(slash + 1)),
                                  std::string(reference.substr(0, slash)), ""};
}

std::optional<LeaseSignal> signal_of(const BrokerQueueMessage& message) {
  auto stored = from_json<StoredSignal>(message.body);
  const auto kind = stored.ok() ? signal_kind(stored.value().kind) : std::nullopt;
  if (!kind.has_value()) {
    return std::nullopt;
  }
  StoredSignal& read = stored.value();
  LeaseSignal signal;
  signal.kind = *kind;
  signal.reference = reference_of(message);
  signal.item_id = std::move(read.id);
  signal.worker = std::move(read.worker);
  signal.claim_id = std::move(read.claim);
  signal.token = std::move(read.token);
  signal.body = std::move(read.body);
  signal.delay_ms = read.delay_ms;
  return signal;
}

// What the handles of a process know of the items of a queue.
struct KnownItem {
  std::uint64_t generation = 0;  // of the newest message
  std::uint64_t taken = 0;       // how often it was taken back from a worker
  bool dead_signalled = false;
  std::optional<WorkItem> delayed;  // not sent yet
};

// One handle at a time changes the items, together with what the broker has of them.
struct SharedState {
  std::mutex items_mutex;
  std::map<std::string, std::map<std::string, KnownItem>, std::less<>> items;  // by queue and id
  std::mutex workspaces_mutex;
  std::map<std::string, std::string, std::less<>> workspaces;  // by queue
};

class BrokerLeaseBackend final : public LeaseBackend {
 public:
  BrokerLeaseBackend(const BrokerLeaseUrl& url, std::shared_ptr<SharedState> shared,
                     std::unique_ptr<BrokerQueueClient> broker)
      : url_(url), shared_(std::move(shared)), broker_(std::move(broker)) {}

  Result<std::string> epoch(std::string_view queue) override;
  Result<std::vector<Enqueued>> enqueue(std::string_view queue, std::span<const WorkItem> items,
                                        EnqueueMode mode, std::int64_t now_ms) override;
  Result<void> remove(std::string_view queue, std::span<const std::string> ids) override;
  Result<LeaseTick> tick(std::string_view queue, std::int64_t now_ms) override;
  Result<std::vector<LeaseSignal>> receive(std::string_view queue, std::size_t most,
                                           milliseconds wait) override;
  Result<void> acknowledge(std::string_view queue,
                           std::span<const std::string> references) override;
  Result<void> answer(std::string_view queue, std::span<const LeaseAnswer> answers) override;
  Result<std::optional<Delivery>> claim(std::string_view queue, std::string_view worker,
                                        std::string_view claim_id, std::string_view token,
                                        milliseconds wait) override;
  Result<std::optional<LeaseAnswer>> await_answer(std::string_view queue, const LeaseClaim& claim,
                                                  milliseconds wait) override;
  Result<std::optional<LeaseAnswer>> heartbeat(std::string_view queue, const LeaseClaim& claim,
                                               std::string_view progress) override;
  Result<void> end(std::string_view queue, const LeaseClaim& claim, SignalKind how,
                   std::string_view body, std::int64_t delay_ms) override;
  [[nodiscard]] std::string name() const override { return url_.shown; }

 private:
  using Items = std::map<std::string, KnownItem>;
  enum class Place : std::uint8_t { absent, delayed, open, dead };

  [[nodiscard]] std::string items_of(std::string_view queue) const {
    return url_.prefix + std::string(queue);
  }
  [[nodiscard]] std::string signals_of(std::string_view queue) const {
    return items_of(queue) + "-signals";
  }
  [[nodiscard]] std::string answers_of(std::string_view queue) const {
    return items_of(queue) + "-answers";
  }
  static std::string message_id(std::string_view id, std::uint64_t generation) {
    return fmt::format("i-{}-{}", to_hex(sha256(id)).substr(0, 32), generation);
  }
  std::string random_id(std::string_view kind);
  Result<std::string> workspace_of(std::string_view queue);
  // Where each item is; the newest generation of those that were not known is then known.
  Result<std::vector<Place>> places(std::string_view queue, Items& known,
                                    std::span<const std::string> ids);
  Result<Enqueued> put(std::string_view queue, KnownItem& known, Place place, const WorkItem& item,
                       EnqueueMode mode, std::int64_t now_ms);
  Result<void> send_item(std::string_view queue, KnownItem& known, const WorkItem& item);
  Result<void> send_signal(std::string_view queue, const LeaseClaim& claim, SignalKind kind,
                           std::string_view body, std::int64_t delay_ms, std::string message_id);
  Result<void> signal_dead(std::string_view queue, const std::string& id, KnownItem& known);
  Result<void> signal_dead_of_broker(std::string_view queue, Items& known);

  const BrokerLeaseUrl url_;
  const std::shared_ptr<SharedState> shared_;
  std::unique_ptr<BrokerQueueClient> broker_;
  SystemRandom random_;
  SystemClock clock_;
  std::set<std::string, std::less<>> checked_;  // queues that have their signals and answers
};

std::string BrokerLeaseBackend::random_id(std::string_view kind) {
  std::array<std::byte, 16> bytes{};
  random_.fill(bytes);
  return std::string(kind) + to_hex(bytes);
}

Result<std::string> BrokerLeaseBackend::epoch(std::string_view queue) {
  HOLDFAST_TRY(const BrokerQueueStatus status, broker_->status(items_of(queue)));
  if (!checked_.contains(queue)) {
    HOLDFAST_CHECK(broker_->status(signals_of(queue)));
    HOLDFAST_CHECK(broker_->status(answers_of(queue)));
    checked_.emplace(queue);
  }
  const std::scoped_lock lock(shared_->workspaces_mutex);
  shared_->workspaces.insert_or_assign(std::string(queue), status.workspace);
  return status.life;
}

Result<std::string> BrokerLeaseBackend::workspace_of(std::string_view queue) {
  {
    const std::scoped_lock lock(shared_->workspaces_mutex);
    const auto known = shared_->workspaces.find(queue);
    if (known != shared_->workspaces.end()) {
      return known->second;
    }
  }
  HOLDFAST_TRY(const BrokerQueueStatus status, broker_->status(items_of(queue)));
  const std::scoped_lock lock(shared_->workspaces_mutex);
  return shared_->workspaces.insert_or_assign(std::string(queue), status.workspace).first->second;
}

// An earlier process may have sent several generations of an item: they are looked for in turn.
Result<std::vector<BrokerLeaseBackend::Place>> BrokerLeaseBackend::places(
    std::string_view queue, Items& known, std::span<const std::string> ids) {
  std::vector<Place> places(ids.size(), Place::absent);
  std::vector<std::size_t> open;
  std::set<std::string_view> sought;  // ids that are not known: their generations are counted up
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto found = known.find(ids[i]);
    if (found != known.end() && found->second.delayed.has_value()) {
      places[i] = Place::delayed;
      continue;
    }
    if (found == known.end()) {
      known.try_emplace(ids[i]);
      sought.insert(ids[i]);
    }
    open.push_back(i);
  }
  while (!open.empty()) {
    std::vector<std::string> messages;
    for (const std::size_t i : open) {
      messages.push_back(message_id(ids[i], known.at(ids[i]).generation));
    }
    HOLDFAST_TRY(const auto states, broker_->find(items_of(queue), messages));
    std::vector<std::size_t> next;
    for (std::size_t n = 0; n < open.size(); ++n) {
      const std::size_t i = open[n];
      const bool ended = states[n] == "done" || states[n] == "discarded";
      if (ended && sought.contains(ids[i])) {
        ++known.at(ids[i]).generation;
        next.push_back(i);
      }
      places[i] = states[n] == "unknown" || ended ? Place::absent
                  : states[n] == "dead"           ? Place::dead
                                                  : Place::open;
      if (ended && !sought.contains(ids[i])) {
        ++known.at(ids[i]).generation;  // its next message needs an id of its own
      }
    }
    open = std::move(next);
  }
  return places;
}

Result<void> BrokerLeaseBackend::send_item(std::string_view queue, KnownItem& known,
                                           const WorkItem& item) {
  HOLDFAST_TRY(const std::string workspace, workspace_of(queue));
  HOLDFAST_TRY(std::string body, stored_item(item));
  HOLDFAST_CHECK(
      broker_->post(workspace, {.queue = items_of(queue),
                                .client_message_id = message_id(item.id, known.generation),
                                .body = std::move(body)}));
  known.delayed.reset();
  return {};
}

Result<Enqueued> BrokerLeaseBackend::put(std::string_view queue, KnownItem& known, Place place,
                                         const WorkItem& item, EnqueueMode mode,
                                         std::int64_t now_ms) {
  if (place == Place::dead) {
    return Enqueued::dead_lettered;
  }
  if (place != Place::absent && mode == EnqueueMode::ensure) {
    return Enqueued::present;
  }
  if (place == Place::open) {
    const bool counts = mode == EnqueueMode::redeliver;
    known.taken += counts ? 1U : 0U;
    const bool dead =
        counts && url_.options.max_deliveries > 0 && known.taken >= url_.options.max_deliveries;
    HOLDFAST_CHECK(broker_->withdraw(items_of(queue), {message_id(item.id, known.generation)},
                                     dead ? kTooOften : ""));
    if (dead) {
      HOLDFAST_CHECK(signal_dead(queue, item.id, known));
      return Enqueued::dead_lettered;
    }
    ++known.generation;
  }
  if (item.visible_at_ms > now_ms) {
    known.delayed = item;
    return Enqueued::added;
  }
  HOLDFAST_CHECK(send_item(queue, known, item));
  return Enqueued::added;
}

Result<std::vector<Enqueued>> BrokerLeaseBackend::enqueue(std::string_view queue,
                                                          std::span<const WorkItem> items,
                                                          EnqueueMode mode, std::int64_t now_ms) {
  const std::scoped_lock lock(shared_->items_mutex);
  Items& known = shared_->items[std::string(queue)];
  std::vector<std::string> ids;
  for (const WorkItem& item : items) {
    ids.push_back(item.id);
  }
  HOLDFAST_TRY(const auto found, places(queue, known, ids));
  std::vector<Enqueued> results;
  for (std::size_t i = 0; i < items.size(); ++i) {
    HOLDFAST_TRY(const Enqueued result,
                 put(queue, known.at(ids[i]), found[i], items[i], mode, now_ms));
    results.push_back(result);
  }
  return results;
}

Result<void> BrokerLeaseBackend::remove(std::string_view queue, std::span<const std::string> ids) {
  const std::scoped_lock lock(shared_->items_mutex);
  Items& known = shared_->items[std::string(queue)];
  HOLDFAST_TRY(const auto found, places(queue, known, ids));
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (found[i] == Place::open || found[i] == Place::dead) {
      messages.push_back(message_id(ids[i], known.at(ids[i]).generation));
    }
  }
  HOLDFAST_CHECK(broker_->withdraw(items_of(queue), messages, ""));
  for (const std::string& id : ids) {
    known.erase(id);
  }
  return {};
}

Result<LeaseTick> BrokerLeaseBackend::tick(std::string_view queue, std::int64_t now_ms) {
  const std::scoped_lock lock(shared_->items_mutex);
  Items& known = shared_->items[std::string(queue)];
  LeaseTick tick;
  for (auto& [id, item] : known) {
    if (item.delayed.has_value() && item.delayed->visible_at_ms <= now_ms) {
      const WorkItem due = *item.delayed;
      HOLDFAST_CHECK(send_item(queue, item, due));
    } else if (item.delayed.has_value()) {
      ++tick.delayed;
      tick.next_visible_at_ms =
          std::min(tick.next_visible_at_ms.value_or(INT64_MAX), item.delayed->visible_at_ms);
    }
  }
  HOLDFAST_TRY(const BrokerQueueStatus status, broker_->status(items_of(queue)));
  if (status.dead > 0) {
    HOLDFAST_CHECK(signal_dead_of_broker(queue, known));
  }
  tick.ready = status.ready;
  tick.delivered = status.leased;
  tick.delayed += status.delayed;
  tick.dead_letters = status.dead;
  return tick;
}

// The same signal has the same id: it is accepted once.
Result<void> BrokerLeaseBackend::signal_dead(std::string_view queue, const std::string& id,
                                             KnownItem& known) {
  LeaseClaim no_worker;
  no_worker.item_id = id;
  HOLDFAST_CHECK(send_signal(queue, no_worker, SignalKind::dead_letter, "", 0,
                             "d-" + message_id(id, known.generation)));
  known.dead_signalled = true;
  return {};
}

// Items whose leases ended too often. Those of an earlier process are found when they are ensured.
Result<void> BrokerLeaseBackend::signal_dead_of_broker(std::string_view queue, Items& known) {
  HOLDFAST_TRY(const auto dead, broker_->list_dead(items_of(queue)));
  const std::set<std::string_view> all(dead.begin(), dead.end());
  for (auto& [id, item] : known) {
    if (!item.dead_signalled && all.contains(message_id(id, item.generation))) {
      HOLDFAST_CHECK(signal_dead(queue, id, item));
    }
  }
  return {};
}

// A message that is not a signal is dropped: any member can send to the queue.
Result<std::vector<LeaseSignal>> BrokerLeaseBackend::receive(std::string_view queue,
                                                             std::size_t most, milliseconds wait) {
  HOLDFAST_TRY(const auto messages,
               broker_->claim({.queue = signals_of(queue),
                               .limit = std::min<std::uint64_t>(most, kMostSignals),
                               .wait = std::min(wait, kLongestWait),
                               .lease_ms = kSignalLeaseMs}));
  std::vector<LeaseSignal> signals;
  std::vector<std::string> foreign;
  for (const BrokerQueueMessage& message : messages) {
    auto signal = signal_of(message);
    if (signal.has_value()) {
      signals.push_back(*std::move(signal));
    } else {
      foreign.push_back(message.broker_message_id);
    }
  }
  if (!foreign.empty()) {
    HOLDFAST_CHECK(broker_->ack(signals_of(queue), messages.front().lease, foreign));
  }
  return signals;
}

Result<void> BrokerLeaseBackend::acknowledge(std::string_view queue,
                                             std::span<const std::string> references) {
  std::map<std::string, std::vector<std::string>> by_lease;
  for (const std::string& reference : references) {
    BrokerQueueMessage message = message_of(reference);
    by_lease[message.lease].push_back(std::move(message.broker_message_id));
  }
  for (const auto& [lease, ids] : by_lease) {
    HOLDFAST_CHECK(broker_->ack(signals_of(queue), lease, ids));
  }
  return {};
}

Result<void> BrokerLeaseBackend::answer(std::string_view queue,
                                        std::span<const LeaseAnswer> answers) {
  for (const LeaseAnswer& one : answers) {
    HOLDFAST_TRY(const std::string workspace, workspace_of(queue));
    HOLDFAST_CHECK(broker_->post(workspace, {.queue = answers_of(queue),
                                             .client_message_id = random_id("a-"),
                                             .body = answer_json(one),
                                             .ordering_key = key_of(one.claim_id),
                                             .expires_at_ms = clock_.now().value + kAnswerLifeMs}));
  }
  return {};
}

Result<std::optional<Delivery>> BrokerLeaseBackend::claim(std::string_view queue,
                                                          std::string_view worker,
                                                          std::string_view claim_id,
                                                          std::string_view token,
                                                          milliseconds wait) {
  const auto end = SteadyClock::now() + wait;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - SteadyClock::now());
    HOLDFAST_TRY(const auto messages,
                 broker_->claim({.queue = items_of(queue),
                                 .wait = std::clamp(left, milliseconds(0), kLongestWait),
                                 .lease_ms = url_.options.redeliver_ms}));
    if (messages.empty()) {
      if (SteadyClock::now() >= end) {
        return std::optional<Delivery>();
      }
      continue;
    }
    auto item = read_stored_item(messages.front().body);
    if (!item.ok()) {
      const BrokerQueueMessage& foreign = messages.front();
      HOLDFAST_CHECK(broker_->ack(items_of(queue), foreign.lease, {foreign.broker_message_id}));
      continue;
    }
    const LeaseClaim claim{item.value().id, reference_of(messages.front()), std::string(worker),
                           std::string(claim_id), std::string(token)};
    HOLDFAST_CHECK(send_signal(queue, claim, SignalKind::claim, "", 0, random_id("s-")));
    return std::optional(Delivery{std::move(item).value(), claim.receipt});
  }
}

Result<std::optional<LeaseAnswer>> BrokerLeaseBackend::await_answer(std::string_view queue,
                                                                    const LeaseClaim& claim,
                                                                    milliseconds wait) {
  const auto end = SteadyClock::now() + wait;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - SteadyClock::now());
    HOLDFAST_TRY(const auto messages,
                 broker_->claim({.queue = answers_of(queue),
                                 .wait = std::clamp(left, milliseconds(0), kLongestWait),
                                 .lease_ms = kAnswerLeaseMs,
                                 .key = key_of(claim.claim_id)}));
    if (!messages.empty()) {
      const BrokerQueueMessage& message = messages.front();
      HOLDFAST_CHECK(broker_->ack(answers_of(queue), message.lease, {message.broker_message_id}));
      auto answer = read_answer(message.body);
      if (answer.ok()) {
        answer.value().claim_id = claim.claim_id;
        return std::optional(std::move(answer).value());
      }
    } else if (SteadyClock::now() >= end) {
      return std::optional<LeaseAnswer>();
    }
  }
}

// The delivery itself may have been lost; the claim is not affected.
Result<std::optional<LeaseAnswer>> BrokerLeaseBackend::heartbeat(std::string_view queue,
                                                                 const LeaseClaim& claim,
                                                                 std::string_view progress) {
  HOLDFAST_CHECK(
      broker_->extend(items_of(queue), message_of(claim.receipt), url_.options.redeliver_ms));
  HOLDFAST_CHECK(send_signal(queue, claim, SignalKind::heartbeat, progress, 0, random_id("s-")));
  return await_answer(queue, claim, milliseconds(0));
}

Result<void> BrokerLeaseBackend::end(std::string_view queue, const LeaseClaim& claim,
                                     SignalKind how, std::string_view body, std::int64_t delay_ms) {
  return send_signal(queue, claim, how, body, delay_ms, random_id("s-"));
}

// The signals of a worker are one lane.
Result<void> BrokerLeaseBackend::send_signal(std::string_view queue, const LeaseClaim& claim,
                                             SignalKind kind, std::string_view body,
                                             std::int64_t delay_ms, std::string message_id) {
  HOLDFAST_TRY(const JsonText json,
               to_json(StoredSignal{std::string(signal_name(kind)), claim.item_id, claim.worker,
                                    claim.claim_id, claim.token, std::string(body), delay_ms}));
  HOLDFAST_TRY(const std::string workspace, workspace_of(queue));
  HOLDFAST_CHECK(broker_->post(workspace, {.queue = signals_of(queue),
                                           .client_message_id = std::move(message_id),
                                           .body = std::string(json.view()),
                                           .ordering_key = key_of(claim.worker)}));
  return {};
}

}  // namespace

OpenLeaseBackend broker_lease_backend(const BrokerLeaseUrl& url) {
  return
      [url, shared = std::make_shared<SharedState>()]() -> Result<std::unique_ptr<LeaseBackend>> {
        HOLDFAST_TRY(auto broker, BrokerQueueClient::create(url));
        return std::unique_ptr<LeaseBackend>(
            std::make_unique<BrokerLeaseBackend>(url, shared, std::move(broker)));
      };
}

Result<OpenLeaseBackend> open_any_lease_backend(std::string_view url) {
  if (!is_broker_lease_url(url)) {
    return open_lease_backend(url);
  }
  HOLDFAST_TRY(const BrokerLeaseUrl parsed, parse_broker_lease_url(url));
  return broker_lease_backend(parsed);
}

}  // namespace holdfast::bridges
