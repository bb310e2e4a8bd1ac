// Errors as clients receive them: problem documents (RFC 9457).
//
// - `retry` is true only when nothing was done, so that the same request can be sent again;
//   Retry-After is sent only with it.
// - `what_next` is in_doubt when the request may have been executed. Then the document has the
// fields
//   by which the caller can find out.
// - Failures of the store and the machine (5xx) have only their code: their texts name files, hosts
//   and users, and appear in the log of the server only.
#pragma once

#include "base/json_writer.h"
#include "holdfast/result.h"
#include "net/http.h"

namespace holdfast {

// The error without internal texts. The field "detail", if present, is a text for clients.
Error public_error(const Error& error);

// {"type","title","status","detail","code","retry","what_next", and the fields of the error}.
// Faults of a definition are a list. status: 0 for the status of the code.
JsonText problem_json(const Error& error, int status = 0);
// The field "retry_after_s" becomes Retry-After.
net::Response problem_response(const Error& error, int status = 0);

}  // namespace holdfast
