// RedisLimiter: a RateLimiter that several brokers share. Counters and markers are in Redis; each
// decision is one script, so it is atomic, and the messages of a group share a round trip. The
// window comes from the clock of Redis: the clocks of brokers do not matter.
//
// Redis may lose its data, or restart with an old copy. A key beside the counters has the identity
// of the server process and the time since which its data is whole. A window that began before
// that time counts as full until it ends, so losing the counters never admits more than the limit.
// Every key expires.
//
//   redis://[[USER]:PASSWORD@]HOST[:PORT][/DB][?prefix=NAME]
//   redis+unix:///PATH[?db=N&prefix=NAME]
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "delivery/broker/rate_limiter.h"
#include "holdfast/result.h"
#include "storage/redis/redis_client.h"

namespace holdfast::delivery {

class RedisLimiter final : public RateLimiter {
 public:
  // Does not connect: a Redis that cannot be reached makes decisions unavailable until it can.
  // invalid_url.
  static Result<std::unique_ptr<RedisLimiter>> open(std::string_view url);

  // unavailable within a bounded time when Redis does not answer, and at once for a while after
  // that: the caller waits for a lost Redis during at most a fifth of the time. now is not used.
  BudgetAnswer consume(const LimitedWorkspace& workspace, const Digest& marker,
                       TimeMs now) override;
  std::vector<BudgetAnswer> consume_each(std::span<const LimitedMessage> messages,
                                         TimeMs now) override;
  void note_refused(const LimitedWorkspace& workspace, const Digest& marker, TimeMs now) override;

 private:
  enum class Operation : std::uint8_t { consume, note_refused };

  RedisLimiter(RedisUrl url, std::string prefix);
  [[nodiscard]] RedisCommand arguments(Operation operation, const LimitedWorkspace& workspace,
                                       const Digest& marker) const;
  std::vector<BudgetAnswer> ask(const std::vector<RedisCommand>& calls);
  Result<std::vector<RedisReply>> exchange(const std::vector<RedisCommand>& calls);
  Result<std::vector<RedisReply>> repeat_unknown(const std::vector<RedisCommand>& calls,
                                                 std::vector<RedisReply> replies);

  const std::string prefix_;
  std::mutex mutex_;  // guards what follows
  RedisClient client_;
  std::string script_;  // its hash; empty: the server may not know it
  std::optional<std::chrono::steady_clock::time_point> pause_until_;  // after a failure
};

}  // namespace holdfast::delivery
