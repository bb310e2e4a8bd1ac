// The messages between a worker and the server (docs/http-api.md, Workers): claim attempts, keep
// the claims, report the outcomes, start children.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "runs/api/strict_reader.h"
#include "runs/facts/ids.h"

namespace holdfast {

// One process of a worker, as it identifies itself in each call.
struct WorkerIdentity {
  std::string id;      // its name and a random part
  std::string secret;  // 32 random bytes, base64url; its claims are derived from it
  std::string name;
  std::string version;

  HOLDFAST_FIELDS(required(id), optional(secret), optional(name), optional(version));
};

// Requests attempts, alone or together with reports.
struct AttemptsRequest {
  std::string request;  // its name, the same in every repetition
  bool again = false;   // an earlier call of the same name had no response
  std::vector<SharedText> queues;
  std::vector<SharedText> handlers;
  std::uint64_t max = 1;
  std::uint64_t wait_ms = 0;

  HOLDFAST_FIELDS(required(request), optional(again), optional(queues), required(handlers),
                  optional(max), optional(wait_ms));
};

struct ClaimWorkRequest : AttemptsRequest {
  WorkerIdentity worker;

  static void visit(auto& self, auto& v) {
    v.required("worker", self.worker);
    AttemptsRequest::visit(self, v);
  }
};

// A claim, and the proof that the worker holds it.
struct ClaimReference {
  RunId run_id;
  SharedText runnable_key;
  SharedText claim_id;
  SharedText token;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), required(claim_id), required(token));
};

struct HeartbeatClaim : ClaimReference {
  Payload progress;

  static void visit(auto& self, auto& v) {
    ClaimReference::visit(self, v);
    v.optional("progress", self.progress);
  }
};

struct HeartbeatWorkRequest {
  WorkerIdentity worker;
  std::vector<HeartbeatClaim> claims;

  HOLDFAST_FIELDS(required(worker), required(claims));
};

HOLDFAST_ENUM(ReportedOutcome, ok, retry, fail, defer, continue_as_new);

struct Report : ClaimReference {
  ReportedOutcome outcome = ReportedOutcome::ok;
  Payload result;
  std::string code;
  std::string message;
  std::string reason;
  std::string key;
  Payload input;
  Payload details;
  ObjectPayload graph;  // a GraphChange; the step fails when it is not one
  std::uint64_t schedule_in_ms = 0;
  std::optional<std::uint64_t> retry_after_ms;

  static void visit(auto& self, auto& v) {
    ClaimReference::visit(self, v);
    v.required("outcome", self.outcome);
    v.optional("result", self.result);
    v.optional("code", self.code);
    v.optional("message", self.message);
    v.optional("reason", self.reason);
    v.optional("key", self.key);
    v.optional("input", self.input);
    v.optional("details", self.details);
    v.optional("graph", self.graph);
    v.optional("schedule_in_ms", self.schedule_in_ms);
    v.optional("retry_after_ms", self.retry_after_ms);
  }
};

struct ReportWorkRequest {
  WorkerIdentity worker;
  std::vector<Report> reports;
  std::optional<AttemptsRequest> claim;

  HOLDFAST_FIELDS(required(worker), required(reports), optional(claim));
};

struct ChildRequest {
  WorkerIdentity worker;
  ClaimReference parent;
  std::string workflow;
  std::string key;
  ObjectPayload input;
  NonEmptyText queue;
  NonEmptyText trigger;
  ObjectPayload metadata;
  bool cancel_with_parent = false;

  HOLDFAST_FIELDS(required(worker), required(parent), required(workflow), required(key),
                  optional(input), optional(queue), optional(trigger), optional(metadata),
                  optional(cancel_with_parent));
};

// An attempt that the worker holds the claim of.
struct ClaimedAttempt {
  RunId run_id;
  std::string workflow;
  std::string step;
  SharedText handler;
  std::string queue;
  SharedText runnable_key;
  std::string idempotency_key;
  std::uint32_t attempt = 1;
  std::uint32_t visit_number = 1;
  std::int64_t item = -1;
  Payload input;
  Payload trace;
  Payload progress;  // of an earlier claim
  SharedText claim_id;
  SharedText token;
  std::uint64_t lease_ms = 30'000;
  TimeMs lease_until;
  ObjectPayload spec;  // of the step in the definition

  [[nodiscard]] ClaimReference reference() const { return {run_id, runnable_key, claim_id, token}; }

  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.required("workflow", self.workflow);
    v.required("step", self.step);
    v.required("handler", self.handler);
    v.required("queue", self.queue);
    v.required("runnable_key", self.runnable_key);
    v.required("idempotency_key", self.idempotency_key);
    v.required("attempt", self.attempt);
    v.required("visit", self.visit_number);
    v.required("item", self.item);
    v.optional("input", self.input);
    v.optional("trace", self.trace);
    v.optional("progress", self.progress);
    v.required("claim_id", self.claim_id);
    v.required("token", self.token);
    v.required("lease_ms", self.lease_ms);
    v.required("lease_until", self.lease_until);
    v.optional("spec", self.spec);
  }
};

struct ReportResult {
  SharedText claim_id;
  bool counted = false;
  Payload problem;  // of a report that does not count

  HOLDFAST_FIELDS(required(claim_id), required(counted), optional(problem));
};

struct ClaimResponse {
  std::vector<ClaimedAttempt> attempts;
  bool draining = false;

  HOLDFAST_FIELDS(required(attempts), required(draining));
};

struct ReportResponse : ClaimResponse {
  std::vector<ReportResult> results;

  static void visit(auto& self, auto& v) {
    v.required("results", self.results);
    ClaimResponse::visit(self, v);
  }
};

// Of a claim that continues: lease_until and stop. Of a lost one: cancelled and problem.
struct HeartbeatResult {
  SharedText claim_id;
  bool lost = false;
  std::optional<TimeMs> lease_until;
  std::optional<bool> stop;       // the run is being compensated
  std::optional<bool> cancelled;  // the run has ended
  Payload problem;

  HOLDFAST_FIELDS(required(claim_id), required(lost), optional(lease_until), optional(stop),
                  optional(cancelled), optional(problem));
};

struct HeartbeatResponse {
  std::vector<HeartbeatResult> results;
  bool draining = false;

  HOLDFAST_FIELDS(required(results), required(draining));
};

}  // namespace holdfast
