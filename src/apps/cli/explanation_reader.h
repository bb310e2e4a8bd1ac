// An explanation out of its JSON, as a server sends it: what those who follow a run need of it.
#pragma once

#include <string_view>

#include "holdfast/result.h"
#include "runs/view/explanation.h"

namespace holdfast {

// summary, next_actions, causes and now; the rest stays empty. What is not there is empty, too.
// invalid_json.
Result<Explanation> read_explanation(std::string_view json);

}  // namespace holdfast
