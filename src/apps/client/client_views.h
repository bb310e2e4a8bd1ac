// Public views from the JSON responses of a server (docs/inspection.md).
#pragma once

#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "holdfast/run.h"
#include "runs/api/run_requests.h"

namespace holdfast::client {

// Each returns io_error if the text is not a response of a server.
Result<StartedRun> read_started(std::string_view json);
Result<RunView> read_snapshot(std::string json);
Result<RunExplanation> read_explanation(std::string json);
Result<RunPage> read_page(std::string json);
Result<DeadLetterPage> read_dead_letters_page(std::string_view json);
Result<DeadLetterDecision> read_dead_letter_decision(std::string_view json);

}  // namespace holdfast::client
