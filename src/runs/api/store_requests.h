// The commands and queries on what is not one run: workflows, schedules, queues, workers, tokens
// and the server itself. Requests with a body, and the responses that are not views.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "access/roles.h"
#include "base/fields.h"
#include "runs/api/strict_reader.h"

namespace holdfast {

// A text that may be empty and is written all the same.
using AnyText = std::optional<std::string>;

// Parameters of registering a workflow; the body is its definition.
struct RegisterRequest {
  bool dry_run = false;

  HOLDFAST_FIELDS(optional(dry_run));
};

// Why a run cannot continue on a definition.
struct MigrationReason {
  std::string blocker;
  std::string step;  // empty: the whole run
  std::string message;

  HOLDFAST_FIELDS(required(blocker), optional(step), required(message));
};

// Whether a run that has not ended could continue on a definition.
struct MigrationCheck {
  std::string run_id;
  std::string status;
  bool can_migrate = false;
  std::vector<MigrationReason> problems;

  HOLDFAST_FIELDS(required(run_id), required(status), required(can_migrate), required(problems));
};

struct RegisterResponse {
  std::string workflow;
  AnyText version;
  std::string fingerprint;
  bool existed = false;  // it was the current definition before
  bool dry_run = false;
  std::vector<MigrationCheck> runs;  // of a dry run
  bool more = false;                 // there are more runs than those

  HOLDFAST_FIELDS(required(workflow), required(version), required(fingerprint), required(existed),
                  required(dry_run), optional(runs), optional(more));
};

struct Schedule {
  std::string workflow;
  std::string trigger;
  std::string cron;
  AnyText timezone;
  bool external = false;  // a scheduler outside of the engine delivers its windows
  bool paused = false;
  std::optional<TimeMs> paused_at;
  AnyText paused_by;
  std::vector<TimeMs> next;

  HOLDFAST_FIELDS(required(workflow), required(trigger), required(cron), required(timezone),
                  required(external), required(paused), optional(paused_at), optional(paused_by),
                  required(next));
};

struct SchedulesResponse {
  std::vector<Schedule> schedules;

  HOLDFAST_FIELDS(required(schedules));
};

// Of pausing and resuming a schedule.
struct ScheduleResponse {
  std::string workflow;
  std::string trigger;
  bool paused = false;

  HOLDFAST_FIELDS(required(workflow), required(trigger), required(paused));
};

// A step that waits for a decision.
struct Approval {
  std::string run_id;
  std::string workflow;
  std::string step;
  std::string kind;  // approval or pause
  TimeMs since;
  std::string reason;
  Payload details;

  HOLDFAST_FIELDS(required(run_id), required(workflow), required(step), required(kind),
                  required(since), optional(reason), optional(details));
};

struct ApprovalsResponse {
  std::vector<Approval> approvals;

  HOLDFAST_FIELDS(required(approvals));
};

// parked: the step waits for an operator. exhausted: the run has failed with it.
HOLDFAST_ENUM(DeadLetterReason, parked, exhausted);

// An attempt that failed and was the last one of its step.
struct DeadLetter {
  DeadLetterReason reason = DeadLetterReason::parked;
  std::string run_id;
  std::string workflow;
  std::string step;
  std::string queue;
  std::string runnable_key;
  std::string idempotency_key;
  std::uint32_t attempts = 0;
  TimeMs since;
  std::int64_t age_ms = 0;
  Payload error;
  Payload input;

  HOLDFAST_FIELDS(required(reason), required(run_id), required(workflow), required(step),
                  required(queue), required(runnable_key), required(idempotency_key),
                  required(attempts), required(since), required(age_ms), required(error),
                  optional(input));
};

struct DeadLettersResponse {
  std::vector<DeadLetter> dead_letters;
  std::string next;  // `cursor` of the next page

  HOLDFAST_FIELDS(required(dead_letters), optional(next));
};

struct DeadLetterFilter {
  NonEmptyText run_id;
  NonEmptyText queue;
  NonEmptyText workflow;
  NonEmptyText step;
  NonEmptyText code;
  std::optional<DeadLetterReason> reason;

