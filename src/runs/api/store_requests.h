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

  static void visit(auto& self, auto& v) { v.optional("dry_run", self.dry_run); }
};

struct RegisterResponse {
  std::string workflow;
  AnyText version;
  std::string fingerprint;
  bool existed = false;  // it was the current definition before
  bool dry_run = false;

  static void visit(auto& self, auto& v) {
    v.required("workflow", self.workflow);
    v.required("version", self.version);
    v.required("fingerprint", self.fingerprint);
    v.required("existed", self.existed);
    v.required("dry_run", self.dry_run);
  }
};

struct Schedule {
  std::string workflow;
  std::string trigger;
  std::string cron;
  AnyText timezone;
  bool paused = false;
  std::optional<TimeMs> paused_at;
  AnyText paused_by;
  std::vector<TimeMs> next;

  static void visit(auto& self, auto& v) {
    v.required("workflow", self.workflow);
    v.required("trigger", self.trigger);
    v.required("cron", self.cron);
    v.required("timezone", self.timezone);
    v.required("paused", self.paused);
    v.optional("paused_at", self.paused_at);
    v.optional("paused_by", self.paused_by);
    v.required("next", self.next);
  }
};

struct SchedulesResponse {
  std::vector<Schedule> schedules;

  static void visit(auto& self, auto& v) { v.required("schedules", self.schedules); }
};

// Of pausing and resuming a schedule.
struct ScheduleResponse {
  std::string workflow;
  std::string trigger;
  bool paused = false;

  static void visit(auto& self, auto& v) {
    v.required("workflow", self.workflow);
    v.required("trigger", self.trigger);
    v.required("paused", self.paused);
  }
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

  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.required("workflow", self.workflow);
    v.required("step", self.step);
    v.required("kind", self.kind);
    v.required("since", self.since);
    v.optional("reason", self.reason);
    v.optional("details", self.details);
  }
};

struct ApprovalsResponse {
  std::vector<Approval> approvals;

  static void visit(auto& self, auto& v) { v.required("approvals", self.approvals); }
};

struct StoredFact {
  std::uint64_t position = 0;
  std::uint64_t seq = 0;
  std::string kind;
  TimeMs at;
  Payload data;

  static void visit(auto& self, auto& v) {
    v.required("position", self.position);
    v.required("seq", self.seq);
    v.required("kind", self.kind);
    v.required("at", self.at);
    v.required("data", self.data);
  }
};

struct FactsResponse {
  std::string run_id;
  std::vector<StoredFact> facts;
  std::optional<std::uint64_t> next;  // `from` of the next page

  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.required("facts", self.facts);
    v.optional("next", self.next);
  }
};

struct CreateTokenRequest {
  std::string name;
  Role role = Role::viewer;
  NonEmptyNames queues;
  NonEmptyNames workflows;
  std::optional<TimeMs> expires_at;

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.required("role", self.role);
    v.optional("queues", self.queues);
    v.optional("workflows", self.workflows);
    v.optional("expires_at", self.expires_at);
  }
};

struct CreateTokenResponse {
  std::string id;
  std::string token;      // the only response that has it
  ObjectPayload created;  // as lists show it

  static void visit(auto& self, auto& v) {
    v.required("id", self.id);
    v.required("token", self.token);
    v.required("created", self.created);
  }
};

struct RevokeTokenResponse {
  std::string id;
  bool revoked = true;

  static void visit(auto& self, auto& v) {
    v.required("id", self.id);
    v.required("revoked", self.revoked);
  }
};

struct HealthResponse {
  std::string status = "ok";

  static void visit(auto& self, auto& v) { v.required("status", self.status); }
};

struct ReadinessResponse {
  bool ready = true;
  std::string reason;

  static void visit(auto& self, auto& v) {
    v.required("ready", self.ready);
    v.optional("reason", self.reason);
  }
};

// The caller, as the server knows it.
struct CallerInfo {
  AnyText name;
  Role role = Role::viewer;

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.required("role", self.role);
  }
};

struct ServerResponse {
  AnyText version;
  AnyText store;  // its kind
  TimeMs started_at;
  std::uint64_t position = 0;
  bool draining = false;
  CallerInfo you;

  static void visit(auto& self, auto& v) {
    v.required("version", self.version);
    v.required("store", self.store);
    v.required("started_at", self.started_at);
    v.required("position", self.position);
    v.required("draining", self.draining);
    v.required("you", self.you);
  }
};

}  // namespace holdfast
