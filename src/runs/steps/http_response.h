// From the outcome of a request to the output of the step: which statuses are failures, which of
// them are retryable, and what is kept of the response.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/http_client.h"
#include "runs/steps/http_request.h"
#include "runs/steps/step_output.h"

namespace holdfast {

// Names of headers whose values are credentials: cookies, tokens, keys.
bool looks_secret(std::string_view header_name);

// Retry-After: seconds, or an HTTP date; a time in the past is 0. Empty if it is neither.
std::optional<std::uint64_t> parse_retry_after(std::string_view value, TimeMs now);

// Sets all details of the output except the duration.
StepOutput output_of_response(const HttpSpec& spec, const HttpRequest& request,
                              const net::HttpOutcome& response, TimeMs now);

}  // namespace holdfast
