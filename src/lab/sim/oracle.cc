// The facade: passes facts and answers to the part of the model that handles them.
//
// Guarantees for every fact: the entries of a thread are numbered without gaps; a fact has its
// fields and belongs to the run of its thread; a definition is registered once under its
// fingerprint.
#include "lab/sim/oracle.h"

#include "base/hash.h"
#include "lab/sim/oracle_model.h"

namespace holdfast::sim {

namespace model {
namespace {

// The required fields of each kind of fact (docs/protocol.md).
const std::map<std::string, std::vector<std::string>>& required() {
  static const std::vector<std::string> fence{"run_id", "runnable_key", "claim_id",
                                              "claim_token_hash", "queue"};
  const auto with = [](std::vector<std::string> names, const std::vector<std::string>& more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
  };
  static const std::map<std::string, std::vector<std::string>> table{
      {"run_queued", {"run_id", "queue"}},
      {"attempt_scheduled",
       {"run_id", "runnable_key", "idempotency_key", "attempt_number", "queue", "step", "input",
        "visible_at"}},
      {"attempt_claimed", with(fence, {"owner_id", "lease_until"})},
      {"attempt_heartbeat", with(fence, {"lease_until"})},
      {"attempt_completed", with(fence, {"result"})},
      {"attempt_failed", with(fence, {"error"})},
      {"live_wakeup_emitted", {"run_id", "runnable_key", "queue"}},
      {"circuit_opened", {"run_id", "runnable_key", "queue", "step", "failures", "probe_at"}},
      {"circuit_probed", {"run_id", "runnable_key", "probe_claim_id", "queue", "step"}},
      {"circuit_closed", {"run_id", "runnable_key", "queue", "step"}},
      {"circuit_reset", {"queue", "step"}},
      {"run_signal_received", {"run_id", "signal_type", "payload", "metadata"}},
      {"run_started", {"run_id", "workflow"}},
      {"runnables_planned", {"run_id", "runnables"}},
      {"runnable_applied", {"run_id", "runnable_key"}},
      {"runnables_withdrawn", {"run_id", "runnable_keys"}},
      {"child_run_started",
       {"run_id", "child_run_id", "child_workflow", "child_trigger", "child_key", "origin"}},
      {"manual_step_paused", {"run_id", "step", "kind"}},
      {"manual_step_resolved", {"run_id", "step", "action"}},
      {"run_terminal", {"run_id", "status"}},
      {"run_definition_migrated",
       {"run_id", "migration_key", "source_fingerprint", "target_fingerprint"}},
      {"run_continuation_requested",
       {"run_id", "successor_run_id", "continuation_key", "workflow", "trigger", "input",
        "definition", "definition_fingerprint"}},
      {"dynamic_graph_mutated",
       {"run_id", "mutation_id", "expected_version", "result_version", "origin"}},
      {"run_continued_from", {"run_id", "predecessor_run_id", "continuation_key"}},
      {"external_event_wait_opened", {"run_id", "wait_id", "step", "event", "opened_at"}},
      {"external_event_buffered", {"run_id", "event", "payload", "idempotency_key"}},
      {"external_event_received", {"run_id", "wait_id", "event", "payload", "idempotency_key"}},
      {"external_event_wait_timeout_selected",
       {"run_id", "wait_id", "timeout_runnable_key", "step", "event", "target", "selected_at"}},
      {"external_event_wait_resolved", {"run_id", "wait_id", "step", "event", "action", "result"}},
      {"compensation_started", {"run_id", "outcome"}},
      {"steps_adopted", {"run_id", "source_run_id", "from_step", "context"}},
      {"search_attributes_updated", {"run_id", "changes", "fingerprint", "idempotency_key"}},
      {"run_archived", {"run_id", "reason"}},
      {"run_unarchived", {"run_id"}},
      {"dead_letter_resolved", {"run_id", "runnable_key", "action"}},
      {"run_indexed", {"run_id", "workflow", "queue"}},
      {"run_cataloged", {"run_id", "workflow", "queue"}},
      {"definition_registered", {"workflow", "fingerprint", "spec"}},
      {"workflow_registered", {"workflow", "fingerprint"}},
      {"schedule_paused", {"workflow", "trigger"}},
      {"schedule_resumed", {"workflow", "trigger"}}};
  return table;
}

void listed(OracleModel& model, const StoredFact& fact, const Value& data) {
  Run& run = model.runs[data["run_id"].string()];
  bool& known = fact.kind == "run_indexed" ? run.indexed : run.cataloged;
  model.check(run.is_started() && run.workflow == data["workflow"].string() &&
                  run.queue == data["queue"].string(),
              "listed", "its workflow or queue is not that of its run");
  model.check(!known, "listed", "the run is already listed");
  known = true;
}

void defined(OracleModel& model, const StoredFact& fact, const Value& data) {
  if (fact.kind.starts_with("schedule_")) {
    schedule_fact(model, fact, data);
    return;
  }
  const std::string fingerprint = data["fingerprint"].string();
  if (fact.kind == "workflow_registered") {
    const auto known = model.definitions.find(fingerprint);
    if (model.check(
            known != model.definitions.end() && known->second.workflow == data["workflow"].string(),
            "definition", "no definition of this workflow has that fingerprint")) {
      model.workflows[data["workflow"].string()] = fingerprint;
    }
    return;
  }
  model.check(!model.definitions.contains(fingerprint), "definition",
              "the definition is already registered");
  // The spec is the last member, in canonical form.
  const std::size_t spec = fact.data.find("\"spec\":") + 7;
  model.check(to_hex(sha256(fact.data.substr(spec, fact.data.size() - spec - 1))) == fingerprint,
              "fingerprint", "the fingerprint is not that of the spec");
  model.definitions.emplace(fingerprint, Definition::read(data["spec"]));
}

}  // namespace

bool OracleModel::check(bool holds, const std::string& guarantee, const std::string& violation) {
  ++tested[guarantee];
  if (!holds) {
    violations.push_back(guarantee + ": " + location + ": " + violation);
  }
  return holds;
}

void OracleModel::unmodelled(Run& run, const std::string& feature) {
  if (run.unmodelled.empty()) {
    run.unmodelled = feature;
    ++tested["unmodelled:" + feature];
  }
}

}  // namespace model

Oracle::Oracle() : model_(std::make_unique<model::OracleModel>()) {}
Oracle::~Oracle() = default;

void Oracle::answered(const Answer& answer) { model_->check_answer(answer); }

void Oracle::stored(const StoredFact& fact) {
  model::OracleModel& model = *model_;
  const Value data = Value::parse(fact.data);
  const std::size_t colon = fact.thread.find(':');
  const std::string family = fact.thread.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : fact.thread.substr(colon + 1);
  model.location = std::to_string(fact.position) + "." + std::to_string(fact.index) + " " +
                   fact.thread + " " + fact.kind;
  if (data.has("runnable_key")) {
    model.location += " " + data["runnable_key"].string();
  }
  model.check(fact.seq == model.next_seq[fact.thread], "thread_order",
              "entry " + std::to_string(fact.seq) + " instead of " +
                  std::to_string(model.next_seq[fact.thread]));
  model.next_seq[fact.thread] = fact.seq + 1;
  if (const auto fields = model::required().find(fact.kind); fields != model::required().end()) {
    for (const std::string& name : fields->second) {
      model.check(data.has(name), "form", name + " is missing");
    }
  }
  if (family == "run") {
    model.run_fact(fact, rest, data);
  } else if (family == "dispatch") {
    model.queue_fact(fact, rest, data);
  } else if (family == "run_index" || family == "run_catalog") {
    model::listed(model, fact, data);
  } else if (family == "definition" || family == "workflow") {
    model.check(rest == data[family == "workflow" ? "workflow" : "fingerprint"].string(), "form",
                "the fact is in the thread of another definition");
    model::defined(model, fact, data);
  }
}

void Oracle::batch_ends(std::uint64_t position, bool whole) {
  model_->check_batch(position, whole);
}

std::vector<std::string> Oracle::take_violations() {
  return std::exchange(model_->violations, std::vector<std::string>());
}

std::string Oracle::run(const std::string& run_id) const {
  const auto found = model_->runs.find(run_id);
  if (found == model_->runs.end() || !found->second.is_started()) {
    return "";
  }
  const model::Run& run = found->second;
  Value steps = Value::object();
  for (const auto& [step, key] : run.newest) {
    const model::Runnable& runnable = *run.find(key);
    steps.set(step, runnable.withdrawn  ? "withdrawn"
                    : !runnable.applied ? "open"
                    : runnable.is_done() && !runnable.transition["on"].string().starts_with("time")
                        ? "completed"
                        : "failed");
  }
  Value shown;
  shown.set("status", run.status());
  shown.set("steps", steps);
  shown.set("context", run.context);
  if (run.terminal.has("error")) {
    shown.set("error", run.terminal["error"]);
  }
  return shown.text();
}

std::set<std::string> Oracle::dead_letters() const {
  std::set<std::string> keys;
  for (const auto& [id, run] : model_->runs) {
    if (run.has_dead_letter()) {
      keys.insert(run.terminal["exhausted"]["runnable_key"].string());
    }
    for (const auto& [step, manual] : run.manual) {
      if (!run.has_ended() && manual.open && manual.kind == "parked") {
        keys.insert(manual.key);
      }
    }
  }
  return keys;
}

std::vector<std::string> Oracle::live_runs() const {
  std::vector<std::string> live;
  for (const auto& [id, run] : model_->runs) {
    if (run.is_started() && !run.has_ended()) {
      live.push_back(id);
    }
  }
  return live;
}

const std::map<std::string, std::uint64_t>& Oracle::tested() const { return model_->tested; }

}  // namespace holdfast::sim
