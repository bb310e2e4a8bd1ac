#include "runs/lease_backends/redis_lease_backend.h"

#include <algorithm>
#include <array>

#include "base/encoding.h"
#include "base/names.h"
#include "base/random.h"
#include "base/text.h"
#include "runs/lease_backends/lease_messages.h"
#include "runs/lease_backends/redis_scripts.h"
#include "storage/redis/redis_client.h"

namespace holdfast {

namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// A worker reads its answer within this time, or claims again.
constexpr const char* kAnswerLifeMs = "60000";
// A signal that another engine has received and not acknowledged for this long.
constexpr const char* kAbandonedMs = "5000";
constexpr milliseconds kBetweenSearches{1000};

std::string text_of(milliseconds time) { return std::to_string(time.count()); }

bool is_missing_group(const RedisReply& reply) {
  return reply.kind == RedisReply::Kind::error && reply.text.starts_with("NOGROUP");
}

// The entries of a stream in a reply: [[id, [name, value, ...]], ...].
template <typename Visit>
void for_each_entry(const RedisReply& entries, Visit visit) {
  for (const RedisReply& entry : entries.items) {
    // A deleted entry has no fields.
    if (entry.items.size() == 2 && entry.items[1].kind == RedisReply::Kind::list) {
      visit(entry.items[0].text, entry.items[1].items);
    }
  }
}

std::string field_of(const std::vector<RedisReply>& fields, std::string_view name) {
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].text == name) {
      return fields[i + 1].text;
    }
  }
  return "";
}

std::optional<LeaseSignal> signal_of(const std::string& reference,
                                     const std::vector<RedisReply>& fields) {
  const auto kind = signal_kind(field_of(fields, "kind"));
  if (!kind.has_value()) {
    return std::nullopt;
  }
  LeaseSignal signal;
  signal.kind = *kind;
  signal.reference = reference;
  signal.item_id = field_of(fields, "id");
  signal.worker = field_of(fields, "worker");
  signal.claim_id = field_of(fields, "claim");
  signal.token = field_of(fields, "token");
  signal.body = field_of(fields, "body");
  signal.delay_ms =
      static_cast<std::int64_t>(parse_decimal(field_of(fields, "delay_ms")).value_or(0));
  return signal;
}

class RedisLeaseBackend final : public LeaseBackend {
 public:
  RedisLeaseBackend(const RedisUrl& url, RedisLeaseOptions options)
      : options_(std::move(options)), client_(url) {}

  Result<std::string> epoch(std::string_view queue) override {
    std::array<std::byte, 12> fresh{};
    random_.fill(fresh);
    const std::string key = key_of(queue, "epoch");
    HOLDFAST_TRY(const auto replies,
                 client_.pipeline(
                     {{"XGROUP", "CREATE", key_of(queue, "ready"), "workers", "0", "MKSTREAM"},
                      {"XGROUP", "CREATE", key_of(queue, "signals"), "engines", "0", "MKSTREAM"},
                      {"SET", key, to_base64url(fresh), "NX"},
                      {"GET", key}}));
    for (const RedisReply& reply : replies) {
      if (reply.kind == RedisReply::Kind::error && !reply.text.starts_with("BUSYGROUP")) {
        return redis_error(client_.url().shown, reply.text);
      }
    }
    return replies.back().text;
  }

  Result<std::vector<Enqueued>> enqueue(std::string_view queue, std::span<const WorkItem> items,
                                        EnqueueMode mode, std::int64_t now_ms) override {
    std::vector<RedisCommand> commands;
    for (const WorkItem& item : items) {
      HOLDFAST_TRY(std::string text, stored_item(item));
      RedisCommand command = script(kRedisEnqueue, queue);
      command.insert(command.end(), {item.id, std::move(text), std::to_string(item.visible_at_ms),
                                     std::to_string(now_ms), std::string(mode_name(mode)),
                                     std::to_string(options_.max_deliveries)});
      commands.push_back(std::move(command));
    }
    HOLDFAST_TRY(const auto replies, all(commands));
    std::vector<Enqueued> results;
    for (const RedisReply& reply : replies) {
      results.push_back(reply.integer == 0   ? Enqueued::added
                        : reply.integer == 1 ? Enqueued::present
                                             : Enqueued::dead_lettered);
    }
    return results;
  }

  Result<void> remove(std::string_view queue, std::span<const std::string> ids) override {
    if (ids.empty()) {
      return {};
    }
    RedisCommand command = script(kRedisRemove, queue);
    command.insert(command.end(), ids.begin(), ids.end());
    HOLDFAST_CHECK(all({command}));
    return {};
  }

