// From what the server said, or did not, to an Error: the same code and fields as in the process of
// the engine (docs/http-api.md, Errors).
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "holdfast/result.h"
#include "net/http_client.h"

namespace holdfast::client {

// Of an answer with a status of 400 or more. A code that is not known here is told by its status.
Error error_of_answer(const net::HttpOutcome& answer);
// Of a problem document, for those inside an answer.
Error error_of_problem(std::string_view json, int status);
// Of a call that was not answered: unavailable, in doubt when it may have been carried out.
Error error_of_silence(const net::HttpOutcome& outcome);

// Seconds; a date is not understood. At most a day.
std::optional<std::chrono::milliseconds> retry_after(const net::HttpOutcome& answer);

}  // namespace holdfast::client
