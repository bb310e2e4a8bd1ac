// The contract of queues, as a model over all messages: slow, and without any index.
#include <fmt/format.h>

#include <algorithm>

#include "lab/broker_sim/broker_oracle.h"

namespace holdfast::broker_sim {

void BrokerOracle::add_item(const std::string& id, const OracleMember& sender,
                            const SimMessage& message, std::uint64_t seq, std::int64_t now) {
  QueueItem& item = items_[id];
  item.mesh_id = sender.mesh_id;
  item.queue = message.ref;
  item.key = message.ordering_key;
  item.lane = sender.member_id + " " + message.ordering_key;
  item.rank = message.priority == "now" ? 0 : (message.priority == "low" ? 2 : 1);
  item.seq = seq;
  item.expires_at = message.expires_at;
  if (message.not_before > now) {
    item.state = "delayed";
    item.due_at = message.not_before;
  }
}

void BrokerOracle::end_item(QueueItem& item, const std::string& state, std::int64_t now,
                            const std::string& reason) {
  item.state = state;
  item.due_at = 0;
  item.ended_at = now;
  item.reason = reason;
}

void BrokerOracle::free_item(QueueItem& item, std::int64_t due_at) {
  item.state = due_at > 0 ? "delayed" : "ready";
  item.due_at = due_at;
  item.lease.clear();
  item.member_id.clear();
}

// What happens by itself: expiry, which spares what a consumer holds; the end of delays and leases.
void BrokerOracle::advance(const std::string& mesh_id, const std::string& queue, std::int64_t now) {
  const OracleQueue& rules = queues_.at({mesh_id, queue});
  for (auto& [id, item] : items_) {
    const bool here = item.mesh_id == mesh_id && item.queue == queue && item.open();
    const bool due = item.due_at <= now;
    if (!here || (item.state == "leased" && !due)) {
      continue;
    }
    const bool expired = item.expires_at > 0 && item.expires_at <= now;
    if (expired && (item.state == "ready" || due)) {
      end_item(item, "dead", now, "expired");
    } else if (item.state == "leased" && item.deliveries >= rules.max_deliveries) {
      end_item(item, "dead", now, "not acknowledged after the last delivery");
    } else if (item.state != "ready" && due) {
      free_item(item, 0);
    }
  }
}

void BrokerOracle::advance_queues(std::int64_t now) {
  for (const auto& [key, queue] : queues_) {
    advance(key.first, key.second, now);
  }
}

std::vector<std::string> BrokerOracle::claim(const OracleHeld& consumer, std::size_t limit,
                                             std::int64_t now) {
  advance(consumer.mesh_id, consumer.queue, now);
  const OracleQueue& rules = queues_.at({consumer.mesh_id, consumer.queue});
  using Order = std::pair<std::uint64_t, std::uint64_t>;
  std::map<Order, std::string> open;
  for (const auto& [id, item] : items_) {
    if (item.mesh_id == consumer.mesh_id && item.queue == consumer.queue && item.open()) {
      open[{item.rank, item.seq}] = id;
    }
  }
  std::set<std::pair<std::uint64_t, std::string>> blocked;  // lanes
  std::vector<std::string> taken;
  for (const auto& [order, id] : open) {
    QueueItem& item = items_.at(id);
    const std::pair<std::uint64_t, std::string> lane{item.rank, item.lane};
    if (item.state != "ready" || (rules.lanes && blocked.contains(lane))) {
      blocked.insert(lane);
      continue;
    }
    if (taken.size() == limit) {
      break;
    }
    taken.push_back(id);
    item.state = "leased";
    item.due_at = now + rules.lease_ms;
    ++item.deliveries;
    item.lease = consumer.lease;
    item.member_id = consumer.member_id;
  }
  return taken;
}

BrokerOracle::Settled BrokerOracle::settle(const OracleHeld& held, OracleSettlement how,
                                           std::int64_t delay_ms, std::int64_t now) {
  Settled settled;
  const OracleQueue& rules = queues_.at({held.mesh_id, held.queue});
  for (const std::string& id : held.ids) {
    const auto found = items_.find(id);
    const bool there = found != items_.end() && found->second.mesh_id == held.mesh_id &&
                       found->second.queue == held.queue;
    if (!there) {
      settled.fenced.push_back(id + " unknown_message");
      continue;
    }
    QueueItem& item = found->second;
    const bool mine = item.lease == held.lease && item.member_id == held.member_id;
    if (item.state == "ready" || item.state == "delayed") {
      settled.fenced.push_back(id + " lease_ended");
    } else if (item.state != "leased") {
      const bool repeated = item.state == "done" && mine && how == OracleSettlement::ack;
      if (!repeated) {
        settled.fenced.push_back(id + " already_ended");
      }
    } else if (!mine) {
      settled.fenced.push_back(id + " other_lease");
    } else if (how == OracleSettlement::ack) {
      end_item(item, "done", now, "");
    } else if (how == OracleSettlement::extend) {
      item.due_at = now + rules.lease_ms;
    } else if (item.deliveries >= rules.max_deliveries) {
      end_item(item, "dead", now, "rejected after the last delivery");
      settled.dead.push_back(id);
    } else {
      free_item(item, delay_ms > 0 ? now + delay_ms : 0);
    }
  }
  return settled;
}

}  // namespace holdfast::broker_sim
