// From a valid spec to what the engine needs.
#include "runs/language/definition/definition_builder.h"

#include "base/hash.h"

namespace holdfast {

namespace {

// The spec was checked before, so this cannot fail.
Json json_of(const Payload& payload) { return Json::parse(payload.view()).value(); }

std::optional<Mapping> mapping_of(const Payload& payload) {
  return payload.empty() ? std::nullopt : std::optional(Mapping::parse(json_of(payload)).value());
}

std::optional<Contract> contract_of(const Payload& payload) {
  std::vector<ContractFault> none;
  return payload.empty() ? std::nullopt : std::optional(Contract::parse(json_of(payload), none));
}

SharedText handler_of(const StepSpec& step, StepKind kind) {
  switch (kind) {
    case StepKind::handler:
      return step.handler.empty() ? step.name : step.handler;
    case StepKind::http:
      return kHttpHandler;
    case StepKind::exec:
      return kExecHandler;
    case StepKind::log:
    case StepKind::wait:
    case StepKind::pause:
    case StepKind::approval:
    case StepKind::await_event:
    case StepKind::child:
      break;
  }
  return {};
}

std::uint32_t max_visits_of(const WorkflowSpec& workflow, const StepSpec& step) {
  const std::uint32_t of_all = workflow.max_visits == 0 ? kDefaultMaxVisits : workflow.max_visits;
  return step.max_visits == 0 ? of_all : step.max_visits;
}

// An omitted field means its default, so each spec has one form.
WorkflowSpec canonical(WorkflowSpec spec) {
  for (StepSpec& step : spec.steps) {
    if (step.handler == step.name) {
      step.handler = {};
    }
    if (step.for_each.has_value() && step.for_each->as == "item") {
      step.for_each->as = {};
    }
  }
  return spec;
}

}  // namespace

std::shared_ptr<const Definition> DefinitionBuilder::build(const WorkflowSpec& spec,
                                                           const StepGraph& graph) {
  DefinitionBuilder builder(canonical(spec), graph);
  builder.add_steps();
  builder.add_transitions();
  builder.add_triggers();
  Definition& built = *builder.definition_;
  built.output_ = mapping_of(built.spec_.output);
  built.spec_json_ = Payload(to_json(built.spec_).value());
  built.fingerprint_ = to_hex(sha256(built.spec_json_.view()));
  return std::move(builder.definition_);
}

DefinitionBuilder::DefinitionBuilder(WorkflowSpec spec, const StepGraph& graph)
    : graph_(graph), definition_(new Definition()) {
  definition_->spec_ = std::move(spec);
}

void DefinitionBuilder::add_steps() {
  const WorkflowSpec& spec = definition_->spec_;
  definition_->steps_.reserve(spec.steps.size());
  for (StepIndex i = 0; i < spec.steps.size(); ++i) {
    const StepSpec& of = spec.steps[i];
    Step& step = definition_->steps_.emplace_back();
    step.spec = of;
    step.kind = kind_of(of);
    step.name = of.name;
    step.handler = handler_of(of, step.kind);
    step.queue = of.queue;
    step.retry = of.retry;
    step.after = graph_.after[i];
    step.dependents = graph_.dependents[i];
    step.begins_path = graph_.begins_path(i);
    step.on_timeout = graph_.on_timeout[i];
    step.input = mapping_of(of.input);
    step.input_contract = contract_of(of.input_schema);
    step.output_contract = contract_of(of.output_schema);
    step.max_visits = max_visits_of(spec, of);
    definition_->by_name_.emplace(of.name, i);
    if (step.begins_path) {
      ++definition_->path_count_;
      if (step.after.empty()) {
        definition_->roots_.push_back(i);
      }
    }
  }
}

void DefinitionBuilder::add_transitions() {
  for (const Route& route : graph_.routes) {
    const TransitionSpec& of = definition_->spec_.transitions[route.location];
    Transition transition;
    transition.to = route.to;
    transition.to_name = of.to;
    transition.when_json = of.when;
    if (!of.when.empty()) {
      transition.when = Condition::parse(json_of(of.when)).value();
    }
    transition.recovery = of.recovery;
    Step& from = definition_->steps_[route.from];
    (route.on == StepOutcome::ok ? from.on_ok : from.on_error).push_back(std::move(transition));
  }
}

void DefinitionBuilder::add_triggers() {
  for (const TriggerSpec& of : definition_->spec_.triggers) {
    definition_->triggers_.push_back({of, contract_of(of.payload)});
  }
  if (definition_->triggers_.empty()) {
    TriggerSpec manual;
    manual.name = to_text(TriggerType::manual);
    definition_->triggers_.push_back({std::move(manual), std::nullopt});
  }
}

}  // namespace holdfast
