// The rules of the lease adapter, as pure functions: what a signal of a worker means for an attempt
// as the journal knows it, and which items a backend must have.
//
// The journal is the authority. A claim counts only if the journal accepts it; a report counts only
// with the claim that the journal knows; a duplicate or late signal changes nothing. Whatever a
// backend has lost is enqueued again, and whatever it has too much is removed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "holdfast/lease_backend.h"
#include "runs/dispatch/attempt.h"

namespace holdfast {

enum class SignalAction : std::uint8_t {
  claim,         // claim the attempt for the worker, then grant
  grant_again,   // the claim is durable already: only the answer was lost
  refuse,        // the attempt has ended
  wait,          // not yet: it is not visible, or another worker holds it until then
  extend,        // renew the lease
  claim_extend,  // the lease has expired and no other worker has claimed: claim again, renew
  lost,          // the worker does not hold the attempt any more
  end,           // store the report
  claim_end,     // as claim_extend, then store the report
  give_back,     // the attempt can be claimed again after the delay
  fail,          // dead letter: the attempt fails
  ignore,        // nothing to do
};

struct SignalVerdict {
  SignalAction action = SignalAction::ignore;
  std::optional<TimeMs> until = std::nullopt;  // of wait

  friend bool operator==(const SignalVerdict&, const SignalVerdict&) = default;
};

// What a worker proves its claim with.
struct SignalFence {
  SharedText claim_id;
  Digest token_hash{};
};

// attempt: nullptr if the journal has no such attempt, or its run has ended.
SignalVerdict judge_signal(const Attempt* attempt, SignalKind kind, const SignalFence& fence,
                           TimeMs now);

// An attempt that has not ended, as the journal knows it.
struct LiveItem {
  SharedText key;
  TimeMs visible_at;
  std::optional<TimeMs> lease_until = std::nullopt;  // claimed
  bool held_back = false;                            // it waits behind an open circuit breaker

  // From when on a worker may claim it.
  [[nodiscard]] TimeMs claimable_at() const {
    return lease_until.has_value() && *lease_until > visible_at ? *lease_until : visible_at;
  }
};

// What the adapter knows about an item in its backend.
struct KnownItem {
  std::optional<TimeMs> ensured_at = std::nullopt;           // when the backend last confirmed it
  std::optional<TimeMs> taken_back_at_lease = std::nullopt;  // the lease that it was taken back for
  std::optional<TimeMs> delivered_at = std::nullopt;
  std::string delivered_to = {};
  bool dead_letter = false;
  bool held_back = false;  // it was taken back because of an open circuit breaker
};
using KnownItems = std::map<SharedText, KnownItem, std::less<>>;

struct ItemPlan {
  struct Put {
    SharedText key;
    EnqueueMode mode = EnqueueMode::ensure;
    TimeMs visible_at;
    bool held_back = false;  // because of an open circuit breaker
    friend bool operator==(const Put&, const Put&) = default;
  };
  std::vector<Put> puts;
  std::vector<SharedText> removes;
  std::optional<TimeMs> next_at = std::nullopt;  // when a lease ends: plan again then
};

// An item that no worker has claimed for this long is ensured again.
inline constexpr std::int64_t kEnsureAgainMs = 30'000;

ItemPlan plan_items(std::span<const LiveItem> live, const KnownItems& known, TimeMs now);
// The same for some of the live items; nothing is removed.
ItemPlan plan_puts(std::span<const LiveItem> live, const KnownItems& known, TimeMs now);

}  // namespace holdfast
