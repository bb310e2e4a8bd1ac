// The model of the oracle: attempts, runs and definitions according to the facts so far, in
// ordinary maps. Private to oracle*.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/sim/oracle.h"
#include "lab/sim/oracle_definition.h"
#include "lab/sim/sim_value.h"

namespace holdfast::sim::model {

struct Claim {
  std::string id;
  std::string token_hash;
  std::int64_t at = 0;
  std::int64_t lease_until = 0;
};

// One attempt at a step, as recorded in its queue.
struct Attempt {
  enum class Outcome : std::uint8_t { none, completed, failed };
  std::string key;
  std::string run;
  std::string queue;
  Value intent;
  std::int64_t visible_at = 0;
  std::uint64_t order = 0;    // the order in which it was scheduled
  std::vector<Claim> claims;  // only the last one is valid
  Outcome outcome = Outcome::none;
  Value result;
  Value opts;
  Value error;
  std::string retry_key;
  bool withdrawn = false;

  [[nodiscard]] std::string handler() const;
  [[nodiscard]] std::int64_t lease_ms() const;
  // A worker holds it, or held it until the lease expired.
  [[nodiscard]] bool is_claimed() const { return outcome == Outcome::none && !claims.empty(); }
  [[nodiscard]] bool is_held(std::int64_t at) const {
    return is_claimed() && at < claims.back().lease_until;
  }
};

// The same attempt, as recorded in its run.
struct Runnable {
  std::string key;
  std::string step;  // with visit and item
  StepName name;
  std::string path;  // the first step of its path
  Value plan;
  std::int64_t visible_at = 0;
  std::int64_t planned_at = 0;
  std::uint64_t order = 0;
  bool applied = false;
  bool withdrawn = false;
  std::uint64_t applied_order = 0;
  std::int64_t applied_at = 0;
  Value result;
  std::string output_key;
  Value transition;
  Value opts;
  std::optional<Value> failure;  // set if the step fails before it is attempted
  bool replaced = false;         // withdrawn, so that another child run takes its place
  Value retry;                   // the policy of an added step

  [[nodiscard]] std::string handler() const { return plan["handler"].string(); }
  [[nodiscard]] bool is_timer() const {
    return plan.has("timer") || plan.has("event_wait_timeout");
  }
  [[nodiscard]] bool is_open() const { return !applied && !withdrawn; }
  [[nodiscard]] bool is_undecided() const;  // it has a result that no transition fits
  [[nodiscard]] bool is_deferred() const { return opts.has("defer"); }
  // It completed without an error.
  [[nodiscard]] bool is_done() const {
    return applied && !withdrawn && transition["on"].string() != "error";
  }
};

struct EventWait {
  std::string id;
  std::string step;
  Value opened;
  std::int64_t opened_at = 0;
  std::uint64_t order = 0;
  std::optional<Value> received;  // the fact
  bool timed_out = false;
  bool resolved = false;
  [[nodiscard]] bool is_open() const { return !received.has_value() && !timed_out; }
  [[nodiscard]] bool awaits(const Value& event) const;
};

struct Manual {
  std::string kind;
  bool open = true;
  std::string action;
  Value result;
  std::string key = {};  // of a parked step: the attempt that failed
  Value error = {};
  Value input = {};  // of a retry; null: as before
  std::int64_t resolved_at = 0;
  std::string earlier = {};  // the last decision at the step before it waited again
};

struct ChildLink {
  Value fact;
  std::string child;
  std::string origin;  // the runnable that started it
  bool awaited = false;
  bool cancel = false;  // cancelled when the parent ends
};

struct Run {
  std::string id;
  bool receipt = false;  // the start command was received
  bool by_cron = false;  // by a schedule, of the engine or another scheduler
  Value started;         // the fact; null: not started
  std::string workflow;
  std::string queue;
  const Definition* definition = nullptr;  // that the run follows now
  std::string fingerprint;                 // its name
  std::set<std::string> followed;          // the names of all that it has followed
  std::set<std::string> migrations;        // keys
  std::set<std::string> faults_to_retry;   // steps that the migration of this batch must retry
  Value context = Value::object();
  std::int64_t started_at = 0;
  std::map<std::string, Runnable> runnables;
  std::vector<std::string> planned;           // keys, in order
  std::map<std::string, std::string> newest;  // step to key, without timers
  std::map<std::string, EventWait> waits;
  std::map<std::string, Manual> manual;  // by step
  std::set<std::string> resolved;        // steps at which a decision was made
  std::vector<ChildLink> children;
  std::vector<Value> buffered;
  std::map<std::string, Value> events;     // by idempotency key
  std::map<std::string, Value> commands;   // receipts, by idempotency key
  Value command;                           // a received command that has had no effect yet
  std::map<std::string, Value> graph;      // added nodes and edges, by id
  std::set<std::string> removed;           // ids of added nodes and edges
  std::map<std::string, Value> mutations;  // by id
  std::int64_t graph_version = 0;
  Value adopted;
  Value compensation;
  bool withdrew = false;  // the unclaimed runnables were withdrawn for compensation
  Value continuation;
  Value terminal;
  Value dead_letter;  // what was decided about the attempt that failed the run
  bool cancel_requested = false;
  std::string cancel_how;  // as_defined, compensate, stop; empty: unknown
  std::string unmodelled;  // the reason why only the general rules are checked
  std::int64_t last_at = 0;
  bool queued = false;
  bool indexed = false;
  bool cataloged = false;

