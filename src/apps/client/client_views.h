// Public views out of the JSON that a server answers with (docs/inspection.md).
#pragma once

#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "holdfast/run.h"
#include "runs/api/run_requests.h"

namespace holdfast::client {

// Each is io_error when the text is not what a server says.
Result<StartedRun> read_started(std::string_view json);
Result<RunView> read_snapshot(std::string json);
Result<RunExplanation> read_explanation(std::string json);
Result<RunPage> read_page(std::string json);

Result<OutcomeResponse> read_outcome(std::string_view json);

}  // namespace holdfast::client