  Result<LeaseTick> tick(std::string_view queue, std::int64_t now_ms) override {
    RedisCommand command = script(kRedisTick, queue);
    command.insert(command.end(), {std::to_string(now_ms), std::to_string(options_.redeliver_ms),
                                   std::to_string(options_.max_deliveries)});
    HOLDFAST_TRY(const auto replies, all({command}));
    const auto& found = replies.front().items;
    if (found.size() != 5) {
      return Error{ErrorCode::io_error, client_.url().shown + ": unexpected reply to a script"};
    }
    const auto count = [&](std::size_t i) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(0, found[i].integer));
    };
    LeaseTick tick;
    if (const auto next = parse_decimal(found[0].text)) {
      tick.next_visible_at_ms = static_cast<std::int64_t>(*next);
    }
    tick.ready = count(1);
    tick.delivered = count(2);
    tick.delayed = count(3);
    tick.dead_letters = count(4);
    return tick;
  }

  Result<std::vector<LeaseSignal>> receive(std::string_view queue, std::size_t most,
                                           milliseconds wait) override {
    // After a new connection, and sometimes: what was received and not acknowledged.
    const bool reconnected = client_.connections() == 0 || client_.connections() != connections_;
    if (reconnected) {
      HOLDFAST_TRY(auto pending, read_signals(queue, most, "0", milliseconds(0)));
      if (!pending.empty()) {
        return pending;
      }
      connections_ = client_.connections();
    }
    if (SteadyClock::now() - searched_ >= kBetweenSearches) {
      searched_ = SteadyClock::now();
      HOLDFAST_TRY(auto abandoned, abandoned_signals(queue, most));
      if (!abandoned.empty()) {
        return abandoned;
      }
    }
    return read_signals(queue, most, ">", wait);
  }

  Result<void> acknowledge(std::string_view queue,
                           std::span<const std::string> references) override {
    if (references.empty()) {
      return {};
    }
    RedisCommand acknowledged{"XACK", key_of(queue, "signals"), "engines"};
    RedisCommand deleted{"XDEL", key_of(queue, "signals")};
    acknowledged.insert(acknowledged.end(), references.begin(), references.end());
    deleted.insert(deleted.end(), references.begin(), references.end());
    HOLDFAST_CHECK(all({acknowledged, deleted}));
    return {};
  }

  Result<void> answer(std::string_view queue, std::span<const LeaseAnswer> answers) override {
    std::vector<RedisCommand> commands;
    for (const LeaseAnswer& one : answers) {
      const std::string key = answer_key(queue, one.claim_id);
      commands.push_back({"RPUSH", key, answer_json(one)});
      commands.push_back({"PEXPIRE", key, kAnswerLifeMs});
    }
    if (commands.empty()) {
      return {};
    }
    HOLDFAST_CHECK(all(commands));
    return {};
  }

  Result<std::optional<Delivery>> claim(std::string_view queue, std::string_view worker,
                                        std::string_view claim_id, std::string_view token,
                                        milliseconds wait) override {
    const auto end = SteadyClock::now() + wait;
    for (;;) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - SteadyClock::now());
      HOLDFAST_TRY(auto entry, next_entry(queue, worker, std::max(left, milliseconds(0))));
      if (!entry.has_value()) {
        return std::optional<Delivery>();
      }
      HOLDFAST_TRY(const RedisReply text,
                   client_.run({"HGET", key_of(queue, "items"), entry->item.id}));
      auto item = text.kind == RedisReply::Kind::text ? read_stored_item(text.text)
                                                      : Result<WorkItem>(no_item());
      if (!item.ok()) {
        // It was removed: the entry is stale.
        HOLDFAST_CHECK(all({{"XACK", key_of(queue, "ready"), "workers", entry->receipt},
                            {"XDEL", key_of(queue, "ready"), entry->receipt}}));
        continue;
      }
      entry->item = std::move(item).value();
      HOLDFAST_CHECK(client_.run({"XADD", key_of(queue, "signals"), "*", "kind", "claim", "id",
                                  entry->item.id, "worker", std::string(worker), "claim",
                                  std::string(claim_id), "token", std::string(token)}));
      return entry;
    }
  }

  Result<std::optional<LeaseAnswer>> await_answer(std::string_view queue, const LeaseClaim& claim,
                                                  milliseconds wait) override {
    const std::string key = answer_key(queue, claim.claim_id);
    if (wait.count() == 0) {
      HOLDFAST_TRY(const RedisReply reply, client_.run({"LPOP", key}));
      return answer_of(claim, reply);
    }
    const std::string seconds = std::to_string(static_cast<double>(wait.count()) / 1000);
    HOLDFAST_TRY(const RedisReply reply, client_.run({"BLPOP", key, seconds}, wait));
    return answer_of(claim, reply.items.size() == 2 ? reply.items[1] : RedisReply());
  }

  Result<std::optional<LeaseAnswer>> heartbeat(std::string_view queue, const LeaseClaim& claim,
                                               std::string_view progress) override {
    HOLDFAST_TRY(const auto replies,
                 client_.pipeline({{"XCLAIM", key_of(queue, "ready"), "workers", claim.worker, "0",
                                    claim.receipt, "JUSTID"},
                                   signal_command(queue, claim, SignalKind::heartbeat, progress, 0),
                                   {"LPOP", answer_key(queue, claim.claim_id)}}));
    // The delivery itself may have been lost; the claim is not affected.
    if (replies[1].kind == RedisReply::Kind::error) {
      return redis_error(client_.url().shown, replies[1].text);
    }
    return answer_of(claim, replies[2]);
  }

  Result<void> end(std::string_view queue, const LeaseClaim& claim, SignalKind how,
                   std::string_view body, std::int64_t delay_ms) override {
    HOLDFAST_CHECK(client_.run(signal_command(queue, claim, how, body, delay_ms)));
    return {};
  }

  [[nodiscard]] std::string name() const override { return client_.url().shown; }

 private:
  [[nodiscard]] std::string key_of(std::string_view queue, std::string_view part) const {
    return options_.prefix + ":{" + std::string(queue) + "}:" + std::string(part);
  }
  [[nodiscard]] std::string answer_key(std::string_view queue, const std::string& claim_id) const {
    return key_of(queue, "answer:" + claim_id);
  }

  [[nodiscard]] RedisCommand script(const std::string& text, std::string_view queue) const {
    RedisCommand command{"EVAL", text, "7"};
    for (const char* part : {"items", "entries", "delayed", "ready", "taken", "dead", "signals"}) {
      command.push_back(key_of(queue, part));
    }
    return command;
  }

  // None of the commands may be rejected.
  Result<std::vector<RedisReply>> all(const std::vector<RedisCommand>& commands) {
    HOLDFAST_TRY(auto replies, client_.pipeline(commands));
    for (const RedisReply& reply : replies) {
      if (reply.kind == RedisReply::Kind::error) {
        return redis_error(client_.url().shown, reply.text);
      }
    }
    return replies;
  }

  Error no_item() const {
    return Error{ErrorCode::not_found, client_.url().shown + ": the item was removed"};
  }

  RedisCommand signal_command(std::string_view queue, const LeaseClaim& claim, SignalKind kind,
                              std::string_view body, std::int64_t delay_ms) const {
    return {"XADD",
            key_of(queue, "signals"),
            "*",
            "kind",
            std::string(signal_name(kind)),
            "id",
            claim.item_id,
            "worker",
            claim.worker,
            "claim",
            claim.claim_id,
            "token",
            claim.token,
            "body",
            std::string(body),
            "delay_ms",
            std::to_string(delay_ms)};
  }

  std::optional<LeaseAnswer> answer_of(const LeaseClaim& claim, const RedisReply& reply) const {
    if (reply.kind != RedisReply::Kind::text) {
      return std::nullopt;
    }
    auto answer = read_answer(reply.text);
    if (!answer.ok()) {
      return std::nullopt;
    }
    answer.value().claim_id = claim.claim_id;
    return std::move(answer).value();
  }

  // After a loss the group is missing: epoch() or claim() creates it again.
  Result<RedisReply> read_group(const RedisCommand& command, milliseconds wait,
                                const RedisCommand& create_group) {
    HOLDFAST_TRY(auto replies, client_.pipeline({command}, wait));
    RedisReply& reply = replies.front();
    if (is_missing_group(reply)) {
      HOLDFAST_CHECK(client_.pipeline({create_group}));
      return RedisReply();
    }
    if (reply.kind == RedisReply::Kind::error) {
      return redis_error(client_.url().shown, reply.text);
    }
    return std::move(reply);
  }

  RedisCommand group_read(const char* group, std::string_view consumer, std::size_t most,
                          milliseconds wait) const {
    RedisCommand command{"XREADGROUP",          "GROUP", group,
                         std::string(consumer), "COUNT", std::to_string(most)};
    if (wait.count() > 0) {
      command.insert(command.end(), {"BLOCK", text_of(wait)});
    }
    return command;
  }

  Result<std::vector<LeaseSignal>> read_signals(std::string_view queue, std::size_t most,
                                                const char* from, milliseconds wait) {
    const std::string key = key_of(queue, "signals");
    RedisCommand command = group_read("engines", "engine", most, wait);
    command.insert(command.end(), {"STREAMS", key, from});
    HOLDFAST_TRY(const RedisReply reply,
                 read_group(command, wait, {"XGROUP", "CREATE", key, "engines", "0", "MKSTREAM"}));
    std::vector<LeaseSignal> signals;
    if (!reply.items.empty() && reply.items[0].items.size() == 2) {
      HOLDFAST_CHECK(take_signals(queue, reply.items[0].items[1], signals));
    }
    return signals;
  }

  Result<std::vector<LeaseSignal>> abandoned_signals(std::string_view queue, std::size_t most) {
    const std::string key = key_of(queue, "signals");
    HOLDFAST_TRY(
        const RedisReply reply,
        read_group({"XAUTOCLAIM", key, "engines", "engine", kAbandonedMs, "0-0", "COUNT",
                    std::to_string(most)},
                   milliseconds(0), {"XGROUP", "CREATE", key, "engines", "0", "MKSTREAM"}));
    std::vector<LeaseSignal> signals;
    if (reply.items.size() >= 2) {
      HOLDFAST_CHECK(take_signals(queue, reply.items[1], signals));
    }
    return signals;
  }

  // An entry that is not a signal is dropped: any program can write to the stream.
  Result<void> take_signals(std::string_view queue, const RedisReply& entries,
                            std::vector<LeaseSignal>& signals) {
    std::vector<std::string> foreign;
    for_each_entry(entries, [&](const std::string& id, const std::vector<RedisReply>& fields) {
      auto signal = signal_of(id, fields);
      if (signal.has_value()) {
        signals.push_back(*std::move(signal));
      } else {
        foreign.push_back(id);
      }
    });
    return acknowledge(queue, foreign);
  }

  // The id of the item and the receipt.
  Result<std::optional<Delivery>> next_entry(std::string_view queue, std::string_view worker,
                                             milliseconds wait) {
    const std::string key = key_of(queue, "ready");
    RedisCommand command = group_read("workers", worker, 1, wait);
    command.insert(command.end(), {"STREAMS", key, ">"});
    HOLDFAST_TRY(const RedisReply reply,
                 read_group(command, wait, {"XGROUP", "CREATE", key, "workers", "0", "MKSTREAM"}));
    std::optional<Delivery> found;
    if (!reply.items.empty() && reply.items[0].items.size() == 2) {
      for_each_entry(reply.items[0].items[1],
                     [&](const std::string& id, const std::vector<RedisReply>& fields) {
                       Delivery& delivery = found.emplace();
                       delivery.receipt = id;
                       delivery.item.id = field_of(fields, "id");
                     });
    }
    return found;
  }

  const RedisLeaseOptions options_;
  RedisClient client_;
  SystemRandom random_;
  std::uint64_t connections_ = 0;  // those whose pending signals were read
  SteadyClock::time_point searched_ = {};
};

