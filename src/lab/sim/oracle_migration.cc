// Migration: a run continues on another definition of its workflow.
//
// Guarantees: a run migrates only if it could have come to where it is on the other definition:
// each step that it has begun is there, on the same path; a finished one has the same kind and
// output, and the same transitions for how it ended; an open one is the same step; each waited for
// what it names there; the timeout of the run is the same; steps that were added to it do not
// collide with steps of the definition. What the run waits at because of a fault begins again, so
// it may differ: a faulty step as a whole, a list with a faulty item in its input, and behind a
// result that no transition fits the transitions. From then on the run follows the other
// definition; what that begins at once, and the retry of each fault, are in the same batch.
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

// The step without what each item of a list reads when it begins.
Value without_input(Value spec) {
  spec.erase("input");
  spec.erase("input_schema");
  if (spec.has("child")) {
    Value child = spec["child"];
    child.set("workflow", "any");
    child.erase("trigger");
    spec.set("child", child);
  }
  return spec;
}

class Fit {
 public:
  Fit(const Run& run, const Definition& target)
      : run_(run), source_(*run.definition), target_(target) {
    for (const auto& [step, manual] : run_.manual) {
      if (!is_fault(run_, manual)) {
        continue;
      }
      const Runnable& runnable = *run_.find(manual.key);
      if (runnable.name.item.has_value()) {
        faulty_lists_.insert(step.substr(0, step.rfind('[')));
      } else if (runnable.is_undecided()) {
        undecided_.insert(runnable.name.base);
      }
    }
  }

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
    if (name == kOutputStep) {
      return;
    }
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
      need(!run_.is_newest(runnable) || is_faulty(runnable) ||
               is_same_open(runnable, *before, *after),
           name + " is open and differs");
      return;
    }
    need(before->kind == after->kind && before->spec["output"] == after->spec["output"] &&
             before->for_each() == after->for_each(),
         name + " is finished, and its kind or output differs");
    if (runnable.name.item.has_value() || runnable.is_deferred() || runnable.is_undecided()) {
      return;
    }
    const std::string& on = runnable.transition["on"].string();
    const std::string way = on.empty() ? "ok" : on;
    const bool same = way == "timeout" ? before->spec["await_event"] == after->spec["await_event"]
                      : way == "ok" && undecided_.contains(name)
                          ? same_until_taken(runnable)
                          : routes(source_, name, way) == routes(target_, name, way);
    need(same, "what follows the finished step " + name + " differs");
  }

  // Another visit of the step has a result that no transition fits: those behind the one that this
  // visit took may be others.
  [[nodiscard]] bool same_until_taken(const Runnable& runnable) const {
    const auto before = routes(source_, runnable.name.base, "ok");
    const auto after = routes(target_, runnable.name.base, "ok");
    const std::pair<Value, Value> taken{runnable.transition["to"], runnable.transition["when"]};
    for (std::size_t i = 0; i < before.size() && i < after.size() && before[i] == after[i]; ++i) {
      if (before[i] == taken) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool is_faulty(const Runnable& runnable) const {
    const auto manual = run_.manual.find(runnable.step);
    return manual != run_.manual.end() && manual->second.key == runnable.key && !runnable.applied &&
           is_fault(run_, manual->second);
  }
  [[nodiscard]] bool is_same_open(const Runnable& runnable, const Step& before,
                                  const Step& after) const {
    return faulty_lists_.contains(runnable.step)
               ? without_input(before.spec) == without_input(after.spec)
               : before.spec == after.spec;
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
      const Runnable* begun = run_.newest_of(step.name);
      if (begun == nullptr) {
        continue;
      }
      const std::set<std::string> waited = waits_for(source_, step.name);
      const auto& adopted = run_.adopted["done"].list();
      for (const std::string& before : step.after) {
        const bool known =
            is_faulty(*begun) || waited.contains(before) ||
            std::find(adopted.begin(), adopted.end(), Value(before)) != adopted.end();
        need(known && has_path_ended(moved, before),
             step.name + " has begun and did not wait for " + before);
      }
    }
  }

  const Run& run_;
  const Definition& source_;
  const Definition& target_;
  std::set<std::string> faulty_lists_;  // visits of which an item has a fault
  std::set<std::string> undecided_;     // steps with a result that no transition fits
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
  for (const auto& [step, manual] : run_.manual) {
    if (is_fault(run_, manual)) {
      run_.faults_to_retry.insert(step);
    }
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
