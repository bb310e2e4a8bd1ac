// From a response of the server, or a missing one, to an Error with the same code and fields as in
// the process of the engine (docs/http-api.md, Errors).
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "holdfast/result.h"
#include "net/http_client.h"

namespace holdfast::client {

// For a response with a status of 400 or more. An unknown code is replaced by one for the status.
Error error_of_response(const net::HttpOutcome& response);
// For a problem document inside a response.
Error error_of_problem(std::string_view json, int status);
// For a call without a response: unavailable, in doubt if it may have been processed.
Error error_without_response(const net::HttpOutcome& outcome);

// Of the header Retry-After, in seconds only. At most a day.
std::optional<std::chrono::milliseconds> retry_after(const net::HttpOutcome& response);

}  // namespace holdfast::client
