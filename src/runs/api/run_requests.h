// The commands on runs: one request type each, and the responses that are not views. The field
// list of a type is its JSON form in the HTTP API. The embedded library, the server, the client
// and the CLI use the same types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "holdfast/assert.h"
#include "holdfast/run.h"
#include "runs/api/strict_reader.h"
#include "runs/facts/graph_change.h"

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<CancelMode>[] = {"as_defined", "compensate", "stop"};

template <>
inline constexpr std::string_view kEnumNames<DeliveredRun::Outcome>[] = {"started", "existing",
                                                                         "skipped", "paused"};

struct StartRequest {
  std::string workflow;
  ObjectPayload input;  // empty: {}
  NonEmptyText run_id;  // excludes idempotency_key
  NonEmptyText idempotency_key;
  NonEmptyText queue;
  NonEmptyText trigger;
  ObjectPayload search_attributes;
  std::string actor;
  std::string comment;

  HOLDFAST_FIELDS(required(workflow), optional(input), optional(run_id), optional(idempotency_key),
                  optional(queue), optional(trigger), optional(search_attributes), optional(actor),
                  optional(comment));
};

// Of start, replay and child.
struct StartResponse {
  std::string run_id;
  bool existed = false;

  HOLDFAST_FIELDS(required(run_id), required(existed));
};

// Each start is read on its own, so that an invalid one fails alone.
struct StartBatchRequest {
  std::vector<Payload> runs;

  HOLDFAST_FIELDS(required(runs));
};

// Of one start of a batch: the run, or why it was not started.
struct StartResult {
  std::string run_id;
  std::optional<bool> existed;
  Payload problem;

  HOLDFAST_FIELDS(optional(run_id), optional(existed), optional(problem));
};

struct StartBatchResponse {
  std::vector<StartResult> results;

  HOLDFAST_FIELDS(required(results));
};

struct CancelRequest {
  CancelMode mode = CancelMode::as_defined;
  std::string actor;
  std::string comment;
  NonEmptyText idempotency_key;

  HOLDFAST_FIELDS(optional(mode), optional(actor), optional(comment), optional(idempotency_key));
};

struct SignalRequest {
  std::string event;
  ObjectPayload data;  // empty: {}
  NonEmptyText correlation;
  std::string actor;
  NonEmptyText idempotency_key;

  HOLDFAST_FIELDS(required(event), optional(data), optional(correlation), optional(actor),
                  optional(idempotency_key));
};

// Of resume, approve and reject.
struct DecisionRequest {
  NonEmptyText step;
  std::string actor;
  std::string comment;
  ObjectPayload metadata;
  NonEmptyText idempotency_key;

  HOLDFAST_FIELDS(optional(step), optional(actor), optional(comment), optional(metadata),
                  optional(idempotency_key));
};

// Attempts a parked step again.
struct RetryRequest {
  NonEmptyText step;
  ObjectPayload input;  // empty: the same as before
  NonEmptyText runnable_key;
  std::string actor;
  std::string comment;
  NonEmptyText idempotency_key;

  static void visit(auto& self, auto& v) {
    v.optional("step", self.step);
    v.optional("input", self.input);
    v.optional("runnable_key", self.runnable_key);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
    v.optional("idempotency_key", self.idempotency_key);
  }
};

// Fails a parked step.
struct DiscardRequest {
  NonEmptyText step;
  NonEmptyText runnable_key;
  std::string actor;
  std::string comment;
  NonEmptyText idempotency_key;

  static void visit(auto& self, auto& v) {
    v.optional("step", self.step);
    v.optional("runnable_key", self.runnable_key);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
    v.optional("idempotency_key", self.idempotency_key);
  }
};

struct ReplayRequest {
  NonEmptyText from_step;
  ObjectPayload input;
  bool allow_irreversible = false;
  NonEmptyText run_id;
  NonEmptyText definition;  // newest, or a fingerprint
  std::string actor;
  std::string comment;

  HOLDFAST_FIELDS(optional(from_step), optional(input), optional(allow_irreversible),
                  optional(run_id), optional(definition), optional(actor), optional(comment));
};

// Another definition for a run that has not ended.
struct MigrateRequest {
  NonEmptyText to = "newest";  // or a fingerprint
  std::string actor;
  std::string comment;

  HOLDFAST_FIELDS(optional(to), optional(actor), optional(comment));
};

// Steps and edges to add to a run, or to remove.
struct MutateRequest {
  std::string mutation_id;
  std::optional<std::uint64_t> expected_version;  // empty: any
  std::vector<GraphAddition> additions;
  std::vector<GraphRemoval> removals;
  std::string actor;
  std::string comment;

  HOLDFAST_FIELDS(required(mutation_id), optional(expected_version), optional(additions),
                  optional(removals), optional(actor), optional(comment));
};

struct AttributesRequest {
  ObjectPayload changes;
  NonEmptyText idempotency_key;

  HOLDFAST_FIELDS(required(changes), optional(idempotency_key));
};

