#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runs/facts/activation.h"
#include "runs/run/context_text.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

// The step that began the path of a runnable.
std::optional<StepIndex> path_step(const Definition& definition, const Runnable& plan) {
  return definition.find(plan.path.empty() ? plan.step.view() : plan.path.view());
}

// The steps that come after one, and after those, and so on.
std::set<StepIndex> descendants(const Definition& definition, StepIndex step) {
  std::set<StepIndex> found;
  std::vector<StepIndex> open{step};
  while (!open.empty()) {
    const StepIndex at = open.back();
    open.pop_back();
    for (const StepIndex next : definition.steps()[at].dependents) {
      if (found.insert(next).second) {
        open.push_back(next);
      }
    }
  }
  return found;
}

// Which runnables of the source a replay from a step does not repeat.
class Adoption {
 public:
  Adoption(const RunProjection& source, const PlannedRunnable& first)
      : definition_(*source.definition()), first_(first) {
    path_ = *path_step(definition_, first.plan);
    again_ = descendants(definition_, path_);
  }

  [[nodiscard]] StepIndex path() const { return path_; }
  [[nodiscard]] bool is_kept(const PlannedRunnable& planned) const {
    const auto path = path_step(definition_, planned.plan);
    if (!path.has_value() || planned.plan.is_timer() || is_compensation(planned.plan.step.view())) {
      return false;
    }
    return planned.applied && !planned.withdrawn && !again_.contains(*path) &&
           (*path != path_ || planned.order < first_.order);
  }
  [[nodiscard]] bool is_done(const StepProgress& progress, StepIndex step) const {
    return progress.done[step] && step != path_ && !again_.contains(step);
  }

 private:
  const Definition& definition_;
  const PlannedRunnable& first_;
  StepIndex path_ = 0;
  std::set<StepIndex> again_;
};

void put(std::string& object, std::string_view name, std::string_view value) {
  object += object.size() == 1 ? "" : ",";
  append_json_string(object, name);
  object += ":";
  object += value;
}

// What the kept runnables gave, in the order they gave it.
Payload kept_context(std::vector<const PlannedRunnable*> kept) {
  std::sort(kept.begin(), kept.end(), [](const auto* left, const auto* right) {
    return left->applied_order < right->applied_order;
  });
  std::string object = "{";
  for (const PlannedRunnable* planned : kept) {
    if (is_item(planned->plan.step.view())) {
      continue;
    }
    const Payload& result = planned->result;
    if (!planned->output_key.empty() && !result.empty()) {
      put(object, planned->output_key.view(), result.view());
    } else if (result.is_object()) {
      JsonSlicer members(result.view());
      while (const auto member = members.next()) {
        object += object.size() == 1 ? "\"" : ",\"";
        object += fmt::format("{}\":{}", member->name, member->value);
      }
    }
  }
  // A member that was given twice is there twice, and the later wins.
  return Payload::trusted(object + "}");
}

// Beside its input a replay keeps only the schedule of its source. It is not a child of the parent
// of its source, and the schedule does not count it.
Payload schedule_only(const Payload& context) {
  std::string schedule;
  each_member(context, [&](std::string_view name, std::string_view value) {
    if (name == kScheduleKey) {
      schedule = value;
    }
  });
  if (schedule.empty()) {
    return Payload();
  }
  std::string kept = "{";
  each_member(Payload::trusted(schedule), [&](std::string_view name, std::string_view value) {
    if (name != "idempotency" && name != "idempotency_key") {
      kept += fmt::format("{}\"{}\":{}", kept.size() == 1 ? "" : ",", name, value);
    }
  });
  return Payload::trusted(fmt::format("{{\"{}\":{}}}}}", kScheduleKey, kept));
}

// Steps that ran and cannot be undone, among those that would run again.
Result<void> check_safe_to_replay(const RunProjection& source, const Adoption* adoption) {
  std::vector<std::string> unsafe;
  for (const PlannedRunnable* planned : source.runnables()) {
    const auto index = source.definition()->find(planned->plan.step.view());
    if (!planned->applied || planned->withdrawn || !index.has_value() ||
        is_compensation(planned->plan.step.view()) ||
        (adoption != nullptr && adoption->is_kept(*planned))) {
      continue;
    }
    const StepSpec& step = source.definition()->steps()[*index].spec;
    if (step.irreversible || !step.compensatable.value_or(true)) {
      unsafe.push_back(planned->plan.step.str());
    }
  }
  if (unsafe.empty()) {
    return {};
  }
  std::string names;
  for (const std::string& step : unsafe) {
    names += (names.empty() ? "" : ", ") + step;
  }
  return refusal(source, ErrorCode::unsafe_replay,
                 fmt::format("a replay would repeat {}, which cannot be undone", names))
      .with("steps", names);
}

