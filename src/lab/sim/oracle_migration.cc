// Migration: a run continues on another definition of its workflow.
//
// Guarantees: a run migrates only if it could have come to where it is on the other definition:
// each step that it has begun is there, on the same path; a finished one has the same kind and
// output, and the same transitions for how it ended; an open one is the same step; each waited for
// what it names there; the timeout of the run is the same; steps that were added to it do not
// collide with steps of the definition. From then on it follows the other definition, and what that
// begins at once is in the same batch.
#include <algorithm>

#include "lab/sim/oracle_next_facts.h"
#include "lab/sim/oracle_run_fact.h"

namespace holdfast::sim::model {

namespace {

bool begins_path(const Definition& definition, const std::string& step) {
  const auto& paths = definition.path_steps;
  return std::find(paths.begin(), paths.end(), step) != paths.end();
}

// The targets and conditions of the transitions of a step.
std::vector<std::pair<Value, Value>> routes(const Definition& definition, const std::string& step,
                                            const std::string& on) {
  std::vector<std::pair<Value, Value>> found;
  for (const Value& transition : definition.transitions_from(step, on)) {
    found.emplace_back(transition["to"], transition["when"]);
  }
  return found;
}

// All steps that a step waits for, directly or by way of others.
std::set<std::string> waits_for(const Definition& definition, const std::string& step) {
  std::set<std::string> found;
  std::vector<std::string> open{step};
  while (!open.empty()) {
    const Step* known = definition.find(open.back());
    open.pop_back();
    for (const std::string& before : known == nullptr ? std::vector<std::string>() : known->after) {
      if (found.insert(before).second) {
        open.push_back(before);
      }
    }
  }
  return found;
}

class Fit {
 public:
  Fit(const Run& run, const Definition& target)
      : run_(run), source_(*run.definition), target_(target) {}

  std::string problem() {
    if (run_.workflow != target_.workflow) {
      return "it is of another workflow";
    }
    if (run_.is_compensating()) {
      return "the run is compensating";
    }
    if (source_.spec["timeout_ms"] != target_.spec["timeout_ms"]) {
      return "the timeout of the run differs";
    }
    for (const std::string& key : run_.planned) {
      const Runnable& runnable = *run_.find(key);
      if (!runnable.is_timer() && !runnable.withdrawn && !is_added(runnable)) {
        begun(runnable);
      }
    }
    added();
    for (const Value& done : run_.adopted["done"].list()) {
      need(begins_path(target_, done.string()), done.string() + " was adopted and is missing");
    }
    if (problem_.empty()) {
      dependencies();
    }
    return problem_;
  }

 private:
  void need(bool holds, const std::string& problem) {
    if (!holds && problem_.empty()) {
      problem_ = problem;
    }
  }
  [[nodiscard]] bool is_added(const Runnable& runnable) const {
    return source_.find(runnable.name.base) == nullptr &&
           (run_.graph.contains(runnable.name.base) || run_.removed.contains(runnable.name.base));
  }

  void begun(const Runnable& runnable) {
    const std::string& name = runnable.name.base;
    const Step* before = source_.find(name);
    const Step* after = target_.find(name);
    if (before == nullptr || after == nullptr) {
      need(false, name + " has begun and is missing");
      return;
    }
    need(begins_path(source_, name) == begins_path(target_, name) &&
             begins_path(target_, runnable.path),
         name + " has begun and is on another path");
    need(runnable.name.visit <= target_.max_visits(*after), name + " was visited too often");
    if (!runnable.applied) {
      need(!run_.is_newest(runnable) || before->spec == after->spec, name + " is open and differs");
      return;
    }
    need(before->kind == after->kind && before->spec["output"] == after->spec["output"] &&
             before->for_each() == after->for_each(),
         name + " is finished, and its kind or output differs");
    if (runnable.name.item.has_value() || runnable.is_deferred()) {
      return;
    }
    const std::string& on = runnable.transition["on"].string();
    const std::string way = on.empty() ? "ok" : on;
    const bool same = way == "timeout" ? before->spec["await_event"] == after->spec["await_event"]
                                       : routes(source_, name, way) == routes(target_, name, way);
    need(same, "what follows the finished step " + name + " differs");
  }

  void added() {
    for (const auto& [id, item] : run_.graph) {
      const std::string& from = item["from"].string();
      const bool node = item["kind"].string() == "node";
      need(!node || target_.find(id) == nullptr, id + " was added to the run and is a step there");
      need(node || run_.graph.contains(from) || target_.find(from) != nullptr,
           "an added step follows " + from + ", which is missing");
    }
  }

  void dependencies() {
    Run moved = run_;
    moved.definition = &target_;
    for (const Step& step : target_.steps) {
      if (run_.newest_of(step.name) == nullptr) {
        continue;
      }
      const std::set<std::string> waited = waits_for(source_, step.name);
      const auto& adopted = run_.adopted["done"].list();
      for (const std::string& before : step.after) {
        const bool known = waited.contains(before) || std::find(adopted.begin(), adopted.end(),
                                                                Value(before)) != adopted.end();
        need(known && has_path_ended(moved, before),
             step.name + " has begun and did not wait for " + before);
      }
    }
  }

  const Run& run_;
  const Definition& source_;
  const Definition& target_;
  std::string problem_;
};

}  // namespace

std::string why_not_migrate(const Run& run, const Definition& target) {
  return Fit(run, target).problem();
}

void RunFact::migrated() {
  expect_command({"migrate_run"});
  check(data_["source_fingerprint"].string() == run_.fingerprint, "migration",
        "the run follows " + run_.fingerprint);
  check(run_.migrations.insert(data_["migration_key"].string()).second, "migration",
        "the migration was made before");
  const std::string& fingerprint = data_["target_fingerprint"].string();
  const auto target = model_.definitions.find(fingerprint);
  if (!check(target != model_.definitions.end(), "definition",
             "the definition that the run moves to is not registered")) {
    return;
  }
  if (modelled()) {
    const std::string problem = why_not_migrate(run_, target->second);
    check(problem.empty(), "migration", "the run cannot continue there: " + problem);
  }
  run_.fingerprint = fingerprint;
  run_.followed.insert(fingerprint);
  run_.definition = &target->second;
  if (!target->second.unknown.empty()) {
    model_.unmodelled(run_, target->second.unknown);
  }
}

// What a replay takes over must be all that its first step waits for there.
bool fits_replay(const Run& source, const Definition& target, const std::string& from) {
  const Runnable* first = source.find(source.id + ":" + from + ":1");
  first = first == nullptr ? source.newest_of(from) : first;
  const std::set<std::string> done = done_before(source, first->path);
  if (!std::all_of(done.begin(), done.end(),
                   [&](const std::string& step) { return begins_path(target, step); })) {
    return false;
  }
  const std::set<std::string> names{from, first->path};
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const Step* step = target.find(name);
    return step != nullptr &&
           std::all_of(step->after.begin(), step->after.end(),
                       [&](const std::string& before) { return done.contains(before); });
  });
}

}  // namespace holdfast::sim::model