Result<void> set_number(const RedisUrl& url, std::string_view name, std::uint64_t& value) {
  const auto given = url.parameters.find(name);
  if (given == url.parameters.end()) {
    return {};
  }
  const auto number = parse_decimal(given->second);
  if (!number.has_value()) {
    return Error{ErrorCode::invalid_url,
                 "the parameter " + std::string(name) + " of the Redis URL is not a number"}
        .with("field", "url");
  }
  value = *number;
  return {};
}

}  // namespace

Result<RedisLeaseOptions> redis_lease_options(const RedisUrl& url) {
  for (const auto& [name, value] : url.parameters) {
    if (name != "prefix" && name != "redeliver_ms" && name != "max_deliveries") {
      return Error{ErrorCode::invalid_url,
                   "unknown parameter \"" + name +
                       "\" in the Redis URL; use prefix, redeliver_ms, max_deliveries or db"}
          .with("field", "url");
    }
  }
  RedisLeaseOptions options;
  HOLDFAST_CHECK(set_number(url, "redeliver_ms", options.redeliver_ms));
  HOLDFAST_CHECK(set_number(url, "max_deliveries", options.max_deliveries));
  if (options.redeliver_ms == 0) {
    return Error{ErrorCode::invalid_url, "redeliver_ms of the Redis URL must be at least 1"}.with(
        "field", "url");
  }
  if (const auto prefix = url.parameters.find("prefix"); prefix != url.parameters.end()) {
    if (!is_name(prefix->second)) {
      return Error{ErrorCode::invalid_url,
                   "prefix of the Redis URL must consist of letters, digits, '_', '.' and '-'"}
          .with("field", "url");
    }
    options.prefix = prefix->second;
  }
  return options;
}

std::unique_ptr<LeaseBackend> redis_lease_backend(const RedisUrl& url,
                                                  const RedisLeaseOptions& options) {
  return std::make_unique<RedisLeaseBackend>(url, options);
}

Result<OpenLeaseBackend> open_lease_backend(std::string_view text) {
  HOLDFAST_TRY(const RedisUrl url, parse_redis_url(text));
  HOLDFAST_TRY(const RedisLeaseOptions options, redis_lease_options(url));
  return OpenLeaseBackend([url, options]() -> Result<std::unique_ptr<LeaseBackend>> {
    return redis_lease_backend(url, options);
  });
}

}  // namespace holdfast
