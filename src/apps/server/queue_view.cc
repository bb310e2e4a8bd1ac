#include "apps/server/queue_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "runs/run/redact.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

// A worker that called within this time is expected to call again.
constexpr std::int64_t kLatelyMs = 90'000;

QueueView view_of(const SharedText& name, DispatchProjection& queue, TimeMs now) {
  queue.advance(now);
  QueueView view;
  view.name = name.str();
  view.claimed = queue.held().size();
  view.anomalies = queue.anomalies().size();
  for (const auto& [type, circuit] : queue.circuits()) {
    view.open_circuits += circuit.is_open() ? 1U : 0U;
  }
  for (const auto& [handler, waiting] : queue.waiting(now)) {
    if (handler.view() == kTimerHandler) {
      view.sleeping = waiting.visible + waiting.later;
      continue;
    }
    HandlerView& found = view.handlers.emplace_back();
    found.handler = handler.str();
    found.visible = waiting.visible;
    found.expired = waiting.expired;
    found.later = waiting.later;
    found.held_back = waiting.held_back;
    found.next_at = waiting.next_at;
    if (waiting.first != nullptr) {
      found.oldest_at = waiting.first->visible_at;
    }
  }
  return view;
}

template <typename List>
bool names(const List& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(),
                     [&](const SharedText& item) { return item.view() == name; });
}

// Why visible attempts of a handler are not being executed.
void write_blocked(JsonWriter& json, const QueueView& queue, const HandlerView& waiting,
                   const std::vector<KnownWorker>& workers, TimeMs now) {
  const auto able = std::count_if(workers.begin(), workers.end(), [&](const KnownWorker& worker) {
    return (worker.polling > 0 || now.value - worker.last_seen_at.value < kLatelyMs) &&
           (worker.queues.empty() || names(worker.queues, queue.name)) &&
           names(worker.handlers, waiting.handler);
  });
  const auto write = [&](std::string_view reason, std::size_t count, const std::string& summary) {
    json.begin_object().member("reason", reason).member("handler", waiting.handler);
    json.member("count", static_cast<std::uint64_t>(count)).member("summary", summary).end_object();
  };
  if (waiting.expired > 0) {
    write("lease_expired", waiting.expired,
          fmt::format("{} of handler {} had a worker that stopped responding",
                      counted(waiting.expired, "attempt"), waiting.handler));
  }
  const std::size_t visible = waiting.visible - waiting.expired;
  if (visible > 0 && able == 0) {
    write("no_worker", visible,
          fmt::format("no active worker has handler {} for queue {}", waiting.handler, queue.name));
  } else if (visible > 0) {
    write("workers_busy", visible,
          able == 1 ? fmt::format("the only worker for handler {} is busy", waiting.handler)
                    : fmt::format("all {} workers for handler {} are busy", able, waiting.handler));
  }
  if (waiting.held_back > 0) {
    write("circuit_open", waiting.held_back,
          fmt::format("{} of handler {} {} behind an open circuit breaker",
                      counted(waiting.held_back, "attempt"), waiting.handler,
                      waiting.held_back == 1 ? "waits" : "wait"));
  }
  if (waiting.later > 0) {
    write("scheduled_later", waiting.later,
          fmt::format("{} of handler {} {} scheduled for later", counted(waiting.later, "attempt"),
                      waiting.handler, waiting.later == 1 ? "is" : "are"));
  }
}

void write_queue(JsonWriter& json, const QueueView& queue, const std::vector<KnownWorker>& workers,
                 TimeMs now) {
  const HandlerView total = queue.total();
  const auto count = [](std::size_t number) { return static_cast<std::uint64_t>(number); };
  json.begin_object().member("name", queue.name).member("visible", count(total.visible));
  json.member("scheduled", count(total.later)).member("claimed", count(queue.claimed));
  json.member("expired", count(total.expired)).member("sleeping", count(queue.sleeping));
  json.member("anomalies", count(queue.anomalies));
  if (total.oldest_at.has_value()) {
    json.member("oldest_age_ms", std::max<std::int64_t>(0, now.value - total.oldest_at->value));
  }
  if (total.next_at.has_value()) {
    json.member("next_visible_at", total.next_at->value);
  }
  if (const auto& backend = queue.backend) {
    json.object("backend", [&] {
      json.member("reachable", backend->reachable);
      json.optional("unreachable_since", backend->unreachable_since);
      json.optional("next_try_at", backend->next_try_at);
    });
  }
  json.key("waiting").begin_array();
  for (const HandlerView& waiting : queue.handlers) {
    if (waiting.visible > 0) {
      json.begin_object().member("handler", waiting.handler);
      json.member("count", count(waiting.visible)).member("oldest_at", waiting.oldest_at->value);
      json.end_object();
    }
  }
  json.end_array().key("blocked").begin_array();
  for (const HandlerView& waiting : queue.handlers) {
    write_blocked(json, queue, waiting, workers, now);
  }
  json.end_array().end_object();
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<SharedText>& texts) {
  json.key(key).begin_array();
  for (const SharedText& text : texts) {
    json.string(text.view());
  }
  json.end_array();
}

