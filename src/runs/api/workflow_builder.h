// From a Workflow of include/holdfast to the spec it stands for.
#pragma once

#include "holdfast/workflow.h"
#include "runs/language/definition/spec.h"

namespace holdfast {

// Whatever is wrong with the workflow is wrong with the spec, so that Definition::create names it.
WorkflowSpec spec_of(const Workflow& workflow);

}  // namespace holdfast
