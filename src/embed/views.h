// Public views out of the projections.
#pragma once

#include "engine/run_list.h"
#include "holdfast/run.h"
#include "view/explain.h"
#include "view/run_source.h"

namespace holdfast {

RunView view_of(const RunSource& source);
RunExplanation public_form(const Explanation& explanation);
// Without the JSON.
RunPage public_form(const RunRows& rows);

}  // namespace holdfast
