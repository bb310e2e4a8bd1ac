// Valid facts of the dispatch protocol, one function each, for tests to use or to invalidate. By
// default they belong to run 1 and queue "default", and the claim is "c1" with the token "secret".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runs/dispatch/dispatch_projection.h"
#include "tests/support/run_values.h"

namespace holdfast {

inline TimeMs ms(std::int64_t value) { return TimeMs{value}; }
inline Digest token(std::string_view secret) { return sha256(secret); }

inline AttemptScheduled scheduled(std::string_view key, std::int64_t visible_at = 100) {
  AttemptScheduled fact;
  fact.run_id = run_no(1);
  fact.runnable_key = key;
  fact.idempotency_key = std::string(key) + "/once";
  fact.attempt_number = 1;
  fact.queue = kDefaultQueue;
  fact.step = "charge";
  fact.input = json(R"({"amount":7})");
  fact.visible_at = ms(visible_at);
  return fact;
}

template <typename Fact>
Fact by_claim(std::string_view key, std::string_view claim_id = "c1",
              std::string_view secret = "secret") {
  Fact fact;
  fact.run_id = run_no(1);
  fact.runnable_key = key;
  fact.claim_id = claim_id;
  fact.claim_token_hash = token(secret);
  fact.queue = kDefaultQueue;
  return fact;
}

inline AttemptClaimed claimed(std::string_view key, std::int64_t lease_until,
                              std::string_view claim_id = "c1",
                              std::string_view secret = "secret") {
  auto fact = by_claim<AttemptClaimed>(key, claim_id, secret);
  fact.owner_id = "worker";
  fact.lease_until = ms(lease_until);
  return fact;
}

inline AttemptHeartbeat heartbeat(std::string_view key, std::int64_t lease_until,
                                  std::string_view claim_id = "c1",
                                  std::string_view secret = "secret") {
  auto fact = by_claim<AttemptHeartbeat>(key, claim_id, secret);
  fact.lease_until = ms(lease_until);
  return fact;
}

inline AttemptCompleted completed(std::string_view key, std::string_view claim_id = "c1",
                                  std::string_view secret = "secret") {
  auto fact = by_claim<AttemptCompleted>(key, claim_id, secret);
  fact.result = json(R"({"paid":true})");
  return fact;
}

inline AttemptFailed failed(std::string_view key, std::string_view claim_id = "c1",
                            std::string_view secret = "secret") {
  auto fact = by_claim<AttemptFailed>(key, claim_id, secret);
  fact.error = json(R"({"code":"declined"})");
  return fact;
}

// The failure of an attempt as scheduled() makes it, with a retry.
inline AttemptFailed failed_with_retry(std::string_view key, std::string_view retry_key,
                                       std::int64_t visible_at) {
  AttemptFailed fact = failed(key);
  fact.retry_runnable_key = retry_key;
  fact.retry_idempotency_key = scheduled(key).idempotency_key;
  fact.retry_visible_at = ms(visible_at);
  return fact;
}

inline LiveWakeupEmitted wakeup(std::string_view key) {
  return {run_no(1), SharedText(key), SharedText(kDefaultQueue)};
}

inline ResultApplied applied(std::string_view key) { return {run_no(1), SharedText(key), false}; }

// The attempts of live runs for which `keep` holds, in claim order. A simple count to compare with
// the heaps of the projection.
template <typename Keep>
std::vector<const Attempt*> open_attempts(const DispatchProjection& state, Keep keep) {
  std::vector<const Attempt*> found = state.attempts();
  std::erase_if(found, [&](const Attempt* attempt) {
    return attempt->applied || state.find_run(attempt->run_id)->terminal || !keep(*attempt);
  });
  return found;
}

inline bool is_unclaimed(const Attempt& attempt) {
  return attempt.status == AttemptStatus::available ||
         attempt.status == AttemptStatus::retry_scheduled;
}

inline std::vector<const Attempt*> visible(const DispatchProjection& state, TimeMs now) {
  return open_attempts(state, [&](const Attempt& attempt) {
    return is_unclaimed(attempt) && attempt.visible_at <= now;
  });
}

inline std::vector<const Attempt*> scheduled_later(const DispatchProjection& state, TimeMs now) {
  return open_attempts(state, [&](const Attempt& attempt) {
    return is_unclaimed(attempt) && attempt.visible_at > now;
  });
}

inline std::vector<const Attempt*> expired(const DispatchProjection& state, TimeMs now) {
  return open_attempts(state, [&](const Attempt& attempt) {
    return attempt.status == AttemptStatus::claimed && attempt.claim->lease_until <= now;
  });
}

inline std::vector<const Attempt*> unapplied(const DispatchProjection& state) {
  return open_attempts(
      state, [](const Attempt& attempt) { return attempt.status == AttemptStatus::completed; });
}

// The names of the broken rules, oldest first.
inline std::vector<std::string> reasons(const DispatchProjection& state) {
  std::vector<std::string> names;
  for (const Anomaly& anomaly : state.anomalies()) {
    names.push_back(anomaly.reason.str());
  }
  return names;
}

// The encoded projection without its anomalies, which come last in its bytes.
inline std::string known(const DispatchProjection& state) {
  const std::string bytes = state.encode();
  return bytes.substr(0, bytes.rfind(R"(,"anomalies":[)"));
}

inline std::vector<std::string> keys(const std::vector<const Attempt*>& attempts) {
  std::vector<std::string> names;
  for (const Attempt* attempt : attempts) {
    names.push_back(attempt->runnable_key.str());
  }
  return names;
}

}  // namespace holdfast
