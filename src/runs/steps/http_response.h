// From what came back, or did not, to the output of the step: which statuses are failures, which
// of them may pass, and what is kept of the answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "runs/steps/http_request.h"
#include "runs/steps/step_output.h"

namespace holdfast {

struct HttpAnswer;

// Names of headers whose values are credentials: cookies, tokens, keys.
bool looks_secret(std::string_view header_name);
std::string lower_header_name(std::string_view name);

// Retry-After: seconds, or an HTTP date; a time that is over is 0. Empty when it is neither.
std::optional<std::uint64_t> parse_retry_after(std::string_view value, TimeMs now);

// The details of the output are set but for the duration.
StepOutput output_of_answer(const HttpSpec& spec, const HttpRequest& request,
                            const HttpAnswer& answer, TimeMs now);

}  // namespace holdfast
