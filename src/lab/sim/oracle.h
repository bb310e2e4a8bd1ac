// Oracle: the guarantees of Holdfast about attempts and runs, as a model that is small and slow and
// shares no code with the engine. It reads facts as plain JSON in the order in which they became
// durable, keeps their meaning in ordinary maps, and determines which facts must follow. It can be
// read as the specification of how Holdfast behaves.
//
// The simulator passes everything to it in its true order: the answers to clients at the point
// where they were decided, and the facts of the log. The oracle returns violations: sentences that
// state which guarantee was violated, where, and how.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"

namespace holdfast::sim {

// A fact as it is stored.
struct StoredFact {
  std::uint64_t position = 0;  // of its batch
  std::uint32_t index = 0;     // in its batch
  std::string thread;          // "run:<id>", "dispatch:<queue>", ...
  std::uint64_t seq = 0;
  std::string kind;
  TimeMs at;
  std::string data;  // JSON text
};

// A request of a client and the answer to it. The oracle receives it where it was decided: after
// every fact it is based on, before the facts it caused.
struct Answer {
  enum class What : std::uint8_t {
    start,  // params: run_id, workflow, definition (fingerprint), input, key
    claim,  // params: queues, handlers ([]: any), claim_id; result: the assignment. Passed when the
            // attempt is assigned: after its fact, perhaps much later
    heartbeat,      // params: run_id, runnable_key, claim_id, token_hash
    complete,       // the same, and result, execution_opts
    fail,           // the same, and error, retryable
    event,          // params: run_id, event, correlation, payload, key
    resolve,        // params: run_id, step, action (approved, rejected, resumed), actor, key
    cancel,         // params: run_id, reason, key
    other,          // any other command: only its position is checked
    registration,   // params: definition (fingerprint)
    delivery,       // params: workflow, trigger, signal_id (or empty), start_at, end_at
    schedule,       // params: workflow, trigger, paused
    replay,         // params: run_id (of the original), new_run_id, from_step, allow_irreversible,
                    // definition (as `to` of migrate; empty: that of the original)
    migrate,        // params: run_id, to (a fingerprint, or newest)
    redrive,        // params: run_id; result: run_id (of the run that repeats it)
    discard,        // params: run_id; a dead letter of a run that has ended
    close_circuit,  // params: workflow, step; result: closed (queues)
  };
  What what = What::start;
  TimeMs at;           // by the clock of the process that decided
  std::string params;  // a JSON object
  std::string code;    // "ok", or the code of the refusal
  std::string result;  // the result of an accepted request, as JSON; may be empty
};

namespace model {
struct OracleModel;
}

class Oracle {
 public:
  Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  ~Oracle();

  void answered(const Answer& answer);
  void stored(const StoredFact& fact);
  // All facts of the batch were passed: facts that belong together must be complete. whole: false
  // if the writer died in the middle; then later writers must complete the batch.
  void batch_ends(std::uint64_t position, bool whole = true);

  // About a queue that a lease backend carries: its name; a worker gives its claim back; a claim is
  // granted; a report (complete, fail, retry) is acknowledged.
  void carry(const std::string& queue);
  void given_back(const std::string& claim_id, std::int64_t delay_ms);
  void lease_granted(const std::string& claim_id);
  void lease_report_acknowledged(const std::string& key, const std::string& claim_id,
                                 const std::string& token_hash);

  // The violations found since the last call.
  std::vector<std::string> take_violations();

  // The current state of a run, for comparison with the engine: {"status", "steps": {step: status},
  // "context", "error"} as JSON; empty for an unknown run.
  [[nodiscard]] std::string run(const std::string& run_id) const;
  // The attempts that are dead letters, by their runnable keys.
  [[nodiscard]] std::set<std::string> dead_letters() const;
  // The runs that have not ended.
  [[nodiscard]] std::vector<std::string> live_runs() const;
  // How often each guarantee was tested, by a short name ("fence", "lease", "join", ...). The
  // simulator fails if one never was.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& tested() const;

 private:
  std::unique_ptr<model::OracleModel> model_;
};

}  // namespace holdfast::sim
