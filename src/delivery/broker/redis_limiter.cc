#include "delivery/broker/redis_limiter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "base/quote.h"

namespace holdfast::delivery {

namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kLimiterConnectTime{1000};
constexpr milliseconds kLimiterReplyTime{1000};
// After a failure, so that messages do not queue up behind a server that does not answer: at least
// so long, and so many times as long as the failure took.
constexpr milliseconds kLimiterPause{250};
constexpr int kLimiterPauseTimes = 4;
constexpr std::string_view kDefaultPrefix = "holdfast:limit";

// KEYS: the epoch, the counter of a workspace, the marker of a message.
// ARGV: operation, limit, window in ms, free refusals.
// Returns whether the message is admitted, and otherwise the time until the window ends.
//
// A counter of a later window than now counts: time that runs backwards does not reopen a window.
constexpr std::string_view kLimiterScript = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local length = tonumber(ARGV[3])
if ARGV[1] == 'note_refused' then
  if redis.call('EXISTS', KEYS[3]) == 1 then
    redis.call('INCR', KEYS[3])
  end
  return {1, 0}
end
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
local epoch = redis.call('HMGET', KEYS[1], 'run', 'began')
local began = tonumber(epoch[2] or '')
if epoch[1] ~= run or not began then
  began = now
  redis.call('HSET', KEYS[1], 'run', run, 'began', string.format('%.0f', now))
end
redis.call('PEXPIRE', KEYS[1], 2592000000 + 2 * length)
local window = math.floor(now / length)
local count = 0
local counted = redis.call('HMGET', KEYS[2], 'window', 'count')
if counted[1] and tonumber(counted[1]) >= window then
  window = tonumber(counted[1])
  count = tonumber(counted[2])
end
local refused = redis.call('GET', KEYS[3])
if refused and tonumber(refused) <= tonumber(ARGV[4]) then
  return {1, 0}
end
local left = (window + 1) * length - now
if began > window * length or count >= tonumber(ARGV[2]) then
  return {0, math.max(left, 1)}
end
redis.call('HSET', KEYS[2], 'window', string.format('%.0f', window), 'count', count + 1)
redis.call('PEXPIRE', KEYS[2], left + length)
if not refused then
  redis.call('SET', KEYS[3], 0, 'PX', left + length)
end
return {1, 0}
)lua";

Error unreadable_reply(const RedisClient& client) {
  return Error{ErrorCode::io_error, client.url().shown + " gave a reply that is not the limiter's"};
}

Result<BudgetAnswer> answer_of(const RedisReply& reply, const RedisClient& client) {
  using State = BudgetAnswer::State;
  if (reply.kind == RedisReply::Kind::error) {
    return redis_error(client.url().shown, reply.text);
  }
  const bool whole = reply.kind == RedisReply::Kind::list && reply.items.size() == 2 &&
                     reply.items[0].kind == RedisReply::Kind::integer &&
                     reply.items[1].kind == RedisReply::Kind::integer;
  if (!whole) {
    return unreadable_reply(client);
  }
  return reply.items[0].integer != 0 ? BudgetAnswer{State::admitted, 0}
                                     : BudgetAnswer{State::denied, reply.items[1].integer};
}

bool is_unknown_script(const RedisReply& reply) {
  return reply.kind == RedisReply::Kind::error && reply.text.starts_with("NOSCRIPT");
}

}  // namespace

RedisLimiter::RedisLimiter(RedisUrl url, std::string prefix)
    : prefix_(std::move(prefix)),
      client_(std::move(url), {kLimiterConnectTime, kLimiterReplyTime}) {}

Result<std::unique_ptr<RedisLimiter>> RedisLimiter::open(std::string_view text) {
  HOLDFAST_TRY(RedisUrl url, parse_redis_url(text));
  std::string prefix(kDefaultPrefix);
  for (const auto& [name, value] : url.parameters) {
    if (name != "prefix" || value.empty()) {
      return Error{ErrorCode::invalid_url,
                   fmt::format("unknown parameter {} in the Redis URL of a limiter; it takes "
                               "prefix=NAME and db=N",
                               quote(name))}
          .with("field", "url");
    }
    prefix = value;
  }
  return std::unique_ptr<RedisLimiter>(new RedisLimiter(std::move(url), std::move(prefix)));
}

