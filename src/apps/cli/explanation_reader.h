// Reads the members of an explanation that following a run needs from the JSON of a server.
#pragma once

#include <string_view>

#include "holdfast/result.h"
#include "runs/view/explanation.h"

namespace holdfast::cli {

// summary, next_actions, causes and now; the rest stays empty. What is not there is empty, too.
// invalid_json.
Result<Explanation> read_explanation(std::string_view json);

}  // namespace holdfast::cli
