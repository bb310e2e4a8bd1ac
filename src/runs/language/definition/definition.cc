#include "runs/language/definition/definition.h"

#include <algorithm>

#include "runs/language/definition/definition_builder.h"
#include "runs/language/definition/read_spec.h"
#include "runs/language/definition/step_graph.h"
#include "runs/language/definition/unwritable.h"

namespace holdfast {

namespace {

SpecLocation whole(Faults& faults) { return {faults, FaultCode::invalid_spec, "the workflow"}; }

// A spec with the graph of its steps. The graph points into the spec.
struct Checked {
  WorkflowSpec spec;
  StepGraph graph;
};

void check_text(Faults& faults, std::string_view text, Checked& checked) {
  read_workflow(faults, text, checked.spec);
  checked.graph = resolve_graph(whole(faults), checked.spec);
  check_graph(whole(faults), checked.spec, checked.graph);
}

Result<std::shared_ptr<const Definition>> build(Faults faults, std::string_view text) {
  Checked checked;
  check_text(faults, text, checked);
  if (!faults.none()) {
    return invalid_definition(std::move(faults).take());
  }
  return DefinitionBuilder::build(checked.spec, checked.graph);
}

std::uint64_t capped_product(std::uint64_t left, std::uint64_t right) {
  return left != 0 && right > kMaxDurationMs / left ? kMaxDurationMs : left * right;
}

// Removes the digits after a mark; false if the mark has no digits.
bool take_number(std::string_view& text, char mark) {
  if (!text.starts_with(mark)) {
    return true;
  }
  const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
  text.remove_prefix(end);
  return end > 1;
}

// Whether this is a suffix of a step name: @2, [7] or @2[7].
bool is_visit_or_item(std::string_view rest) {
  if (!take_number(rest, '@')) {
    return false;
  }
  return rest.empty() || (rest.starts_with('[') && take_number(rest, '[') && rest == "]");
}

}  // namespace

std::uint64_t retry_delay_ms(const RetryRule& rule, std::uint32_t attempt_number) {
  const std::uint64_t before = attempt_number == 0 ? 0 : attempt_number - 1;
  std::uint64_t factor = 1;
  switch (rule.backoff) {
    case Backoff::fixed:
      break;
    case Backoff::linear:
      factor = before + 1;
      break;
    case Backoff::exponential:
      factor = std::uint64_t{1} << std::min<std::uint64_t>(before, 62);
      break;
  }
  const std::uint64_t limit = rule.max_delay_ms == 0 ? kMaxDurationMs : rule.max_delay_ms;
  return std::min({capped_product(rule.delay_ms, factor), limit, kMaxDurationMs});
}

const RetryRule& rule_for(const RetryPolicy& policy, std::string_view code) {
  const auto found = std::find_if(policy.codes.begin(), policy.codes.end(),
                                  [&](const CodeRetry& own) { return own.code.view() == code; });
  return found == policy.codes.end() ? policy.rule : found->rule;
}

Result<std::shared_ptr<const Definition>> Definition::create(const WorkflowSpec& spec) {
  Faults faults;
  check_unwritable(whole(faults), spec);
  std::string text;
  // A field without a value is reported when the text is read.
  (void)append_json(text, spec);
  return build(std::move(faults), text);
}

Result<std::shared_ptr<const Definition>> Definition::parse(std::string_view spec) {
  return build(Faults{}, spec);
}

std::vector<DefinitionFault> Definition::check(std::string_view spec) {
  Faults faults;
  Checked checked;
  check_text(faults, spec, checked);
  return std::move(faults).take();
}

std::optional<StepIndex> Definition::find(std::string_view step) const {
  const std::size_t end = std::min(step.find_first_of("@["), step.size());
  const auto found = by_name_.find(step.substr(0, end));
  return found == by_name_.end() || !is_visit_or_item(step.substr(end))
             ? std::nullopt
             : std::optional(found->second);
}

const Trigger* Definition::find_trigger(std::string_view name) const {
  const auto found = std::find_if(triggers_.begin(), triggers_.end(), [&](const Trigger& trigger) {
    return name.empty() || trigger.spec.name.view() == name;
  });
  return found == triggers_.end() ? nullptr : &*found;
}

}  // namespace holdfast
