// The queries on runs and on the store: one request type each. The members are the parameters of
// the URL: those that the path of the operation names, and the query parameters. `run` is an id,
// the first or last characters of one, or "latest"; `at`, `from` and `to` are points in time as At
// parses them. A member without a value is not sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "access/http_operation.h"
#include "base/fields.h"
#include "runs/api/strict_reader.h"

namespace holdfast {

inline constexpr std::uint64_t kMostPerPage = 1000;
inline constexpr std::uint64_t kLongestWaitMs = 60'000;

// A view of a run, now or at an earlier point.
struct RunAtRequest {
  std::string run = {};
  std::string at = {};

  HOLDFAST_FIELDS(required(run), optional(at));
};

struct ShowRequest : RunAtRequest {};
struct ExplainRequest : RunAtRequest {};

HOLDFAST_ENUM(GraphForm, tree, dot, mermaid);

struct GraphRequest : RunAtRequest {
  bool history = false;  // as JSON: also the input and output of each step
  GraphForm form = GraphForm::tree;

  static void visit(auto& self, auto& v) {
    RunAtRequest::visit(self, v);
    v.optional("history", self.history);
    v.optional("form", self.form);
  }
};

struct TimelineRequest : RunAtRequest {
  bool events = false;  // as text: one line per event instead of bars

  static void visit(auto& self, auto& v) {
    RunAtRequest::visit(self, v);
    v.optional("events", self.events);
  }
};

struct FactsRequest : RunAtRequest {
  NumberUpTo<UINT32_MAX> from = {};  // a revision
  PageLimit<kMostPerPage> limit = {};

  static void visit(auto& self, auto& v) {
    RunAtRequest::visit(self, v);
    v.optional("from", self.from);
    v.optional("limit", self.limit);
  }
};

struct DiffRequest {
  std::string run = {};
  std::string from = {};
  std::string to = {};

  HOLDFAST_FIELDS(required(run), optional(from), optional(to));
};

struct OutcomeRequest {
  std::string run = {};
  NumberUpTo<kLongestWaitMs> wait = {};  // milliseconds

  HOLDFAST_FIELDS(required(run), optional(wait));
};

HOLDFAST_ENUM(RunOrder, newest, oldest);

struct ListRequest {
  std::string workflow = {};
  std::vector<std::string> statuses = {};
  std::string since = {};
  std::string until = {};
  std::vector<std::string> attributes = {};  // NAME=VALUE
  PageLimit<kMostPerPage> limit = {};
  std::string cursor = {};
  RunOrder order = RunOrder::newest;
  bool archived = false;
  std::string at = {};

  static void visit(auto& self, auto& v) {
    v.optional("workflow", self.workflow);
    v.optional("status", self.statuses);
    v.optional("since", self.since);
    v.optional("until", self.until);
    v.optional("attribute", self.attributes);
    v.optional("limit", self.limit);
    v.optional("cursor", self.cursor);
    v.optional("order", self.order);
    v.optional("archived", self.archived);
    v.optional("at", self.at);
  }
};

// Of the store, and of one run.
struct EventsRequest {
  std::vector<std::string> kinds = {};
  std::vector<std::string> workflows = {};
  std::vector<std::string> runs = {};
  std::string thread = {};
  std::string after = {};

  static void visit(auto& self, auto& v) {
    v.optional("kind", self.kinds);
    v.optional("workflow", self.workflows);
    v.optional("run", self.runs);
    v.optional("thread", self.thread);
    v.optional("after", self.after);
  }
};

struct StoreAtRequest {
  std::string at = {};

  HOLDFAST_FIELDS(optional(at));
};

struct StatusRequest : StoreAtRequest {};
struct DoctorRequest : StoreAtRequest {};

struct WorkflowsRequest : NoParameters {};

// NAME, NAME@VERSION or NAME@FINGERPRINT.
struct WorkflowRequest {
  std::string workflow = {};

  HOLDFAST_FIELDS(required(workflow));
};

struct VersionsRequest : WorkflowRequest {};

struct WorkflowDiffRequest : WorkflowRequest {
  std::string from = {};
  std::string to = {};

  static void visit(auto& self, auto& v) {
    WorkflowRequest::visit(self, v);
    v.optional("from", self.from);
    v.optional("to", self.to);
  }
};

struct QueuesRequest : NoParameters {};
struct WorkersRequest : NoParameters {};
struct ApprovalsRequest : NoParameters {};

// Attempts that failed and were the last ones of their steps: see DeadLetter.
struct DeadLettersRequest {
  NonEmptyText run_id;
  NonEmptyText queue;
  NonEmptyText workflow;
  NonEmptyText step;    // of the definition: also its visits, items and compensation
  NonEmptyText code;    // of the error
  NonEmptyText reason;  // parked or exhausted
  PageLimit<kMostPerPage> limit = {};
  NonEmptyText cursor;

  static void visit(auto& self, auto& v) {
    v.optional("run_id", self.run_id);
    v.optional("queue", self.queue);
    v.optional("workflow", self.workflow);
    v.optional("step", self.step);
    v.optional("code", self.code);
    v.optional("reason", self.reason);
    v.optional("limit", self.limit);
    v.optional("cursor", self.cursor);
  }
};
struct TokensRequest : NoParameters {};

struct SchedulesRequest {
  NumberUpTo<100> next = {};  // upcoming times of each

  HOLDFAST_FIELDS(optional(next));
};

}  // namespace holdfast
