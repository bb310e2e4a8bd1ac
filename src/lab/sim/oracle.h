// Oracle: what Holdfast promises about attempts and runs, as a model that is small and slow and
// shares no code with the engine: it reads facts as plain JSON, in the order they became durable,
// keeps what they mean in ordinary maps, and says what had to come next. Whoever wants to know
// how Holdfast behaves may read it as the specification.
//
// The simulator tells it everything in the one order there is: the answers to clients at the
// point they were decided, and the facts of the log. It answers with complaints: sentences that
// say which promise was broken, where, and by what.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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

// A request of a client and what it was told. It is given to the oracle where it was decided:
// after every fact it was decided upon, before the facts it caused itself.
struct Answer {
  enum class What : std::uint8_t {
    start,      // params: run_id, workflow, definition (fingerprint), input, key
    claim,      // params: queues, handlers ([]: any), claim_id; result: the assignment. Told when
                // it is handed out: after its fact, perhaps much later
    heartbeat,  // params: run_id, runnable_key, claim_id, token_hash
    complete,   // the same, and result, execution_opts
    fail,       // the same, and error, retryable
    event,      // params: run_id, event, correlation, payload, key
    resolve,    // params: run_id, step, action (approved, rejected, resumed), actor, key
    cancel,     // params: run_id, reason, key
    other,      // something else: only that it was answered in order
    registration,  // params: definition (fingerprint)
    replay,        // params: run_id (of the original), new_run_id, mode, key
  };
  What what = What::start;
  TimeMs at;           // by the clock of the process that decided
  std::string params;  // a JSON object
  std::string code;    // "ok", or the code of the refusal
  std::string result;  // what an accepted request was told, as JSON; empty: nothing
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
  // All facts of the batch were given: what belongs together must be there. whole: no, when the
  // writer died in the middle; then what is missing is owed by those who come after it.
  void batch_ends(std::uint64_t position, bool whole = true);

  // What was found since the last call.
  std::vector<std::string> take_complaints();

  // What a run is now, for comparison with what the engine shows:
  // {"status", "steps": {step: status}, "context", "error"} as JSON; empty for an unknown run.
  [[nodiscard]] std::string run(const std::string& run_id) const;
  // Runs that have not ended.
  [[nodiscard]] std::vector<std::string> live_runs() const;
  // How often each promise was put to the test, by a short name ("fence", "lease", "join", ...):
  // the simulator fails when one never was.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& tested() const;

 private:
  std::unique_ptr<model::OracleModel> model_;
};

}  // namespace holdfast::sim