void write_lease(JsonWriter& json, const LeaseView& lease) {
  json.begin_object().member("run_id", lease.run_id).member("workflow", lease.workflow);
  json.member("step", lease.step).member("queue", lease.queue);
  json.member("runnable_key", lease.runnable_key).member("claimed_at", lease.claimed_at.value);
  json.member("lease_until", lease.lease_until.value);
  if (!lease.progress.empty()) {
    json.key("progress").raw(JsonText::trusted(std::string(redact(lease.progress).view())));
  }
  json.end_object();
}

}  // namespace

HandlerView QueueView::total() const {
  HandlerView total;
  const auto earlier = [](std::optional<TimeMs>& found, const std::optional<TimeMs>& other) {
    if (other.has_value()) {
      found = std::min(found.value_or(*other), *other);
    }
  };
  for (const HandlerView& waiting : handlers) {
    total.visible += waiting.visible;
    total.expired += waiting.expired;
    total.later += waiting.later;
    total.held_back += waiting.held_back;
    earlier(total.oldest_at, waiting.oldest_at);
    earlier(total.next_at, waiting.next_at);
  }
  return total;
}

std::vector<QueueView> queue_views(Turn& turn, const std::string& only) {
  std::vector<QueueView> views;
  for (const auto& [name, queue] : turn.state().queues().all()) {
    if (only.empty() || name.view() == only) {
      views.push_back(view_of(name, *queue, turn.now()));
    }
  }
  return views;
}

void add_backends(std::vector<QueueView>& queues, const std::vector<LeaseHealth>& backends,
                  const std::string& only) {
  for (const LeaseHealth& health : backends) {
    if (!only.empty() && health.queue != only) {
      continue;
    }
    auto at = std::lower_bound(
        queues.begin(), queues.end(), health.queue,
        [](const QueueView& queue, const std::string& name) { return queue.name < name; });
    if (at == queues.end() || at->name != health.queue) {
      at = queues.insert(at, QueueView());
      at->name = health.queue;
    }
    at->backend = {!health.why.has_value(), health.unreachable_since, health.next_try_at};
  }
}

std::string queues_text(const std::vector<QueueView>& queues,
                        const std::vector<KnownWorker>& workers, TimeMs now) {
  JsonWriter json;
  json.begin_object().key("queues").begin_array();
  for (const QueueView& queue : queues) {
    write_queue(json, queue, workers, now);
  }
  json.end_array().end_object();
  return std::move(json).take();
}

std::string queue_text(const QueueView& queue, const std::vector<KnownWorker>& workers,
                       TimeMs now) {
  JsonWriter json;
  write_queue(json, queue, workers, now);
  return std::move(json).take();
}

std::vector<LeaseView> lease_views(Turn& turn) {
  std::vector<LeaseView> leases;
  for (const auto& [name, queue] : turn.state().queues().all()) {
    queue->advance(turn.now());
    for (const Attempt* attempt : queue->held()) {
      leases.push_back({attempt->claim->owner_id.str(), to_string(attempt->run_id),
                        attempt->workflow.str(), attempt->step.str(), name.str(),
                        attempt->runnable_key.str(), attempt->claim->claimed_at,
                        attempt->claim->lease_until, attempt->claim->progress});
    }
  }
  std::stable_sort(leases.begin(), leases.end(), [](const auto& left, const auto& right) {
    return left.claimed_at < right.claimed_at;
  });
  return leases;
}

std::string workers_text(const std::vector<KnownWorker>& workers,
                         const std::vector<LeaseView>& leases) {
  std::map<std::string, std::vector<const LeaseView*>> by_owner;
  for (const LeaseView& lease : leases) {
    by_owner[lease.owner].push_back(&lease);
  }
  JsonWriter json;
  const auto write_leases = [&](const std::string& id) {
    json.key("leases").begin_array();
    for (const LeaseView* lease : by_owner[id]) {
      write_lease(json, *lease);
    }
    json.end_array();
  };
  json.begin_object().key("workers").begin_array();
  for (const KnownWorker& worker : workers) {
    json.begin_object().member("id", worker.id).member("name", worker.name);
    json.member("version", worker.version);
    write_texts(json, "queues", worker.queues);
    write_texts(json, "handlers", worker.handlers);
    json.member("first_seen_at", worker.first_seen_at.value);
    json.member("last_seen_at", worker.last_seen_at.value);
    json.member("polling", worker.polling > 0);
    write_leases(worker.id);
    json.end_object();
    by_owner.erase(worker.id);
  }
  // Other holders of claims: embedded engines and workers of other servers.
  for (const auto& [owner, held] : std::map(by_owner)) {
    json.begin_object().member("id", owner).member("name", "").member("version", "");
    write_texts(json, "queues", {});
    write_texts(json, "handlers", {});
    json.member("polling", false);
    write_leases(owner);
    json.end_object();
  }
  json.end_array().end_object();
  return std::move(json).take();
}

}  // namespace holdfast
