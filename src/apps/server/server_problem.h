// Errors as clients get them: problem documents (RFC 9457). The one rule:
//
// - `retry` is true only when nothing was done, so that sending the same request again is safe;
//   Retry-After comes only together with it.
// - `what_next` is in_doubt when the request may have been carried out. Then the document says by
//   what to find out.
// - Failures of the store and the machine (5xx) are told by their code alone: their texts name
//   files, hosts and users, and are for the log of the server.
#pragma once

#include "base/json_writer.h"
#include "holdfast/result.h"
#include "net/http.h"

namespace holdfast {

// The error as the outside may see it. A field `detail` is a text that is meant for clients.
Error public_error(const Error& error);

// {"type","title","status","detail","code","retry","what_next", and the fields of the error}.
// Faults of a definition come as a list.
// status: another one than the code has; 0: that one.
JsonText problem_json(const Error& error, int status = 0);
// A field `retry_after_s` is the value of Retry-After.
net::Response problem_response(const Error& error, int status = 0);

}  // namespace holdfast
