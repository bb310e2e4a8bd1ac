#include "runs/lease_adapter/lease_adapters.h"

#include <algorithm>
#include <set>

#include "base/json_writer.h"
#include "base/names.h"

namespace holdfast {

namespace {

std::string age_text(TimeMs since, TimeMs now) {
  const std::int64_t ms = std::max<std::int64_t>(0, now.value - since.value);
  return ms < 1000 ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
}

// RUN:STEP:... as the engine forms keys.
std::string_view step_of(std::string_view key) {
  const std::size_t first = key.find(':');
  const std::size_t last = key.rfind(':');
  return first == std::string_view::npos || last <= first ? key
                                                          : key.substr(first + 1, last - first - 1);
}

std::string item_summary(std::string_view step, const KnownItem& item, const LeaseHealth& health,
                         TimeMs now) {
  const std::string name(step);
  if (item.dead_letter) {
    return name + " is a dead letter of " + health.backend;
  }
  if (item.delivered_at.has_value()) {
    return name + " was delivered to " + item.delivered_to + " by " + health.backend + " " +
           age_text(*item.delivered_at, now) + " ago";
  }
  if (!item.ensured_at.has_value()) {
    return name + " is not in " + health.backend + " yet";
  }
  return name + " was enqueued in " + health.backend + " " + age_text(*item.ensured_at, now) +
         " ago and waits for a worker of the backend";
}

std::string_view item_state(const KnownItem& item) {
  return item.dead_letter                ? "dead_letter"
         : item.delivered_at.has_value() ? "delivered"
         : item.ensured_at.has_value()   ? "enqueued"
                                         : "pending";
}

void write_item(JsonWriter& json, std::string_view key, const KnownItem& item,
                const LeaseHealth& health, TimeMs now) {
  json.begin_object().member("runnable_key", key).member("step", step_of(key));
  json.member("state", item_state(item));
  if (item.ensured_at.has_value()) {
    json.member("enqueued_at", item.ensured_at->value);
  }
  if (item.delivered_at.has_value()) {
    json.member("delivered_at", item.delivered_at->value).member("worker", item.delivered_to);
  }
  json.member("summary", item_summary(step_of(key), item, health, now)).end_object();
}

std::string outage_summary(const LeaseHealth& health, TimeMs now) {
  return "the backend of queue " + health.queue + " has been unreachable for " +
         age_text(*health.unreachable_since, now) + ", next try at " +
         format_time(*health.next_try_at) + ": " + health.why->text();
}

}  // namespace

JsonText to_json(const LeaseHealth& health, const std::map<SharedText, KnownItem>& items,
                 TimeMs now) {
  JsonWriter json;
  json.begin_object().member("queue", health.queue).member("backend", health.backend);
  json.member("state", health.why.has_value() ? "unreachable" : "ready");
  if (health.why.has_value()) {
    json.member("unreachable_since", health.unreachable_since->value);
    json.member("next_try_at", health.next_try_at->value);
    json.member("summary", outage_summary(health, now));
  }
  json.key("items").begin_array();
  for (const auto& [key, item] : items) {
    write_item(json, key.view(), item, health, now);
  }
  json.end_array().end_object();
  return std::move(json).take_text();
}

Result<std::vector<SharedText>> bound_queues(const std::vector<QueueBinding>& bindings) {
  std::vector<SharedText> names;
  for (const QueueBinding& binding : bindings) {
    HOLDFAST_CHECK(check_name("queue", binding.queue));
    const SharedText name(binding.queue);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return Error{ErrorCode::invalid_argument,
                   "queue \"" + binding.queue + "\" is bound to two backends; bind it to one"}
          .with("field", "backend");
    }
    if (binding.open == nullptr) {
      return Error{ErrorCode::invalid_argument,
                   "the backend of queue \"" + binding.queue + "\" is empty"}
          .with("field", "backend");
    }
    names.push_back(name);
  }
  return names;
}

Result<std::unique_ptr<LeaseAdapters>> LeaseAdapters::start(
    Loop& loop, const std::vector<QueueBinding>& bindings) {
  std::unique_ptr<LeaseAdapters> all(new LeaseAdapters());
  for (const QueueBinding& binding : bindings) {
    all->adapters_.push_back(
        std::make_unique<LeaseAdapter>(loop, SharedText(binding.queue), binding.open));
    HOLDFAST_CHECK(all->adapters_.back()->start());
  }
  return all;
}

void LeaseAdapters::stop() {
  for (const auto& adapter : adapters_) {
    adapter->stop();
  }
}

void LeaseAdapters::committed(const CommitReport& report) {
  if (report.wakeups.empty() && report.counts.circuits_closed == 0) {
    return;
  }
  for (const auto& adapter : adapters_) {
    if (report.counts.circuits_closed > 0) {
      adapter->exchange().request_scan();
    }
    std::vector<SharedText> keys;
    for (const Wakeup& wakeup : report.wakeups) {
      if (wakeup.queue == adapter->exchange().queue()) {
        keys.push_back(wakeup.runnable_key);
      }
    }
    if (!keys.empty()) {
      adapter->exchange().wake(keys);
    }
  }
}

std::vector<LeaseHealth> LeaseAdapters::health() {
  std::vector<LeaseHealth> all;
  for (const auto& adapter : adapters_) {
    all.push_back(adapter->exchange().health());
  }
  return all;
}

Payload LeaseAdapters::describe(const RunId& run) {
  JsonWriter json;
  json.begin_array();
  bool any = false;
  for (const auto& adapter : adapters_) {
    const auto items = adapter->exchange().items_of(run);
    if (!items.empty()) {
      any = true;
      json.raw(to_json(adapter->exchange().health(), items, adapter->now()));
    }
  }
  json.end_array();
  return any ? Payload(std::move(json).take_text()) : Payload();
}

void LeaseObserver::committed(const CommitReport& report) {
  if (next_ != nullptr) {
    next_->committed(report);
  }
  if (LeaseAdapters* adapters = adapters_.load()) {
    adapters->committed(report);
  }
}

void LeaseObserver::reached(Position position) {
  if (next_ != nullptr) {
    next_->reached(position);
  }
}

void LeaseObserver::store_unavailable(const Error& why) {
  if (next_ != nullptr) {
    next_->store_unavailable(why);
  }
}

void LeaseObserver::store_returned(std::chrono::milliseconds outage) {
  if (next_ != nullptr) {
    next_->store_returned(outage);
  }
}

void LeaseObserver::stopped(const Error& why) {
  if (next_ != nullptr) {
    next_->stopped(why);
  }
}

}  // namespace holdfast
