// ClaimRequest: a worker's request for one or more attempts to execute. The loop claims as many as
// it can for it; a claim is durable before the worker learns of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runs/dispatch/dispatch_decide.h"
#include "runs/engine/served_queues.h"
#include "runs/language/definition/definition.h"

namespace holdfast {

// A claimed attempt, as its worker needs it.
struct Assignment {
  RunId run_id;
  SharedText runnable_key;
  SharedText idempotency_key;
  SharedText workflow;
  SharedText step;
  SharedText handler;
  SharedText queue;
  std::uint32_t attempt_number = 0;
  Payload input;
  std::optional<StoredPayload> stored_input = {};  // where the input is, until it was read
  Payload trace;
  Payload progress;  // of an earlier holder of the attempt
  SharedText claim_id;
  SharedText token;  // the secret of the claim; the journal stores only its hash
  TimeMs lease_until;
  std::uint64_t lease_ms = 0;
  std::shared_ptr<const Definition> definition = nullptr;  // of steps built into workers
};

// What the holder of an assignment proves its claim with.
ClaimProof proof_of(const Assignment& assignment);

// A claimant and the token its claim will be proved with.
struct Applicant {
  Claimant claimant;
  SharedText token;
};

struct Skills {
  ServedQueues queues;
  std::vector<SharedText> handlers;  // empty: all handlers
};

struct ClaimRequest {
  // Requests that share it wait in one line: if the first finds nothing, the others are not tried.
  std::shared_ptr<const Skills> skills;
  // One for each attempt that is requested, used in this order.
  std::vector<Applicant> applicants;
  // What completes the request: the first commit that claims anything for it, or the last attempt.
  enum class Completes : std::uint8_t { with_any, with_all };
  Completes completes = Completes::with_any;
  // Called from the thread that drives the loop, for each commit that claims attempts, with one
  // result for each of them. An error of the store: the input could not be read, and the claim is
  // left to its lease. engine_stopped, for each attempt not yet claimed: there will be none.
  std::function<void(std::vector<Result<Assignment>>)> assigned;
  // If set, the loop keeps the claims alive until they are dropped, and calls this when one is
  // lost.
  std::function<void(const SharedText& claim_id, const Error&)> lost = nullptr;

  // Only the core uses what follows.
  enum class State : std::uint8_t {
    created,
    waiting,   // in line
    complete,  // nothing more is to be claimed
    withdrawn,
  };
  State state = State::created;
  std::size_t used = 0;                               // applicants with claims
  std::function<void(std::size_t)> undone = nullptr;  // of a request that was withdrawn

  [[nodiscard]] std::size_t open() const { return applicants.size() - used; }
  // Nothing more is to be claimed than what was claimed already. Returns the difference.
  std::size_t withdraw_open() {
    const std::size_t count = open();
    applicants.resize(used);
    state = used == 0 ? State::withdrawn : State::complete;
    return count;
  }
};

using ClaimRequestPtr = std::shared_ptr<ClaimRequest>;

}  // namespace holdfast
