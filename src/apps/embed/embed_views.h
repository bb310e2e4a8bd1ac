// Public views of runs, from the projections.
#pragma once

#include "holdfast/run.h"
#include "runs/inspect/run_list.h"
#include "runs/view/explanation.h"
#include "runs/view/run_source.h"

namespace holdfast {

RunView view_of(const RunSource& source);
RunExplanation public_form(const Explanation& explanation);
// Without the JSON.
RunPage public_form(const RunRows& rows);

}  // namespace holdfast
