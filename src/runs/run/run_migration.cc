#include "runs/run/run_migration.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runs/facts/activation.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

using Blocker = MigrationBlocker;

bool same_routes(const std::vector<Transition>& left, const std::vector<Transition>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Transition& one, const Transition& other) {
                      return one.to_name == other.to_name && one.when_json == other.when_json;
                    });
}

// The first one that fits is taken, so those after it could as well be others.
bool same_until(const TransitionTaken& taken, const std::vector<Transition>& left,
                const std::vector<Transition>& right) {
  for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
    if (left[i].to_name != right[i].to_name || left[i].when_json != right[i].when_json) {
      return false;
    }
    if (left[i].to_name == taken.to && left[i].when_json == taken.when) {
      return true;
    }
  }
  return false;
}

std::string spec_text(const StepSpec& spec) {
  const auto json = to_json(spec);
  return json.ok() ? std::string(json.value().view()) : std::string();
}

StepSpec without_input(StepSpec spec) {
  spec.input = Payload();
  spec.input_schema = Payload();
  if (spec.child.has_value()) {
    spec.child->workflow = SharedText("any");
    spec.child->trigger = SharedText();
  }
  return spec;
}

// Looks at everything the run has begun.
class Comparison {
 public:
  Comparison(const RunProjection& run, const Definition& target)
      : run_(run), source_(*run.definition()), target_(target) {
    for (const auto& [step, state] : run.boundaries()) {
      const PlannedRunnable* planned = run.find(state.runnable_key.view());
      if (!is_fault(run, state)) {
        continue;
      }
      if (is_item(step.view())) {
        faulty_lists_.emplace(without_item(step.view()));
      } else if (planned->is_undecided()) {
        undecided_.emplace(parse_activation(step.view()).step);
      }
    }
  }

  std::vector<MigrationProblem> problems() && {
    if (source_.parts().timeout_ms != target_.parts().timeout_ms) {
      add(Blocker::run_timeout, "", "the timeout of the run differs, and its timer is set");
    }
    for (const PlannedRunnable* planned : run_.runnables()) {
      if (!planned->plan.is_timer() && !planned->withdrawn) {
        compare(*planned);
      }
    }
    compare_graph();
    compare_adopted();
    if (problems_.empty()) {
      check_dependencies();
    }
    return std::move(problems_);
  }

 private:
  // It begins again with the migration, so nothing of it has to be what it was.
  [[nodiscard]] bool is_faulty(const PlannedRunnable& planned) const {
    const ManualState* parked = planned.applied ? nullptr : run_.parked(planned.plan.step);
    return parked != nullptr && is_fault(run_, *parked);
  }
  // What is open is the same step. The items of a list begin one by one: while one of them is
  // faulty, their input may be corrected.
  [[nodiscard]] bool is_same_open(const PlannedRunnable& planned, const Step& before,
                                  const Step& after) const {
    if (run_.each(planned.plan.step.view()) == nullptr ||
        !faulty_lists_.contains(planned.plan.step.str())) {
      return spec_text(before.spec) == spec_text(after.spec);
    }
    return spec_text(without_input(before.spec)) == spec_text(without_input(after.spec));
  }

  void add(Blocker blocker, std::string_view step, const std::string& message) {
    if (reported_.emplace(blocker, step).second) {
      problems_.push_back({blocker, std::string(step), message});
    }
  }

  void compare(const PlannedRunnable& planned) {
    const Runnable& plan = planned.plan;
    const std::string name(parse_activation(plan.step.view()).step);
    const auto now = source_.find(name);
    const auto then = target_.find(name);
    if (plan.graph_mutation.has_value() || name == kOutputStep) {
      return;
    }
    if (!now.has_value() || !then.has_value()) {
      add(Blocker::step_removed, name, fmt::format("step {} has begun and is missing", name));
      return;
    }
    const Step& before = source_.steps()[*now];
    const Step& after = target_.steps()[*then];
    const auto path = target_.find(plan.path.empty() ? std::string_view(name) : plan.path.view());
    if (before.begins_path != after.begins_path || !path.has_value() ||
        !target_.steps()[*path].begins_path) {
      add(Blocker::step_moved, name, fmt::format("step {} has begun and is on another path", name));
    }
    if (run_.visits(name) > after.max_visits) {
      add(Blocker::step_changed, name,
          fmt::format("step {} was begun more often than max_visits allows", name));
    }
    if (planned.applied) {
      compare_finished(planned, before, after);
    } else if (run_.latest(plan.step.view()) == &planned && !is_faulty(planned) &&
               !is_same_open(planned, before, after)) {
      add(Blocker::step_changed, name, fmt::format("step {} is open and differs", name));
    }
  }

