// What a worker makes of the messages of runs/api/work_requests.h.
#pragma once

#include "holdfast/result.h"
#include "holdfast/step.h"
#include "runs/api/work_requests.h"
#include "runs/facts/attempt_outcome.h"

namespace holdfast::client {

StepInfo info_of(const ClaimedAttempt& attempt);
Report report_of(const ClaimedAttempt& attempt, const AttemptOutcome& outcome);
// About as many as its JSON has.
std::size_t bytes_of(const Report& report);

// io_error if it is not a response of a server; then the call may have been processed.
template <HasFields T>
Result<T> read_response(std::string_view body) {
  auto response = from_json<T>(body);
  if (!response.ok()) {
    // A proxy may have added white space.
    const auto compact = JsonText::parse(body);
    response = compact.ok() ? from_json<T>(compact.value().view()) : response;
  }
  if (!response.ok()) {
    return Error{ErrorCode::io_error,
                 "the response of the server cannot be read: " + response.error().text()};
  }
  return response;
}
template <HasFields T>
Result<T> response_of(const Result<std::string>& body) {
  return body.ok() ? read_response<T>(body.value()) : Result<T>(body.error());
}

}  // namespace holdfast::client
