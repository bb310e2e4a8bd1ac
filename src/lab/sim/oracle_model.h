// What the oracle knows: attempts, runs and definitions as the facts so far tell them, in ordinary
// maps. Private to oracle*.cc.
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

// One try at one step, as its queue knows it.
struct Attempt {
  enum class Outcome : std::uint8_t { none, completed, failed };
  std::string key;
  std::string run;
  std::string queue;
  Value intent;
  std::int64_t visible_at = 0;
  std::uint64_t order = 0;    // in which it was scheduled
  std::vector<Claim> claims;  // the last one counts
  Outcome outcome = Outcome::none;
  Value result;
  Value opts;
  Value error;
  std::string retry_key;
  bool withdrawn = false;

  [[nodiscard]] std::string handler() const;
  [[nodiscard]] std::int64_t lease_ms() const;
  // Somebody has it, or had it when the lease ended.
  [[nodiscard]] bool is_claimed() const { return outcome == Outcome::none && !claims.empty(); }
  [[nodiscard]] bool is_held(std::int64_t at) const {
    return is_claimed() && at < claims.back().lease_until;
  }
};

// The same try, as its run knows it.
struct Runnable {
  std::string key;
  std::string step;  // with visit and item
  StepName name;
  std::string path;  // the step that began its path
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
  std::optional<Value> failure;  // it could not be attempted at all

  [[nodiscard]] std::string handler() const { return plan["handler"].string(); }
  [[nodiscard]] bool is_timer() const {
    return plan.has("timer") || plan.has("event_wait_timeout");
  }
  [[nodiscard]] bool is_open() const { return !applied && !withdrawn; }
  [[nodiscard]] bool is_put_off() const { return opts.has("defer"); }
  // It ended well.
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
};

struct ChildLink {
  Value fact;
  std::string child;
  std::string origin;  // the runnable that started it
  bool awaited = false;
  bool cancel = false;  // when the parent closes
};

struct Run {
  std::string id;
  bool receipt = false;  // the command that started it came first
  Value started;         // the fact; null: not yet
  std::string workflow;
  std::string queue;
  const Definition* definition = nullptr;
  Value context = Value::object();
  std::int64_t started_at = 0;
  std::map<std::string, Runnable> runnables;
  std::vector<std::string> planned;           // keys, in order
  std::map<std::string, std::string> newest;  // step to key; timers apart
  std::map<std::string, EventWait> waits;
  std::map<std::string, Manual> manual;  // by step
  std::vector<ChildLink> children;
  std::vector<Value> buffered;
  std::map<std::string, Value> events;    // by idempotency key
  std::map<std::string, Value> commands;  // receipts, by idempotency key
  Value command;                          // a receipt nothing has come of yet
  Value adopted;
  Value compensation;
  bool withdrew = false;  // what nobody had claimed when it went back
  Value continuation;
  Value terminal;
  bool cancel_asked = false;
  std::string cancel_how;  // as_defined, compensate, stop; empty: nobody told
  std::string unmodelled;  // why only the general rules are checked
  std::int64_t last_at = 0;
  bool queued = false;
  bool indexed = false;
  bool cataloged = false;

  [[nodiscard]] bool is_started() const { return !started.is_null(); }
  [[nodiscard]] bool is_over() const { return !terminal.is_null(); }
  [[nodiscard]] bool is_compensating() const { return !compensation.is_null() && !is_over(); }
  [[nodiscard]] const Runnable* find(const std::string& key) const;
  [[nodiscard]] const Runnable* newest_of(const std::string& step) const;
  // Nothing has taken its place.
  [[nodiscard]] bool is_newest(const Runnable& runnable) const;
  [[nodiscard]] std::string status() const;
};

// What must follow, or may.
struct Duty {
  enum class Kind : std::uint8_t {
    plan,       // subject: runnable key
    apply,      // subject: runnable key
    withdraw,   // keys
    pause,      // subject: step
    open_wait,  // subject: wait id
    receive,    // subject: wait id; an event that was kept
    resolve,    // subject: wait id
    child,      // subject: runnable key
    compensate,
    finish,
    go_on_as,  // as another run
  };
  Kind kind = Kind::plan;
  std::string subject;
  Value expected = Value::object();
  std::string promise;
  std::string because;
  bool must = true;  // at the end of the batch; else it may come now or later
  std::set<std::string> keys;
  std::int64_t earliest = 0;  // visible_at of a plan
  std::int64_t latest = 0;
  std::optional<Value> failure;  // of a plan: what it fails with, because it cannot be attempted
};

struct OracleModel {
  std::map<std::string, Definition> definitions;  // by fingerprint
  std::map<std::string, std::string> workflows;   // name to fingerprint
  std::map<std::string, Run> runs;
  std::map<std::string, Attempt> attempts;        // by runnable key
  std::map<std::string, std::uint64_t> next_seq;  // by thread
  std::set<std::string> claim_ids;
  std::map<std::string, bool> retryable;     // by claim id, as the worker said
  std::map<std::string, Value> retry_after;  // by claim id; null: as the policy says
  // Idempotency keys as they were handed out: of a visit or item of a step of a run, and back.
  std::map<std::string, std::string> key_of;
  std::map<std::string, std::string> work_of;
  std::uint64_t position = 0;
  std::uint64_t counter = 0;
  std::set<std::string> touched;  // runs, since the last batch ended
  // What was answered ok, and whether it is there.
  std::vector<std::pair<std::string, std::function<bool(const OracleModel&)>>> promised;
  // By claim id: what could have been claimed before it (key and handler).
  std::map<std::string, std::map<std::string, std::string>> passed_over;
  std::set<std::string> owed;  // runs a writer left in the middle
  std::vector<std::string> complaints;
  std::map<std::string, std::uint64_t> tested;

  // One promise is put to the test; the complaint is made when it was broken.
  bool check(bool kept, const std::string& promise, const std::string& complaint);
  std::string place;  // of the fact at hand, for complaints
  void unmodelled(Run& run, const std::string& feature);

  // oracle_dispatch.cc
  void queue_fact(const StoredFact& fact, const std::string& queue, const Value& data);
  // oracle_run.cc
  void run_fact(const StoredFact& fact, const std::string& run_id, const Value& data);
  void check_rest(std::uint64_t position, bool whole);
  void check_rest_of(Run& run);
  // oracle_answers.cc
  void judge(const Answer& answer);
};

// oracle_steps.cc: what must follow from what is known of a run.
std::vector<Duty> duties(const OracleModel& model, const Run& run, std::int64_t now);
// The path of that step is over.
bool is_path_over(const Run& run, const std::string& step);

}  // namespace holdfast::sim::model
