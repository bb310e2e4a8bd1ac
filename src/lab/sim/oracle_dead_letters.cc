// Dead letters: attempts that were the last ones of their steps.
//
// Guarantees: the end of a failed run names the attempt of a worker that failed it, unless an
// operator had discarded that attempt; until it is redriven or discarded, it is in the list of its
// queue; a redrive starts one run, however often it is requested.
#include "lab/sim/oracle_next_facts.h"
#include "lab/sim/oracle_run_fact.h"

namespace holdfast::sim::model {

// Of a list, the item that failed first is the one that failed the list.
Value NextFacts::exhausted_by(const Runnable& failed) const {
  const Runnable* attempted = &failed;
  const Step* step = definition_.find(failed.name.base);
  if (step != nullptr && step->for_each() && !failed.name.item.has_value()) {
    attempted = nullptr;
    for (const auto& [key, item] : run_.runnables) {
      const bool of_list = item.name.item.has_value() && item.name.list() == failed.step &&
                           item.applied && item.transition["on"].string() == "error";
      if (of_list && (attempted == nullptr || item.applied_order < attempted->applied_order)) {
        attempted = &item;
      }
    }
  }
  if (attempted == nullptr || attempted->is_timer() || attempted->handler() == "__engine__" ||
      attempted->handler() == "__timer__") {
    return {};
  }
  const auto at = run_.manual.find(attempted->step);
  if (at != run_.manual.end() && at->second.key == attempted->key &&
      at->second.action == "discarded") {
    return {};
  }
  return Value::object({{"runnable_key", attempted->key},
                        {"step", attempted->step},
                        {"queue", attempted->plan["queue"]}});
}

void RunFact::dead_letter() {
  const Value& exhausted = run_.terminal["exhausted"];
  check(!exhausted.is_null() && exhausted["runnable_key"] == data_["runnable_key"], "dead_letter",
        "that attempt did not fail the run");
  check(run_.dead_letter.is_null(), "dead_letter", "the dead letter was decided before");
  if (data_["action"].string() == "redriven") {
    const auto replay = model_.runs.find(data_["replay_run_id"].string());
    check(replay != model_.runs.end() && replay->second.is_started() &&
              replay->second.started["replayed_from_run_id"].string() == run_.id,
          "dead_letter", "the run that repeats it did not start");
  }
  run_.dead_letter = data_;
}

bool Run::has_dead_letter() const {
  return has_ended() && terminal.has("exhausted") && dead_letter.is_null();
}

}  // namespace holdfast::sim::model
