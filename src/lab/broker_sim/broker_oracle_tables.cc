// What the jobs may take, and the rows that all tables must have.
#include <fmt/format.h>

#include <algorithm>

#include "lab/broker_sim/broker_oracle.h"

namespace holdfast::broker_sim {

namespace {

std::string or_null(std::int64_t time) { return time == 0 ? "null" : std::to_string(time); }

}  // namespace

// Rows of which the window has ended, at most `limit`, and all of them if they are fewer.
void BrokerOracle::swept(std::int64_t now, std::size_t limit, const std::set<std::string>& left,
                         std::uint64_t reported) {
  std::size_t ended = 0;
  std::vector<std::string> taken;
  for (const auto& [key, row] : dedupe_) {
    const bool has_ended = row.expires_at > 0 && row.expires_at < now;
    ended += has_ended ? 1U : 0U;
    if (!left.contains(key)) {
      taken.push_back(key);
      if (!has_ended) {
        fail(fmt::format("the sweep took a row whose window has not ended: {}", key));
      }
    }
  }
  if (taken.size() != std::min(limit, ended) || taken.size() != reported) {
    fail(fmt::format("the sweep took {} of {} ended rows and reported {}; its batch has {}",
                     taken.size(), ended, reported, limit));
  }
  for (const std::string& key : taken) {
    dedupe_.erase(key);
    swept_keys_.insert(key);
  }
}

bool BrokerOracle::may_prune(const std::string& id, const Message& message,
                             std::int64_t now) const {
  const OracleWorkspace& workspace = *workspace_of(message.place[0]);
  const bool waits = std::any_of(deliveries_.begin(), deliveries_.end(), [&](const auto& delivery) {
    return delivery.first.first == id && !delivery.second.ended;
  });
  return workspace.message_days > 0 &&
         message.created_at + workspace.message_days * kOracleDayMs < now && !waits &&
         (!items_.contains(id) || !items_.at(id).open());
}

void BrokerOracle::prune(const std::string& id, std::int64_t now) {
  for (auto& [key, row] : dedupe_) {
    row.pruned_at = row.broker_message_id == id ? now : row.pruned_at;
  }
  for (auto& [place, entries] : histories_) {
    for (History& entry : entries) {
      entry.pruned_at = entry.broker_message_id == id ? now : entry.pruned_at;
    }
  }
  std::erase_if(deliveries_, [&](const auto& row) { return row.first.first == id; });
  std::erase_if(mentions_, [&](const auto& row) { return row.first == id; });
  items_.erase(id);
  messages_.erase(id);
}

void BrokerOracle::pruned(std::int64_t now, std::size_t limit, const std::set<std::string>& left,
                          std::uint64_t reported) {
  std::size_t ended = 0;
  std::vector<std::string> taken;
  for (const auto& [id, message] : messages_) {
    const bool has_ended = may_prune(id, message, now);
    ended += has_ended ? 1U : 0U;
    if (!left.contains(id)) {
      taken.push_back(id);
      if (!has_ended) {
        fail("the retention job took a message that must be kept: " + id);
      }
    }
  }
  if (taken.size() != std::min(limit, ended) || taken.size() != reported) {
    fail(
        fmt::format("the retention job took {} of {} ended messages and reported {}; its batch "
                    "has {}",
                    taken.size(), ended, reported, limit));
  }
  for (const std::string& id : taken) {
    prune(id, now);
  }
}

std::vector<std::string> BrokerOracle::history_of(const std::string& mesh_id,
                                                  const std::string& kind,
                                                  const std::string& ref) const {
  std::vector<std::string> lines;
  const auto found = histories_.find({mesh_id, kind, ref});
  for (std::size_t i = 0; found != histories_.end() && i < found->second.size(); ++i) {
    const History& entry = found->second[i];
    lines.push_back(fmt::format("{} {} {} {}", i + 1, entry.broker_message_id, entry.history_id,
                                entry.pruned_at == 0 ? "there" : "pruned"));
  }
  return lines;
}

std::vector<std::string> BrokerOracle::mentions_of(const std::string& pubkey) const {
  std::vector<std::string> lines;
  for (const auto& [id, key] : mentions_) {
    if (key == pubkey) {
      lines.push_back(fmt::format("{} {}", id, messages_.at(id).seq));
    }
  }
  return lines;
}

BrokerOracle::Tables BrokerOracle::tables() const {
  Tables all;
  for (const auto& [key, row] : dedupe_) {
    all["client_message_dedupe"].push_back(
        fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", row.mesh_id, row.sender, row.id,
                    row.broker_message_id, row.history_id, row.fingerprint, row.kind, row.ref,
                    row.first_seen_at, or_null(row.expires_at), row.pruned_at == 0 ? 1 : 0,
                    or_null(row.pruned_at)));
  }
  for (const auto& [id, message] : messages_) {
    const SimMessage& sent = message.sent;
    all[message.place[1] == "topic" ? "topic_message" : "message_queue"].push_back(fmt::format(
        "{}|{}|{}|{}|{}|{}|1|{}|{}|{}|{}|{}|{}", id, message.place[0], message.place[1],
        message.place[2], message.sender, sent.id, sent.priority.empty() ? "next" : sent.priority,
        sent.reply_to, sent.canonical_meta, sent.body, message.created_at, message.fanout));
  }
  for (const auto& [place, entries] : histories_) {
    all["destination"].push_back(
        fmt::format("{}|{}|{}|{}", place[0], place[1], place[2], entries.size()));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      all["message_history"].push_back(fmt::format(
          "{}|{}|{}|{}|{}|{}|{}|{}", place[0], place[1], place[2], i + 1, entries[i].history_id,
          entries[i].broker_message_id, entries[i].created_at, or_null(entries[i].pruned_at)));
    }
  }
  for (const auto& [key, row] : deliveries_) {
    all["delivery_queue"].push_back(
        fmt::format("{}|{}|{}|{}|{}|{}|{}", row.mesh_id, key.second, key.first, row.seq,
                    row.priority, row.ended ? "delivered" : "queued", row.created_at));
  }
  for (const auto& [id, item] : items_) {
    all["queue_entry"].push_back(fmt::format(
        "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", id, item.mesh_id, item.queue, item.key,
        item.rank, item.seq, item.state, item.due_at, item.expires_at, item.deliveries,
        item.lease.empty() ? 0 : 1, item.member_id, item.ended_at, item.reason));
  }
  for (const auto& [id, pubkey] : mentions_) {
    const Message& message = messages_.at(id);
    all["mention_index"].push_back(
        fmt::format("{}|{}|{}|{}", message.place[0], pubkey, id, message.seq));
  }
  for (const auto& [key, topic] : topics_) {
    for (const auto& [member_id, role] : topic.subscriptions) {
      all["topic_subscription"].push_back(
          fmt::format("{}|{}|{}|{}", key.first, key.second, member_id, role));
    }
  }
  for (auto& [name, rows] : all) {
    std::sort(rows.begin(), rows.end());
  }
  return all;
}

}  // namespace holdfast::broker_sim
