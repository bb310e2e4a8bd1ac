// Errors as they go over the wire: problem documents (RFC 9457).
#pragma once

#include "base/json_writer.h"
#include "base/result.h"
#include "net/http.h"

namespace holdfast {

// {"type","title","status","detail","code","retry", and the fields of the error}. Faults of a
// definition come as a list.
// status: another one than the code has; 0: that one.
JsonText problem_json(const Error& error, int status = 0);
net::Response problem_response(const Error& error, int status = 0);

}  // namespace holdfast
