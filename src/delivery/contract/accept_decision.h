// The accept decision: in which order a broker examines a message, and what it answers.
//
// A broker learns one thing at a time, and each is expensive or has an effect: a limiter counts, a
// claim opens a transaction. decide_accept looks at what is known so far and returns either the
// next thing to find out or the answer, so that the order is written once:
//
//   caller, request            authentication first: an outsider cannot probe for ids
//   B0  known                  a consumed id is answered at no cost, whatever the limits are now
//   B1  size, age, budget      rejections without a transaction
//       claim                  the dedupe row, inside the transaction
//   B2  destination            inside the transaction, which is rolled back on a rejection
//   B3  accept                 dedupe, message, history, deliveries and mentions are committed
//
// A rejection leaves no row, so the same id may be sent again once the cause is removed.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

enum class CallerState : std::uint8_t { unauthenticated, no_workspace, stranger, revoked, member };
// Whether a dedupe row exists for the id, and whether its fingerprint is that of the request.
enum class KnownState : std::uint8_t { absent, match, mismatch };
enum class SizeState : std::uint8_t { fits, too_large };
// A retry that was first sent before the dedupe window may repeat a message whose row was swept.
enum class AgeState : std::uint8_t { fresh, stale };
enum class BudgetState : std::uint8_t { admitted, denied, unavailable };
// The dedupe row after inserting it with "on conflict do nothing". vanished: another row was in
// the way and was swept before it could be read.
enum class ClaimState : std::uint8_t { ours, match, mismatch, vanished };
enum class DestinationState : std::uint8_t {
  open,
  topic_missing,
  topic_archived,
  recipient_missing,
  recipient_revoked,
  queue_missing,
  post_not_allowed,
  not_subscribed,  // and the topic is closed
};

// What is known about one request; no value: not found out yet.
struct AcceptKnowledge {
  std::optional<CallerState> caller;
  // The request itself was checked: the rejection, if any.
  std::optional<std::optional<Rejection>> request;
  std::optional<KnownState> known;
  std::optional<SizeState> size;
  std::optional<AgeState> age;
  std::optional<BudgetState> budget;
  std::optional<ClaimState> claim;
  std::optional<DestinationState> destination;
};

enum class AcceptStep : std::uint8_t {
  authenticate,
  check_request,
  read_dedupe,
  check_size,
  check_age,
  consume_budget,
  claim,
  check_destination,
};

enum class AcceptPhase : std::uint8_t { b0, b1, b2, b3 };

struct Accepted {};   // 201: commit everything
struct Duplicate {};  // 200, with the ids that the dedupe row holds
struct Refused {
  Rejection rejection;
};

struct AcceptAnswer {
  AcceptPhase phase;
  std::variant<Accepted, Duplicate, Refused> answer;
};

using AcceptNext = std::variant<AcceptStep, AcceptAnswer>;

AcceptNext decide_accept(const AcceptKnowledge& knowledge);

}  // namespace holdfast::delivery
