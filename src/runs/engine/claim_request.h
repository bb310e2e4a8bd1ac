// ClaimRequest: somebody who wants an attempt to execute. The loop gives it the next one it can
// execute; the claim is durable before `assigned` is called.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runs/dispatch/dispatch_decide.h"
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
  SharedText token;  // the secret of the claim; the journal knows only its hash
  TimeMs lease_until;
  std::uint64_t lease_ms = 0;
  std::shared_ptr<const Definition> definition = nullptr;  // of steps the engine's workers know
};

// What the holder of an assignment shows.
ClaimProof proof_of(const Assignment& assignment);

// A claimant and the token its claim will be proved with.
struct Applicant {
  Claimant claimant;
  SharedText token;
};

struct Skills {
  std::vector<SharedText> queues;    // in the order they are looked at; empty: all there are
  std::vector<SharedText> handlers;  // empty: anything
};

struct ClaimRequest {
  // Workers that can do the same share it: one look serves them all.
  std::shared_ptr<const Skills> skills;
  Applicant applicant;
  // Called once, from the thread that drives the loop: with an attempt, or why there is none.
  // engine_stopped: there will be none. Otherwise the input could not be read, and the claim is
  // left to its lease.
  std::function<void(Result<Assignment>)> assigned;
  // If set, the loop keeps the claim alive until it is dropped, and calls this when it is lost.
  std::function<void(const SharedText& claim_id, const Error&)> lost;
};

using ClaimRequestPtr = std::shared_ptr<ClaimRequest>;

}  // namespace holdfast