  void compare_finished(const PlannedRunnable& planned, const Step& before, const Step& after) {
    const std::string name = before.name.str();
    if (before.kind != after.kind || before.spec.output != after.spec.output ||
        before.spec.for_each.has_value() != after.spec.for_each.has_value()) {
      add(Blocker::step_changed, name,
          fmt::format("step {} is finished, and its kind or output differs", name));
    }
    if (is_item(planned.plan.step.view()) ||
        execution_opts(planned.execution_opts).defer.has_value()) {
      return;
    }
    const TransitionTaken taken = transition_of(planned.transition);
    const RouteOn on = taken.on;
    const bool same = planned.is_undecided() ? true
                      : undecided_.contains(name) && on == RouteOn::ok
                          ? same_until(taken, before.on_ok, after.on_ok)
                      : on == RouteOn::ok    ? same_routes(before.on_ok, after.on_ok)
                      : on == RouteOn::error ? same_routes(before.on_error, after.on_error)
                                             : spec_text(before.spec) == spec_text(after.spec);
    if (!same) {
      add(Blocker::transition_changed, name,
          fmt::format("step {} is finished, and what follows it differs", name));
    }
  }

  void compare_graph() {
    for (const auto& [id, item] : run_.graph().active) {
      const std::string_view from = item.from.view();
      if (item.kind == GraphItem::node && target_.find(id).has_value()) {
        add(Blocker::added_step, id,
            fmt::format("step {} was added to the run, and the definition has one too", id));
      }
      if (item.kind == GraphItem::edge && !run_.graph().active.contains(item.from.str()) &&
          !target_.find(from).has_value()) {
        add(Blocker::added_step, from,
            fmt::format("an added step follows step {}, which is missing", from));
      }
    }
  }

  void compare_adopted() {
    if (!run_.adopted_steps().has_value()) {
      return;
    }
    for (const SharedText& step : run_.adopted_steps()->done) {
      const auto index = target_.find(step.view());
      if (!index.has_value() || !target_.steps()[*index].begins_path) {
        add(Blocker::step_removed, step.view(),
            fmt::format("step {} was taken over from another run and is missing", step.view()));
      }
    }
  }

  // Nothing has begun that would still have to wait, or began too early.
  void check_dependencies() {
    StepProgress progress(target_);
    if (run_.adopted_steps().has_value()) {
      for (const SharedText& step : run_.adopted_steps()->done) {
        progress.adopt(target_, step.view());
      }
    }
    for (const PlannedRunnable* planned : run_.runnables()) {
      if (planned->applied) {
        progress.apply(target_, *planned);
      }
    }
    for (StepIndex index = 0; index < target_.steps().size(); ++index) {
      const Step& step = target_.steps()[index];
      const std::string_view name = step.name.view();
      const PlannedRunnable* begun = run_.latest(name);
      if (begun != nullptr &&
          (progress.unmet[index] > 0 || (!is_faulty(*begun) && !has_waited_for(step)))) {
        add(Blocker::dependency_not_done, name,
            fmt::format("step {} has begun and did not wait for a step that it names now", name));
      }
    }
  }

  // What the step waits for in the target was done before it began: the source had it wait for the
  // same steps, directly or by way of others, or the run took them over.
  [[nodiscard]] bool has_waited_for(const Step& step) const {
    std::set<std::string_view> waited;
    std::vector<StepIndex> open;
    if (const auto index = source_.find(step.name.view())) {
      open.push_back(*index);
    }
    while (!open.empty()) {
      const StepIndex at = open.back();
      open.pop_back();
      for (const StepIndex before : source_.steps()[at].after) {
        if (waited.insert(source_.steps()[before].name.view()).second) {
          open.push_back(before);
        }
      }
    }
    if (run_.adopted_steps().has_value()) {
      for (const SharedText& done : run_.adopted_steps()->done) {
        waited.insert(done.view());
      }
    }
    return std::all_of(step.after.begin(), step.after.end(), [&](StepIndex before) {
      return waited.contains(target_.steps()[before].name.view());
    });
  }