  // It selects every dead letter.
  [[nodiscard]] bool empty() const {
    return run_id.empty() && queue.empty() && workflow.empty() && step.empty() && code.empty() &&
           !reason.has_value();
  }

  HOLDFAST_FIELDS(optional(run_id), optional(queue), optional(workflow), optional(step),
                  optional(code), optional(reason));
};

HOLDFAST_ENUM(DeadLetterAction, redrive, discard);

struct DeadLetterBulkRequest {
  DeadLetterAction action = DeadLetterAction::redrive;
  DeadLetterFilter filter;
  bool all = false;  // an empty filter is intended
  bool dry_run = false;
  std::uint64_t limit = 100;
  std::string actor;
  std::string comment;

  HOLDFAST_FIELDS(required(action), optional(filter), optional(all), optional(dry_run),
                  optional(limit), optional(actor), optional(comment));
};

struct DeadLetterResult {
  std::string run_id;
  std::string step;
  std::string runnable_key;
  std::string replay_run_id;  // of an exhausted attempt that was redriven: the new run
  Payload problem;            // of a dead letter for which the command failed

  HOLDFAST_FIELDS(required(run_id), required(step), required(runnable_key), optional(replay_run_id),
                  optional(problem));
};

struct DeadLetterBulkResponse {
  DeadLetterAction action = DeadLetterAction::redrive;
  bool dry_run = false;
  std::uint64_t matched = 0;
  std::uint64_t done = 0;
  std::vector<DeadLetterResult> dead_letters;
  bool more = false;  // dead letters beyond the limit match too

  HOLDFAST_FIELDS(required(action), required(dry_run), required(matched), required(done),
                  required(dead_letters), required(more));
};

struct StoredFact {
  std::uint64_t position = 0;
  std::uint64_t seq = 0;
  std::string kind;
  TimeMs at;
  Payload data;

  HOLDFAST_FIELDS(required(position), required(seq), required(kind), required(at), required(data));
};

struct FactsResponse {
  std::string run_id;
  std::vector<StoredFact> facts;
  std::optional<std::uint64_t> next;  // `from` of the next page

  HOLDFAST_FIELDS(required(run_id), required(facts), optional(next));
};

struct CreateTokenRequest {
  std::string name;
  Role role = Role::viewer;
  NonEmptyNames queues;
  NonEmptyNames workflows;
  std::optional<TimeMs> expires_at;

  HOLDFAST_FIELDS(required(name), required(role), optional(queues), optional(workflows),
                  optional(expires_at));
};

struct CreateTokenResponse {
  std::string id;
  std::string token;      // the only response that has it
  ObjectPayload created;  // as lists show it

  HOLDFAST_FIELDS(required(id), required(token), required(created));
};

struct RevokeTokenResponse {
  std::string id;
  bool revoked = true;

  HOLDFAST_FIELDS(required(id), required(revoked));
};

struct HealthResponse {
  std::string status = "ok";

  HOLDFAST_FIELDS(required(status));
};

// Of the lease backends that carry queues of the server. Without names: no token is needed to read
// it.
struct BackendCounts {
  std::uint64_t bound = 0;
  std::uint64_t unreachable = 0;

  HOLDFAST_FIELDS(required(bound), required(unreachable));
};

struct ReadinessResponse {
  bool ready = true;
  std::string reason;
  std::optional<BackendCounts> backends;  // empty: no queue is bound

  HOLDFAST_FIELDS(required(ready), optional(reason), optional(backends));
};

// The caller, as the server knows it.
struct CallerInfo {
  AnyText name;
  Role role = Role::viewer;

  HOLDFAST_FIELDS(required(name), required(role));
};

struct ServerResponse {
  AnyText version;
  AnyText store;  // its kind
  TimeMs started_at;
  std::uint64_t position = 0;
  bool draining = false;
  CallerInfo you;

  HOLDFAST_FIELDS(required(version), required(store), required(started_at), required(position),
                  required(draining), required(you));
};

}  // namespace holdfast
