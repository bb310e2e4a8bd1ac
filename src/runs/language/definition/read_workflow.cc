#include <fmt/format.h>

#include <set>

#include "runs/language/data/contract.h"
#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

// The items of a list of the workflow; none if the list is missing.
template <typename T, typename Read>
void read_list(const SpecObject& object, std::string_view name, std::size_t most, const Read& read,
               std::vector<T>& list) {
  const auto slice = object.find(name);
  if (!slice.has_value()) {
    return;
  }
  const SpecLocation at = object.at(name).with(FaultCode::invalid_collection);
  const auto items = read_items(at, *slice);
  if (items.size() > most) {
    at.fault(fmt::format("has {} items; the limit is {}", items.size(), most));
    return;
  }
  list.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    read(at.at(i).called(fmt::format("{}[{}]", name, i)), items[i], list.emplace_back());
  }
}

void check_trigger_names(const SpecLocation& location, const std::vector<TriggerSpec>& triggers) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < triggers.size(); ++i) {
    const std::string_view name = triggers[i].name.view();
    if (!name.empty() && !seen.insert(name).second) {
      location.at(i).at("name").fault(
          FaultCode::duplicate_trigger_name,
          fmt::format("is {}, like that of an earlier trigger; choose another name", quote(name)));
    }
  }
}

// A field of the input has the same type in all triggers.
void check_payload_fields(const SpecLocation& location, const std::vector<TriggerSpec>& triggers) {
  struct Declared {
    FieldType type;
    std::string_view trigger;
  };
  std::map<std::string, Declared> declared;
  for (std::size_t i = 0; i < triggers.size(); ++i) {
    if (triggers[i].payload.empty()) {
      continue;
    }
    std::vector<ContractFault> known;
    const Json json = Json::parse(triggers[i].payload.view()).value();
    const Contract contract = Contract::parse(json, known);
    for (const ContractField& field : contract.fields()) {
      const Declared here{field.type, triggers[i].name.view()};
      const Declared& first = declared.emplace(field.name, here).first->second;
      if (first.type != here.type) {
        location.at(i)
            .at("payload")
            .at(field.name)
            .fault(FaultCode::conflicting_payload_field,
                   fmt::format("has another type than in trigger {}; use the same type in both",
                               quote(first.trigger)));
      }
    }
  }
}

void read_triggers(const SpecObject& object, WorkflowSpec& spec) {
  read_list(object, "triggers", kMaxTriggers, read_trigger, spec.triggers);
  const SpecLocation at = object.at("triggers");
  if (object.find("triggers") == "[]") {
    at.fault(FaultCode::missing_triggers, "is empty; add a trigger or remove the field");
  }
  check_trigger_names(at, spec.triggers);
  check_payload_fields(at, spec.triggers);
}

void read_steps(const SpecObject& object, WorkflowSpec& spec) {
  read_list(object, "steps", kMaxSteps, read_step, spec.steps);
  const auto slice = object.find("steps");
  if (!slice.has_value() || slice == "[]") {
    object.at("steps").fault(FaultCode::missing_steps, "must have at least one step");
  }
}

}  // namespace

void read_workflow(Faults& faults, std::string_view text, WorkflowSpec& spec) {
  const SpecLocation location(faults, FaultCode::invalid_spec, "the workflow");
  const auto json = JsonText::parse(text);
  if (!json.ok()) {
    location.fault("is not valid JSON: " + json.error().message());
    return;
  }
  const SpecObject object(location, json.value().view(), kWorkflowObject);
  if (!object.is_object()) {
    return;
  }
  object.read_all(spec);
  object.read_part("output", read_mapping, spec.output);
  read_triggers(object, spec);
  read_steps(object, spec);
  read_list(object, "transitions", kMaxTransitions, read_transition, spec.transitions);
  object.finish();
}

}  // namespace holdfast