  [[nodiscard]] bool is_started() const { return !started.is_null(); }
  [[nodiscard]] bool has_dead_letter() const;
  [[nodiscard]] bool has_ended() const { return !terminal.is_null(); }
  [[nodiscard]] bool is_compensating() const { return !compensation.is_null() && !has_ended(); }
  [[nodiscard]] const Runnable* find(const std::string& key) const;
  [[nodiscard]] const Runnable* newest_of(const std::string& step) const;
  // No newer runnable of the same step exists.
  [[nodiscard]] bool is_newest(const Runnable& runnable) const;
  [[nodiscard]] std::string status() const;
};

// The circuit breaker of a step type.
struct Circuit {
  std::int64_t failures = 0;  // consecutive
  bool open = false;
  std::int64_t probe_at = 0;
  std::string probe;  // the attempt that probed last
  std::string probe_claim;
};

// A fact that must follow, or may.
struct ExpectedFact {
  enum class Kind : std::uint8_t {
    plan,       // subject: runnable key
    apply,      // subject: runnable key
    withdraw,   // keys
    pause,      // subject: step
    open_wait,  // subject: wait id
    receive,    // subject: wait id; an event that was buffered
    resolve,    // subject: wait id
    child,      // subject: runnable key
    compensate,
    finish,
    continue_as_new,
    mutate,  // subject: mutation id
  };
  Kind kind = Kind::plan;
  std::string subject;
  Value members = Value::object();
  std::string guarantee;
  std::string because;
  bool must = true;  // before the batch ends; otherwise it may follow at any time
  std::set<std::string> keys;
  std::int64_t earliest = 0;  // bounds of visible_at of a plan
  std::int64_t latest = 0;
  std::optional<Value> failure;  // of a plan: the error, if the step fails before it is attempted
};

struct OracleModel {
  std::map<std::string, Definition> definitions;  // by fingerprint
  std::map<std::string, std::string> workflows;   // name to fingerprint
  std::map<std::string, Run> runs;
  std::map<std::string, Attempt> attempts;        // by runnable key
  std::map<std::string, std::uint64_t> next_seq;  // by thread
  std::set<std::string> claim_ids;
  std::map<std::string, bool> retryable;     // by claim id, as the worker reported it
  std::map<std::string, Value> retry_after;  // by claim id; null: as the policy defines
  // Idempotency keys as they were assigned: from a visit or item of a step of a run to its key, and
  // the reverse.
  std::map<std::string, std::string> key_of;
  std::map<std::string, std::string> work_of;
  // The windows of schedules that have a run: by workflow, trigger and signal id.
  struct Window {
    std::string run;
    Value time;  // start_at and end_at
  };
  std::map<std::string, Window> windows;
  std::set<std::string> paused;                    // schedules: workflow, "/", trigger
  std::set<std::string> changed_schedules;         // in the current batch
  std::map<std::string, std::string> replayed_on;  // by new run: a definition that was named
  std::uint64_t position = 0;
  std::uint64_t counter = 0;
  std::set<std::string> touched;  // runs with facts in the current batch
  // Commands that were answered ok, and whether their effect is durable.
  std::vector<std::pair<std::string, std::function<bool(const OracleModel&)>>> acknowledged;
  // By claim id: the attempts that could have been claimed before it (key and handler).
  std::map<std::string, std::map<std::string, std::string>> passed_over;
  std::set<std::string> incomplete;  // runs whose facts a writer left incomplete
  std::vector<std::string> violations;
  std::map<std::string, std::uint64_t> tested;

