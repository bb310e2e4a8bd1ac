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

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<CancelMode>[] = {"as_defined", "compensate", "stop"};

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

  static void visit(auto& self, auto& v) {
    v.required("workflow", self.workflow);
    v.optional("input", self.input);
    v.optional("run_id", self.run_id);
    v.optional("idempotency_key", self.idempotency_key);
    v.optional("queue", self.queue);
    v.optional("trigger", self.trigger);
    v.optional("search_attributes", self.search_attributes);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
  }
};

// Of start, replay and child.
struct StartResponse {
  std::string run_id;
  bool existed = false;

  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.required("existed", self.existed);
  }
};

// Each start is read on its own, so that an invalid one fails alone.
struct StartBatchRequest {
  std::vector<Payload> runs;

  static void visit(auto& self, auto& v) { v.required("runs", self.runs); }
};

// Of one start of a batch: the run, or why it was not started.
struct StartResult {
  std::string run_id;
  std::optional<bool> existed;
  Payload problem;

  static void visit(auto& self, auto& v) {
    v.optional("run_id", self.run_id);
    v.optional("existed", self.existed);
    v.optional("problem", self.problem);
  }
};

struct StartBatchResponse {
  std::vector<StartResult> results;

  static void visit(auto& self, auto& v) { v.required("results", self.results); }
};

struct CancelRequest {
  CancelMode mode = CancelMode::as_defined;
  std::string actor;
  std::string comment;
  NonEmptyText idempotency_key;

  static void visit(auto& self, auto& v) {
    v.optional("mode", self.mode);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
    v.optional("idempotency_key", self.idempotency_key);
  }
};

struct SignalRequest {
  std::string event;
  ObjectPayload data;  // empty: {}
  NonEmptyText correlation;
  std::string actor;
  NonEmptyText idempotency_key;

  static void visit(auto& self, auto& v) {
    v.required("event", self.event);
    v.optional("data", self.data);
    v.optional("correlation", self.correlation);
    v.optional("actor", self.actor);
    v.optional("idempotency_key", self.idempotency_key);
  }
};

// Of resume, approve and reject.
struct DecisionRequest {
  NonEmptyText step;
  std::string actor;
  std::string comment;
  ObjectPayload metadata;
  NonEmptyText idempotency_key;

  static void visit(auto& self, auto& v) {
    v.optional("step", self.step);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
    v.optional("metadata", self.metadata);
    v.optional("idempotency_key", self.idempotency_key);
  }
};

struct ReplayRequest {
  NonEmptyText from_step;
  ObjectPayload input;
  bool allow_irreversible = false;
  NonEmptyText run_id;
  std::string actor;
  std::string comment;

  static void visit(auto& self, auto& v) {
    v.optional("from_step", self.from_step);
    v.optional("input", self.input);
    v.optional("allow_irreversible", self.allow_irreversible);
    v.optional("run_id", self.run_id);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
  }
};

struct AttributesRequest {
  ObjectPayload changes;
  NonEmptyText idempotency_key;

  static void visit(auto& self, auto& v) {
    v.required("changes", self.changes);
    v.optional("idempotency_key", self.idempotency_key);
  }
};

struct ArchiveRequest {
  std::string reason;

  static void visit(auto& self, auto& v) { v.optional("reason", self.reason); }
};

struct UnarchiveRequest {
  static void visit(auto& /*self*/, auto& /*v*/) {}
};

// Ends a run and starts its successor. Embedded engines only.
struct ContinueRequest {
  ObjectPayload input;
  std::string key;
};

// Of pausing and resuming a schedule.
struct ScheduleRequest {
  std::string actor;
  std::string comment;

  static void visit(auto& self, auto& v) {
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
  }
};

// Starts a run of a schedule now.
struct TriggerRequest {
  ObjectPayload input;
  std::string actor;
  std::string comment;
  NonEmptyText idempotency_key;

  static void visit(auto& self, auto& v) {
    v.optional("input", self.input);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
    v.optional("idempotency_key", self.idempotency_key);
  }
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

  static void visit(auto& self, auto& v) {
    v.optional("workflow", self.workflow);
    v.optional("statuses", self.statuses);
    v.optional("since", self.since);
    v.optional("until", self.until);
    v.optional("attributes", self.attributes);
  }
};

enum class BulkAction : std::uint8_t { cancel, retry };
template <>
inline constexpr std::string_view kEnumNames<BulkAction>[] = {"cancel", "retry"};

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

  static void visit(auto& self, auto& v) {
    v.required("action", self.action);
    v.optional("filter", self.filter);
    v.optional("all", self.all);
    v.optional("dry_run", self.dry_run);
    v.optional("limit", self.limit);
    v.optional("mode", self.mode);
    v.optional("allow_irreversible", self.allow_irreversible);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
    v.optional("key", self.key);
  }
};

struct BulkResult {
  std::string run_id;
  Payload problem;         // of a run for which the command failed
  std::string new_run_id;  // of a retry

  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.optional("problem", self.problem);
    v.optional("new_run_id", self.new_run_id);
  }
};

struct BulkResponse {
  BulkAction action = BulkAction::cancel;
  bool dry_run = false;
  std::uint64_t matched = 0;
  std::uint64_t done = 0;
  std::vector<BulkResult> runs;
  bool more = false;  // runs beyond the limit match too

  static void visit(auto& self, auto& v) {
    v.required("action", self.action);
    v.required("dry_run", self.dry_run);
    v.required("matched", self.matched);
    v.required("done", self.done);
    v.required("runs", self.runs);
    v.required("more", self.more);
  }
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

  static void visit(auto& self, auto& v) {
    v.optional("existed", self.existed);
    v.required("run_id", self.run_id);
    v.optional("workflow", self.workflow);
    v.required("status", self.status);
    v.required("terminal", self.terminal);
    v.optional("result", self.result);
    v.optional("error", self.error);
  }
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
