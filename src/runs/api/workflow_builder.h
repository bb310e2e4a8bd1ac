// Converts a Workflow of include/holdfast to a workflow spec.
#pragma once

#include "holdfast/workflow.h"
#include "runs/language/definition/spec.h"

namespace holdfast {

// Faults of the workflow are faults of the spec, so that Definition::create reports them.
WorkflowSpec spec_of(const Workflow& workflow);

}  // namespace holdfast
