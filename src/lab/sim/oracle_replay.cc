// Replay: what the new run adopts.
//
// Guarantee: a replay from a step adopts the results of the steps before it, and repeats that step
// and all later ones, on the definition of the original run, or on one
// that was named and that fits what is adopted.
#include <algorithm>

#include "lab/sim/oracle_run_fact.h"
#include "lab/sim/oracle_values.h"

namespace holdfast::sim::model {

namespace {

// The path and all that come after it.
std::set<std::string> repeated(const Definition& definition, const std::string& path) {
  std::set<std::string> again{path};
  for (std::size_t before = 0; before != again.size();) {
    before = again.size();
    for (const Step& step : definition.steps) {
      if (std::any_of(step.after.begin(), step.after.end(),
                      [&](const std::string& name) { return again.contains(name); })) {
        again.insert(step.name);
      }
    }
  }
  return again;
}

}  // namespace

std::set<std::string> done_before(const Run& source, const std::string& path) {
  const std::set<std::string> again = repeated(*source.definition, path);
  std::set<std::string> done;
  for (const std::string& step : source.definition->path_steps) {
    if (!again.contains(step) && has_path_ended(source, step)) {
      done.insert(step);
    }
  }
  return done;
}

// A replay from a step adopts the results of all steps except the rest of the path of that step and
// the paths that come after it.
void RunFact::adopted() {
  check(run_.adopted.is_null() && run_.planned.empty(), "replay",
        "steps are adopted directly after the start");
  run_.adopted = data_;
  join(run_.context, "", data_["context"]);
  const auto found = model_.runs.find(data_["source_run_id"].string());
  if (!check(found != model_.runs.end() && found->second.is_started(), "replay",
             "the original run does not exist") ||
      !modelled() || !found->second.unmodelled.empty() || !found->second.adopted.is_null()) {
    return;
  }
  const Run& source = found->second;
  const std::string& from = data_["from_step"].string();
  const std::string path = data_.has("path") ? data_["path"].string() : from;
  const std::set<std::string> again = repeated(*source.definition, path);
  std::vector<const Runnable*> kept;
  const Runnable* first = source.find(source.id + ":" + from + ":1");
  for (const auto& [key, runnable] : source.runnables) {
    const bool before = first != nullptr && runnable.path == path && runnable.order < first->order;
    if (runnable.applied && !runnable.withdrawn && !runnable.is_timer() &&
        !runnable.name.compensates && !runnable.name.item.has_value() &&
        source.definition->find(runnable.name.base) != nullptr &&  // not one that was added
        (!again.contains(runnable.path) || before)) {
      kept.push_back(&runnable);
    }
  }
  std::sort(kept.begin(), kept.end(), [](const Runnable* left, const Runnable* right) {
    return left->applied_order < right->applied_order;
  });
  Value context = Value::object();
  for (const Runnable* runnable : kept) {
    join(context, runnable->output_key, runnable->result);
  }
  check(context == data_["context"], "replay",
        "the adopted context is " + data_["context"].text() + ", not " + context.text());
  const std::set<std::string> done = done_before(source, path);
  std::set<std::string> recorded;
  for (const Value& step : data_["done"].list()) {
    recorded.insert(step.string());
  }
  check(done == recorded, "replay", "the list of completed steps is wrong");
}

}  // namespace holdfast::sim::model
