// Requests of commands as calls of a server's HTTP API (docs/http-api.md).
#pragma once

#include "apps/cli/backend_requests.h"
#include "apps/cli/server_calls.h"
#include "base/clock.h"
#include "holdfast/result.h"

namespace holdfast::cli {

using ServerRequest = ServerCalls::Call;

// Fails with invalid_argument as a store does, before anything is sent.
Result<ServerRequest> server_request(const Query& query, TimeMs now);
Result<ServerRequest> server_request(const RunControl& command);
Result<ServerRequest> server_request(const RunStart& command);
Result<ServerRequest> server_request(const AdminCommand& command);

}  // namespace holdfast::cli