  // Counts a test of a guarantee and records a violation if it does not hold.
  bool check(bool holds, const std::string& guarantee, const std::string& violation);
  std::string location;  // of the current fact, for violations
  void unmodelled(Run& run, const std::string& feature);

  // oracle_circuit.cc
  std::map<std::string, Circuit> circuits;  // by queue, workflow and step
  std::map<std::string, std::string>
      circuit_follows;  // by attempt: the kind of fact that must follow
  [[nodiscard]] std::string circuit_of(const Attempt& attempt) const;
  [[nodiscard]] bool is_held_back(const Attempt& attempt, std::int64_t at) const;
  void circuit_claimed(const Attempt& attempt);
  void circuit_completed(const Attempt& attempt);
  void circuit_failed(const Attempt& attempt);
  void circuit_fact(const StoredFact& fact, const Value& data, const Attempt& attempt);
  // An operator closed one, in that batch.
  std::set<std::string> resets;
  std::set<std::string> requested_resets;
  void circuit_reset(const std::string& queue, const Value& data);
  void check_circuits(bool whole);
  // oracle_leases.cc
  std::set<std::string> carried;                   // queues
  std::map<std::string, std::int64_t> given_back;  // by claim id: after how long
  void lease_granted(const std::string& claim_id);
  void lease_report_acknowledged(const std::string& key, const std::string& claim_id,
                                 const std::string& token_hash);
  // oracle_dispatch.cc
  void queue_fact(const StoredFact& fact, const std::string& queue, const Value& data);
  // oracle_run.cc
  void run_fact(const StoredFact& fact, const std::string& run_id, const Value& data);
  void check_batch(std::uint64_t position, bool whole);
  void check_run(Run& run);
  // oracle_answers.cc
  void check_answer(const Answer& answer);
};

// oracle_windows.cc: a schedule was paused or resumed.
void schedule_fact(OracleModel& model, const StoredFact& fact, const Value& data);
// What names the run of a window of a schedule, and the signal id of one that
// has none: a hash of all of it.
std::string window_name(const std::string& workflow, const std::string& trigger,
                        const std::string& signal_id);
std::string signal_of_window(const std::string& workflow, const std::string& trigger,
                             const Value& time);

// oracle_fault.cc: the step that has a faulty output; whether the run waits there because of a
// fault; whether the retry of what is parked there may bring an input.
inline constexpr const char* kOutputStep = "__output__";
bool is_fault(const Run& run, const Manual& manual);
bool takes_input(const Run& run, const Manual& parked);

// oracle_waits.cc: the command that makes a decision, and the kind of step that it is about.
std::string command_of(const std::string& action);
std::string kind_for(const std::string& action);

// oracle_migration.cc: why the run cannot continue on the definition; empty: it can.
std::string why_not_migrate(const Run& run, const Definition& target);
// Whether a run can be repeated there from a step that it came to.
bool fits_replay(const Run& source, const Definition& target, const std::string& from);
// oracle_replay.cc: the steps whose paths a replay from a step of that path does not repeat.
std::set<std::string> done_before(const Run& source, const std::string& path);

// oracle_steps.cc: the facts that must follow from the known state of a run.
std::vector<ExpectedFact> expected_facts(const OracleModel& model, const Run& run,
                                         std::int64_t now);
// Whether the path that starts with that step has ended.
bool has_path_ended(const Run& run, const std::string& step);
// oracle_graph.cc: whether a step of the definition or an added one needs nothing more.
bool is_step_done(const Run& run, const std::string& step);

}  // namespace holdfast::sim::model
