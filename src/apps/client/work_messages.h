// The messages between a worker and the server (docs/http-api.md, Workers).
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "holdfast/result.h"
#include "holdfast/step.h"
#include "runs/facts/attempt_outcome.h"

namespace holdfast::client {

// One process of a worker.
struct WorkerIdentity {
  std::string id;      // its name and a random part
  std::string secret;  // 32 random bytes, base64url
  std::string name;
  std::string version;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("id", self.id);
    v.required("secret", self.secret);
    v.optional("name", self.name);
    v.optional("version", self.version);
  }
};

// An attempt that this worker holds the claim of.
struct ClaimedAttempt {
  std::string run_id;
  std::string workflow;
  std::string step;
  SharedText handler;
  std::string queue;
  std::string runnable_key;
  std::string idempotency_key;
  std::uint32_t attempt = 1;
  std::uint32_t visit_number = 1;
  std::int64_t item = -1;
  Payload input;
  Payload trace;
  Payload progress;  // of an earlier claim
  SharedText claim_id;
  std::string token;
  std::uint64_t lease_ms = 30'000;
  Payload spec;  // of http and exec steps

  [[nodiscard]] StepInfo info() const;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.optional("workflow", self.workflow);
    v.required("step", self.step);
    v.required("handler", self.handler);
    v.optional("queue", self.queue);
    v.required("runnable_key", self.runnable_key);
    v.optional("idempotency_key", self.idempotency_key);
    v.optional("attempt", self.attempt);
    v.optional("visit", self.visit_number);
    v.optional("item", self.item);
    v.optional("input", self.input);
    v.optional("trace", self.trace);
    v.optional("progress", self.progress);
    v.required("claim_id", self.claim_id);
    v.required("token", self.token);
    v.optional("lease_ms", self.lease_ms);
    v.optional("spec", self.spec);
  }
};

// The result of one report or of one heartbeat.
struct ClaimResult {
  SharedText claim_id;
  bool counted = false;
  bool stop = false;
  bool lost = false;
  bool cancelled = false;
  Payload problem;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("claim_id", self.claim_id);
    v.optional("counted", self.counted);
    v.optional("stop", self.stop);
    v.optional("lost", self.lost);
    v.optional("cancelled", self.cancelled);
    v.optional("problem", self.problem);
  }
};

// The response to a claim, a report or a heartbeat.
struct WorkAnswer {
  std::vector<ClaimResult> results;
  std::vector<ClaimedAttempt> attempts;
  bool draining = false;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("results", self.results);
    v.optional("attempts", self.attempts);
    v.optional("draining", self.draining);
  }
};
// io_error if it is not a response of a server; then the call may have been processed.
Result<WorkAnswer> read_work_answer(std::string_view body);

// A request for attempts.
struct ClaimRequest {
  std::string request;  // its name, the same in every repetition
  bool again = false;   // an earlier call of the same name had no response
  std::size_t max = 0;
  std::chrono::milliseconds wait{0};
};

// Writes the bodies of calls; their constant parts are written once.
class WorkWriter {
 public:
  WorkWriter(const WorkerIdentity& worker, std::span<const std::string> queues,
             std::span<const SharedText> handlers);

  [[nodiscard]] std::string claim(const ClaimRequest& request) const;
  // reports: from write_report. claim: nullptr for none.
  [[nodiscard]] std::string report(std::span<const std::string_view> reports,
                                   const ClaimRequest* claim) const;
  // claims: from write_proof.
  [[nodiscard]] std::string heartbeat(std::span<const std::string> claims) const;
  [[nodiscard]] std::string child(const ClaimedAttempt& parent, std::string_view workflow,
                                  std::string_view key, std::string_view input,
                                  const ChildOptions& options) const;

 private:
  void write_claim(std::string& out, const ClaimRequest& request) const;

  std::string worker_;  // {"worker":{...}
  std::string offer_;   // ,"queues":[...],"handlers":[...]
};

// {"run_id","runnable_key","claim_id","token"}, with the progress, if any.
std::string write_proof(const ClaimedAttempt& attempt, const Payload& progress);
// {"run_id",...,"outcome",...}
std::string write_report(const ClaimedAttempt& attempt, const AttemptOutcome& outcome);

}  // namespace holdfast::client
