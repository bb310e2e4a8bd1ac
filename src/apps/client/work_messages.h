// What a worker and the server say to each other (docs/http-api.md, Workers).
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

// One incarnation of a worker.
struct WorkerIdentity {
  std::string id;      // its name and something random
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

// An attempt that is ours to execute.
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
  Payload progress;  // of an earlier holder
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

// What became of one report, or of one claim that was to be extended.
struct ClaimNews {
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

// To a claim, a report or a heartbeat.
struct WorkAnswer {
  std::vector<ClaimNews> results;
  std::vector<ClaimedAttempt> attempts;
  bool draining = false;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("results", self.results);
    v.optional("attempts", self.attempts);
    v.optional("draining", self.draining);
  }
};
// io_error when it is not what a server says; then the call may have been carried out.
Result<WorkAnswer> read_work_answer(std::string_view body);

// The wish for attempts.
struct ClaimWish {
  std::string request;  // its name
  bool again = false;   // there was no answer to the same before
  std::size_t max = 0;
  std::chrono::milliseconds wait{0};
};

// Writes the bodies of calls; what is the same in all of them is written once.
class WorkWriter {
 public:
  WorkWriter(const WorkerIdentity& worker, std::span<const std::string> queues,
             std::span<const SharedText> handlers);

  [[nodiscard]] std::string claim(const ClaimWish& wish) const;
  // reports: of write_report. wish: nullptr for none.
  [[nodiscard]] std::string report(std::span<const std::string_view> reports,
                                   const ClaimWish* wish) const;
  // claims: of write_proof.
  [[nodiscard]] std::string heartbeat(std::span<const std::string> claims) const;
  [[nodiscard]] std::string child(const ClaimedAttempt& parent, std::string_view workflow,
                                  std::string_view key, std::string_view input,
                                  const ChildOptions& options) const;

 private:
  void write_wish(std::string& out, const ClaimWish& wish) const;

  std::string worker_;  // {"worker":{...}
  std::string skills_;  // ,"queues":[...],"handlers":[...]
};

// {"run_id","runnable_key","claim_id","token"}, with the progress if there is any.
std::string write_proof(const ClaimedAttempt& attempt, const Payload& progress);
// {"run_id",...,"outcome",...}
std::string write_report(const ClaimedAttempt& attempt, const AttemptOutcome& outcome);

}  // namespace holdfast::client
