// RateLimiter: how many new messages a workspace may send per window. A broker consults it after
// it has found that a message is new, and before the transaction; nothing is refunded.
//
// The same message counts once per window: a retry with the same id and content finds the marker
// of the first. A marker absorbs kFreeRefusals retries that were refused inside the transaction;
// after that each costs a unit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"

namespace holdfast::delivery {

inline constexpr std::uint32_t kFreeRefusals = 10;

// The counter of a workspace.
struct LimitedWorkspace {
  std::string mesh_id;
  std::uint64_t limit = 0;
  std::uint32_t window_seconds = 60;
};

// What the counter of a workspace is kept under.
Digest counter_key_of(const LimitedWorkspace& workspace);
// A marker is kept under the hash of everything that makes a message the same.
Digest marker_key(const std::string& mesh_id, const std::string& sender_member_id,
                  const std::string& client_message_id, const Digest& fingerprint);

struct BudgetAnswer {
  enum class State : std::uint8_t { admitted, denied, unavailable };
  State state = State::unavailable;
  std::int64_t retry_after_ms = 0;  // of denied: until the window ends
};

// A message that a limiter is consulted about.
struct LimitedMessage {
  LimitedWorkspace workspace;
  Digest marker;
};

class RateLimiter {
 public:
  virtual ~RateLimiter() = default;
  // One atomic step. Thread-safe.
  virtual BudgetAnswer consume(const LimitedWorkspace& workspace, const Digest& marker,
                               TimeMs now) = 0;
  // As consume() for each message, in their order; where the counters are far away, in one call.
  virtual std::vector<BudgetAnswer> consume_each(std::span<const LimitedMessage> messages,
                                                 TimeMs now);
  // The message was admitted, and then refused inside the transaction.
  virtual void note_refused(const LimitedWorkspace& workspace, const Digest& marker,
                            TimeMs now) = 0;
};

}  // namespace holdfast::delivery
