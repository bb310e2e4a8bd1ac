// Windows of schedules: each has one run, whichever process starts it and however often, unless its
// trigger does not count deliveries. While a schedule is paused it starts no runs.
#include "base/encoding.h"
#include "base/hash.h"
#include "lab/sim/oracle_run_fact.h"

namespace holdfast::sim::model {

std::string window_name(const std::string& workflow, const std::string& trigger,
                        const std::string& signal_id) {
  return workflow + "/" + trigger + "/" + signal_id;
}

std::string signal_of_window(const std::string& workflow, const std::string& trigger,
                             const Value& time) {
  std::string hashed;
  for (const std::string& part :
       {workflow, trigger, time["start_at"].string(), time["end_at"].string()}) {
    hashed += (hashed.empty() ? "" : "|") + std::to_string(part.size()) + ":" + part;
  }
  const Digest digest = sha256(hashed);
  return "sha256:" + to_base64url({digest.data(), digest.size()});
}

void schedule_fact(OracleModel& model, const StoredFact& fact, const Value& data) {
  const std::string name = data["workflow"].string() + "/" + data["trigger"].string();
  const bool pauses = fact.kind == "schedule_paused";
  model.changed_schedules.insert(name);
  model.check(model.paused.contains(name) != pauses, "paused",
              "the fact says the same as the state");
  if (pauses) {
    model.paused.insert(name);
  } else {
    model.paused.erase(name);
  }
}

void RunFact::started_by_schedule() {
  const Value& schedule = data_["context"]["schedule"];
  const std::string trigger = schedule["trigger_name"].string();
  const std::string signal = schedule["signal_id"].string();
  const Value& time = schedule["intended_window"];
  check(trigger == data_["trigger"].string() && schedule["workflow"].string() == run_.workflow,
        "window", "the schedule in the context is not that of the trigger");
  check(!signal.starts_with("sha256:") || signal == signal_of_window(run_.workflow, trigger, time),
        "window", "the signal id is not that of the window");
  check(!model_.paused.contains(run_.workflow + "/" + trigger), "paused", "its schedule is paused");
  if (schedule["idempotency"].string() == "none") {
    return;  // deliveries are not counted
  }
  const auto known = model_.windows.emplace(window_name(run_.workflow, trigger, signal),
                                            OracleModel::Window{run_.id, time});
  check(known.second, "one_run_per_window",
        "run " + known.first->second.run + " was started for the window");
}

}  // namespace holdfast::sim::model
