// DefinitionBuilder: fills in a Definition. Nothing can fail: the spec was found to be in order.
#pragma once

#include <memory>

#include "runs/language/definition/definition.h"
#include "runs/language/definition/step_graph.h"

namespace holdfast {

class DefinitionBuilder {
 public:
  static std::shared_ptr<const Definition> build(const WorkflowSpec& spec, const StepGraph& graph);

 private:
  DefinitionBuilder(WorkflowSpec spec, const StepGraph& graph);
  void add_steps();
  void add_transitions();
  void add_triggers();

  const StepGraph& graph_;
  std::shared_ptr<Definition> definition_;
};

}  // namespace holdfast
