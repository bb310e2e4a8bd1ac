// Runs that have not ended, as views see them from inside the loop.
#pragma once

#include "runs/engine/turn.h"
#include "runs/view/explanation.h"

namespace holdfast {

// Good until the end of the turn.
RunSource live_source(Turn& turn, const RunProjection& run);
// Finds other runs that an explanation leads to, live or not.
FindRun live_finder(Turn& turn);
// run_not_found.
Result<Explanation> explain_in_turn(Turn& turn, const RunId& run);

}  // namespace holdfast
