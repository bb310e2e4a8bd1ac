// The requests of remote workers.
#pragma once

#include <string>
#include <vector>

#include "apps/server/worker_list.h"
#include "base/fields.h"
#include "runs/api/strict_reader.h"
#include "runs/facts/ids.h"

namespace holdfast {

// Requests attempts, alone or together with reports.
struct ClaimWorkRequest {
  std::string request;
  bool again = false;
  std::vector<SharedText> queues;
  std::vector<SharedText> handlers;
  std::uint64_t max = 1;
  std::uint64_t wait_ms = 0;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("request", self.request);
    v.optional("again", self.again);
    v.optional("queues", self.queues);
    v.required("handlers", self.handlers);
    v.optional("max", self.max);
    v.optional("wait_ms", self.wait_ms);
  }
};

struct ClaimRequestBody : ClaimWorkRequest {
  WorkerIdentity worker;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("worker", self.worker);
    ClaimWorkRequest::visit(self, v);
  }
};

// A claim, and the proof that the worker holds it.
struct ClaimReference {
  RunId run_id;
  SharedText runnable_key;
  SharedText claim_id;
  std::string token;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("runnable_key", self.runnable_key);
    v.required("claim_id", self.claim_id);
    v.required("token", self.token);
  }
};

struct HeartbeatClaim : ClaimReference {
  Payload progress;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    ClaimReference::visit(self, v);
    v.optional("progress", self.progress);
  }
};

struct HeartbeatBody {
  WorkerIdentity worker;
  std::vector<HeartbeatClaim> claims;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("worker", self.worker);
    v.required("claims", self.claims);
  }
};

enum class ReportedOutcome : std::uint8_t { ok, retry, fail, defer, continue_as_new };
template <>
inline constexpr std::string_view kEnumNames<ReportedOutcome>[] = {"ok", "retry", "fail", "defer",
                                                                   "continue_as_new"};

struct Report : ClaimReference {
  ReportedOutcome outcome = ReportedOutcome::ok;
  Payload result;
  std::string code;
  std::string message;
  std::string reason;
  std::string key;
  Payload input;
  Payload details;
  std::uint64_t schedule_in_ms = 0;
  std::optional<std::uint64_t> retry_after_ms;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    ClaimReference::visit(self, v);
    v.required("outcome", self.outcome);
    v.optional("result", self.result);
    v.optional("code", self.code);
    v.optional("message", self.message);
    v.optional("reason", self.reason);
    v.optional("key", self.key);
    v.optional("input", self.input);
    v.optional("details", self.details);
    v.optional("schedule_in_ms", self.schedule_in_ms);
    v.optional("retry_after_ms", self.retry_after_ms);
  }
};

struct ReportBody {
  WorkerIdentity worker;
  std::vector<Report> reports;
  std::optional<ClaimWorkRequest> claim;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("worker", self.worker);
    v.required("reports", self.reports);
    v.optional("claim", self.claim);
  }
};

struct ChildBody {
  WorkerIdentity worker;
  ClaimReference parent;
  std::string workflow;
  std::string key;
  ObjectPayload input;
  NonEmptyText queue;
  NonEmptyText trigger;
  ObjectPayload metadata;
  bool cancel_with_parent = false;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("worker", self.worker);
    v.required("parent", self.parent);
    v.required("workflow", self.workflow);
    v.required("key", self.key);
    v.optional("input", self.input);
    v.optional("queue", self.queue);
    v.optional("trigger", self.trigger);
    v.optional("metadata", self.metadata);
    v.optional("cancel_with_parent", self.cancel_with_parent);
  }
};

}  // namespace holdfast