struct ArchiveRequest {
  std::string reason;

  HOLDFAST_FIELDS(optional(reason));
};

struct UnarchiveRequest {
  static void visit(auto& /*self*/, auto& /*v*/) {}
};

// Ends a run and starts its successor. Embedded engines only.
struct ContinueRequest {
  ObjectPayload input;
  std::string key;
};

// Closes the open circuit breaker of a step.
struct CloseCircuitRequest {
  std::string workflow;
  std::string step;
  NonEmptyText queue;  // empty: in every queue
  std::string actor;
  std::string reason;

  HOLDFAST_FIELDS(required(workflow), required(step), optional(queue), optional(actor),
                  optional(reason));
};

struct CloseCircuitResponse {
  std::vector<std::string> closed;  // queues; empty: none was open

  HOLDFAST_FIELDS(required(closed));
};

// Of pausing and resuming a schedule.
struct ScheduleRequest {
  std::string actor;
  std::string comment;

  HOLDFAST_FIELDS(optional(actor), optional(comment));
};

// Starts a run of a schedule now.
struct TriggerRequest {
  ObjectPayload input;
  std::string actor;
  std::string comment;
  NonEmptyText idempotency_key;

  HOLDFAST_FIELDS(optional(input), optional(actor), optional(comment), optional(idempotency_key));
};

// Times in ISO 8601.
struct WindowRequest {
  std::string start_at;
  std::string end_at;

  HOLDFAST_FIELDS(required(start_at), required(end_at));
};

// A window of a schedule that a scheduler outside of the engine delivers.
struct DeliverRequest {
  NonEmptyText signal_id;  // empty: derived from the window
  std::optional<WindowRequest> intended_window;
  std::string actor;
  std::string comment;

  HOLDFAST_FIELDS(optional(signal_id), optional(intended_window), optional(actor),
                  optional(comment));
};

struct DeliverResponse {
  DeliveredRun::Outcome result = DeliveredRun::Outcome::started;
  std::string run_id;  // empty when the schedule is paused

  HOLDFAST_FIELDS(required(result), optional(run_id));
};

// The runs that a list or a bulk command selects.
struct RunFilterRequest {
  NonEmptyText workflow;
  NonEmptyNames statuses;
  NonEmptyText since;
  NonEmptyText until;
  ObjectPayload attributes;

  // It selects every run.
  [[nodiscard]] bool empty() const {
    return workflow.empty() && statuses.empty() && since.empty() && until.empty() &&
           attributes.empty();
  }

  HOLDFAST_FIELDS(optional(workflow), optional(statuses), optional(since), optional(until),
                  optional(attributes));
};

HOLDFAST_ENUM(BulkAction, cancel, retry);

struct BulkRequest {
  BulkAction action = BulkAction::cancel;
  RunFilterRequest filter;
  bool all = false;  // an empty filter is intended
  bool dry_run = false;
  std::uint64_t limit = 100;
  CancelMode mode = CancelMode::as_defined;
  bool allow_irreversible = false;
  std::string actor;
  std::string comment;
  NonEmptyText key = "retry";  // a retry under the same key finds the same new run

  HOLDFAST_FIELDS(required(action), optional(filter), optional(all), optional(dry_run),
                  optional(limit), optional(mode), optional(allow_irreversible), optional(actor),
                  optional(comment), optional(key));
};

struct BulkResult {
  std::string run_id;
  Payload problem;         // of a run for which the command failed
  std::string new_run_id;  // of a retry

  HOLDFAST_FIELDS(required(run_id), optional(problem), optional(new_run_id));
};

struct BulkResponse {
  BulkAction action = BulkAction::cancel;
  bool dry_run = false;
  std::uint64_t matched = 0;
  std::uint64_t done = 0;
  std::vector<BulkResult> runs;
  bool more = false;  // runs beyond the limit match too

  HOLDFAST_FIELDS(required(action), required(dry_run), required(matched), required(done),
                  required(runs), required(more));
};

// Of a start that waits, and of the outcome of a run.
struct OutcomeResponse {
  std::optional<bool> existed;  // of a start
  std::string run_id;
  std::string workflow;
  std::string status;
  bool terminal = false;
  Payload result;
  Payload error;

  HOLDFAST_FIELDS(optional(existed), required(run_id), optional(workflow), required(status),
                  required(terminal), optional(result), optional(error));
};

// The body of a request. invalid_argument names the fields that are missing.
template <HasFields T>
Result<std::string> request_json(const T& request) {
  const auto json = to_json(request);
  if (!json.ok()) {
    return as_argument(json.error(), "");
  }
  return std::string(json.value().view());
}

// The JSON of a response. Its required fields must be set: a client relies on them.
template <HasFields T>
std::string response_json(const T& response) {
  std::string json;
  json.reserve(kUsualBytes);
  HOLDFAST_ASSERT(append_json(json, response).ok());
  return json;
}

}  // namespace holdfast