Result<const PlannedRunnable*> first_of(const RunProjection& source, const SharedText& from) {
  if (!source.definition()->find(from.view()).has_value()) {
    return refusal(source, ErrorCode::invalid_argument,
                   fmt::format("its workflow has no step {}", from.view()))
        .with("field", "from_step");
  }
  const PlannedRunnable* latest = source.latest(from.view());
  if (latest == nullptr) {
    return refusal(source, ErrorCode::invalid_transition,
                   fmt::format("it never came to step {}", from.view()))
        .with("step", from.view());
  }
  const PlannedRunnable* first = source.find(runnable_key(source.run_id(), from.view(), 1).view());
  return first == nullptr ? latest : first;
}

// What a replay takes over must be done on its definition too, and be all that its step waits for.
Result<void> check_fit(const RunProjection& source, const Definition& target,
                       const StepsAdopted& adopted) {
  const auto misfit = [&](std::string_view step, std::string_view what) {
    return refusal(source, ErrorCode::invalid_transition,
                   fmt::format("on that definition step {} {}", step, what))
        .with("step", step);
  };
  StepProgress progress(target);
  for (const SharedText& done : adopted.done) {
    const auto index = target.find(done.view());
    if (!index.has_value() || !target.steps()[*index].begins_path) {
      return misfit(done.view(), "is missing or begins no path");
    }
    progress.adopt(target, done.view());
  }
  for (const SharedText& name : {adopted.from_step, adopted.path}) {
    const auto index = name.empty() ? std::nullopt : target.find(name.view());
    if (!name.empty() && !index.has_value()) {
      return misfit(name.view(), "is missing");
    }
    if (index.has_value() && progress.unmet[*index] > 0) {
      return misfit(name.view(), "waits for a step that is not done");
    }
  }
  return {};
}

}  // namespace

Result<StartRun> plan_replay(const RunProjection& source, const ReplayRun& command) {
  HOLDFAST_CHECK(check_started(source));
  HOLDFAST_ASSERT(source.definition() != nullptr);
  if (command.definition != nullptr &&
      command.definition->workflow() != source.started()->workflow) {
    return refusal(source, ErrorCode::invalid_argument,
                   fmt::format("the definition is of workflow {}",
                               command.definition->workflow().view()))
        .with("field", "definition");
  }
  StartRun start;
  start.run_id = command.run_id;
  start.definition = command.definition == nullptr ? source.definition() : command.definition;
  start.queue = source.started()->queue;
  start.trigger = source.started()->trigger;
  start.input = command.input.empty() ? source.started()->input : command.input;
  start.context = schedule_only(source.started()->context);
  start.replayed_from = source.run_id();
  start.source = command.source;
  start.started_by = StartedBy::replay;
  if (command.from_step.empty()) {
    if (!command.allow_irreversible) {
      HOLDFAST_CHECK(check_safe_to_replay(source, nullptr));
    }
    return start;
  }
  HOLDFAST_TRY(const PlannedRunnable* const first, first_of(source, command.from_step));
  const Adoption adoption(source, *first);
  if (!command.allow_irreversible) {
    HOLDFAST_CHECK(check_safe_to_replay(source, &adoption));
  }
  StepsAdopted adopted;
  adopted.run_id = command.run_id;
  adopted.source_run_id = source.run_id();
  adopted.from_step = parse_activation(command.from_step.view()).step;
  adopted.path = first->plan.path;
  const auto& steps = source.definition()->steps();
  for (StepIndex index = 0; index < steps.size(); ++index) {
    if (adoption.is_done(source.progress(), index)) {
      adopted.done.push_back(steps[index].name);
    }
  }
  std::vector<const PlannedRunnable*> kept;
  for (const PlannedRunnable* planned : source.runnables()) {
    if (adoption.is_kept(*planned)) {
      kept.push_back(planned);
    }
  }
  adopted.context = kept_context(std::move(kept));
  if (command.definition != nullptr) {
    HOLDFAST_CHECK(check_fit(source, *command.definition, adopted));
  }
  start.adopted = std::move(adopted);
  return start;
}

}  // namespace holdfast
