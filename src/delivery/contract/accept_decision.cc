#include "delivery/contract/accept_decision.h"

#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

AcceptNext refuse(AcceptPhase phase, Rejection rejection) {
  return AcceptAnswer{phase, Refused{rejection}};
}

std::optional<Rejection> rejection_for(CallerState caller) {
  switch (caller) {
    case CallerState::unauthenticated:
      return Rejection::unauthenticated;
    case CallerState::no_workspace:
      return Rejection::unknown_workspace;
    case CallerState::stranger:
      return Rejection::not_a_member;
    case CallerState::revoked:
      return Rejection::member_revoked;
    case CallerState::member:
      return std::nullopt;
  }
  HOLDFAST_ASSERT(false);
  return std::nullopt;
}

std::optional<Rejection> rejection_for(BudgetState budget) {
  switch (budget) {
    case BudgetState::admitted:
      return std::nullopt;
    case BudgetState::denied:
      return Rejection::rate_limited;
    case BudgetState::unavailable:
      return Rejection::limiter_unavailable;
  }
  HOLDFAST_ASSERT(false);
  return std::nullopt;
}

std::optional<Rejection> rejection_for(DestinationState destination) {
  switch (destination) {
    case DestinationState::open:
      return std::nullopt;
    case DestinationState::topic_missing:
    case DestinationState::recipient_missing:
    case DestinationState::queue_missing:
      return Rejection::unknown_destination;
    case DestinationState::topic_archived:
    case DestinationState::recipient_revoked:
      return Rejection::destination_closed;
    case DestinationState::post_not_allowed:
    case DestinationState::not_subscribed:
      return Rejection::not_allowed;
  }
  HOLDFAST_ASSERT(false);
  return std::nullopt;
}

// The request was not known when B0 looked.
AcceptNext decide_unknown(const AcceptKnowledge& k) {
  if (!k.size.has_value()) {
    return AcceptStep::check_size;
  }
  if (*k.size == SizeState::too_large) {
    return refuse(AcceptPhase::b1, Rejection::too_large);
  }
  if (!k.age.has_value()) {
    return AcceptStep::check_age;
  }
  if (*k.age == AgeState::stale) {
    return refuse(AcceptPhase::b1, Rejection::stale_retry);
  }
  if (!k.budget.has_value()) {
    return AcceptStep::consume_budget;
  }
  if (const auto rejection = rejection_for(*k.budget)) {
    return refuse(AcceptPhase::b1, *rejection);
  }
  if (!k.claim.has_value() || *k.claim == ClaimState::vanished) {
    return AcceptStep::claim;
  }
  if (*k.claim == ClaimState::match) {
    return AcceptAnswer{AcceptPhase::b2, Duplicate{}};
  }
  if (*k.claim == ClaimState::mismatch) {
    return refuse(AcceptPhase::b2, Rejection::idempotency_key_reused);
  }
  if (!k.destination.has_value()) {
    return AcceptStep::check_destination;
  }
  if (const auto rejection = rejection_for(*k.destination)) {
    return refuse(AcceptPhase::b2, *rejection);
  }
  return AcceptAnswer{AcceptPhase::b3, Accepted{}};
}

}  // namespace

AcceptNext decide_accept(const AcceptKnowledge& k) {
  if (!k.caller.has_value()) {
    return AcceptStep::authenticate;
  }
  if (const auto rejection = rejection_for(*k.caller)) {
    return refuse(AcceptPhase::b1, *rejection);
  }
  if (!k.request.has_value()) {
    return AcceptStep::check_request;
  }
  if (k.request->has_value()) {
    return refuse(AcceptPhase::b1, **k.request);
  }
  if (!k.known.has_value()) {
    return AcceptStep::read_dedupe;
  }
  switch (*k.known) {
    case KnownState::match:
      return AcceptAnswer{AcceptPhase::b0, Duplicate{}};
    case KnownState::mismatch:
      return refuse(AcceptPhase::b0, Rejection::idempotency_key_reused);
    case KnownState::absent:
      return decide_unknown(k);
  }
  HOLDFAST_ASSERT(false);
  return AcceptStep::authenticate;
}

}  // namespace holdfast::delivery