  const RunProjection& run_;
  const Definition& source_;
  const Definition& target_;
  std::set<std::string> faulty_lists_;  // visits of which an item is parked by a fault
  std::set<std::string> undecided_;     // steps with a result that no transition fits
  std::vector<MigrationProblem> problems_;
  std::set<std::pair<Blocker, std::string>> reported_;
};

// The other definition may not have the faults any more.
void retry_faults(RunDraft& draft, const CommandSource& source) {
  const RunProjection& run = draft.run();
  std::vector<ManualState> faults;
  for (const auto& [step, state] : run.boundaries()) {
    if (is_fault(run, state)) {
      faults.push_back(state);
    }
  }
  for (const ManualState& state : faults) {
    if (run.parked(state.step) == nullptr) {
      continue;  // what another one led to has ended the run
    }
    ResolveStep command;
    command.action = ManualAction::retried;
    command.step = state.step;
    command.source = source;
    resolve_boundary(draft, state, command);
  }
}

std::string text_of(const std::vector<MigrationProblem>& problems) {
  std::string text;
  for (const MigrationProblem& problem : problems) {
    text += (text.empty() ? "" : "; ") + problem.message;
  }
  return text;
}

}  // namespace

std::vector<MigrationProblem> migration_problems(const RunProjection& run,
                                                 const Definition& target) {
  HOLDFAST_ASSERT(run.started().has_value());
  if (run.started()->workflow != target.workflow()) {
    return {{Blocker::other_workflow, "",
             fmt::format("the definition is of workflow {}", target.workflow().view())}};
  }
  if (run.definition() == nullptr) {
    return {{Blocker::unknown_definition, "", "the definition of the run is not known here"}};
  }
  if (run.is_compensating()) {
    return {{Blocker::compensating, "", "the run is compensating"}};
  }
  if (!run.anomalies().empty()) {
    return {{Blocker::anomalies, "", "its thread has entries that break its rules"}};
  }
  return Comparison(run, target).problems();
}

Result<RunFacts> decide_migrate(RunProjection& run, const MigrateRun& command,
                                const Surroundings& around, TimeMs now) {
  HOLDFAST_CHECK(check_started(run));
  HOLDFAST_ASSERT(command.target != nullptr);
  const PinnedDefinition pinned = run.pinned_definition();
  if (pinned.fingerprint == command.target->fingerprint()) {
    return RunFacts();
  }
  if (run.is_terminal()) {
    return refusal(run, ErrorCode::terminal_run, fmt::format("it is {}", to_text(run.status())));
  }
  const auto problems = migration_problems(run, *command.target);
  if (!problems.empty()) {
    return refusal(run, ErrorCode::invalid_transition,
                   "it cannot continue on the definition: " + text_of(problems))
        .with("reason", to_text(problems.front().blocker))
        .with("problems", text_of(problems));
  }
  RunDefinitionMigrated fact;
  fact.run_id = run.run_id();
  fact.migration_key =
      fmt::format("{}:{}", run.migrations().size() + 1, command.target->fingerprint().view());
  fact.source_version = pinned.version;
  fact.source_fingerprint = pinned.fingerprint;
  fact.target_version = command.target->version();
  fact.target_fingerprint = command.target->fingerprint();
  JsonWriter named;
  named.begin_object().member("definition", command.target->fingerprint().view()).end_object();
  RunDraft draft(run, around, now);
  draft.add(
      receipt(run.run_id(), SignalType::migrate_run, command.source, std::move(named).take_text()));
  draft.add(std::move(fact));
  run.follow(command.target);
  draft.begin_ready();  // before: what a fault held back begins with it
  retry_faults(draft, command.source);
  return draft.finish();
}

}  // namespace holdfast