// What follows the script.
RedisCommand RedisLimiter::arguments(Operation operation, const LimitedWorkspace& workspace,
                                     const Digest& marker) const {
  return {"3",
          prefix_ + ":epoch",
          fmt::format("{}:counter:{}", prefix_, to_hex(counter_key_of(workspace))),
          fmt::format("{}:marker:{}", prefix_, to_hex(marker)),
          operation == Operation::consume ? "consume" : "note_refused",
          std::to_string(workspace.limit),
          std::to_string(std::int64_t{workspace.window_seconds} * 1000),
          std::to_string(kFreeRefusals)};
}

BudgetAnswer RedisLimiter::consume(const LimitedWorkspace& workspace, const Digest& marker,
                                   TimeMs /*now*/) {
  return ask({arguments(Operation::consume, workspace, marker)}).front();
}

std::vector<BudgetAnswer> RedisLimiter::consume_each(std::span<const LimitedMessage> messages,
                                                     TimeMs /*now*/) {
  std::vector<RedisCommand> calls;
  calls.reserve(messages.size());
  for (const LimitedMessage& message : messages) {
    calls.push_back(arguments(Operation::consume, message.workspace, message.marker));
  }
  return ask(calls);
}

// When it fails, the message has one free retry more.
void RedisLimiter::note_refused(const LimitedWorkspace& workspace, const Digest& marker,
                                TimeMs /*now*/) {
  ask({arguments(Operation::note_refused, workspace, marker)});
}

// The script is known by its hash, except to a server that has just started.
Result<std::vector<RedisReply>> RedisLimiter::exchange(const std::vector<RedisCommand>& calls) {
  if (script_.empty()) {
    HOLDFAST_TRY(RedisReply loaded, client_.run({"SCRIPT", "LOAD", std::string(kLimiterScript)}));
    script_ = std::move(loaded.text);
  }
  std::vector<RedisCommand> commands;
  for (const RedisCommand& call : calls) {
    RedisCommand& command = commands.emplace_back(RedisCommand{"EVALSHA", script_});
    command.insert(command.end(), call.begin(), call.end());
  }
  return client_.pipeline(commands);
}

// Those that a server which has just started did not execute are sent again, with the script.
Result<std::vector<RedisReply>> RedisLimiter::repeat_unknown(const std::vector<RedisCommand>& calls,
                                                             std::vector<RedisReply> replies) {
  std::vector<std::size_t> places;
  std::vector<RedisCommand> again;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (is_unknown_script(replies[i])) {
      places.push_back(i);
      again.push_back(calls[i]);
    }
  }
  if (!again.empty()) {
    script_.clear();
    HOLDFAST_TRY(std::vector<RedisReply> repeated, exchange(again));
    for (std::size_t i = 0; i < places.size(); ++i) {
      replies[places[i]] = std::move(repeated[i]);
    }
  }
  return replies;
}

// One answer for each call; unavailable where Redis has not given any.
std::vector<BudgetAnswer> RedisLimiter::ask(const std::vector<RedisCommand>& calls) {
  std::vector<BudgetAnswer> answers(calls.size());
  const std::lock_guard lock(mutex_);
  const auto begin = SteadyClock::now();
  if (calls.empty() || (pause_until_.has_value() && begin < *pause_until_)) {
    return answers;
  }
  auto replies = exchange(calls);
  if (replies.ok()) {
    replies = repeat_unknown(calls, std::move(replies).value());
  }
  if (!replies.ok()) {
    const auto end = SteadyClock::now();
    pause_until_ =
        end + std::max<SteadyClock::duration>(kLimiterPause, kLimiterPauseTimes * (end - begin));
    return answers;
  }
  pause_until_.reset();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto answer = answer_of(replies.value()[i], client_);
    answers[i] = answer.ok() ? answer.value() : BudgetAnswer{};
  }
  return answers;
}

}  // namespace holdfast::delivery
