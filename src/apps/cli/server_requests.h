// Requests of commands as calls of a server's HTTP API (docs/http-api.md).
#pragma once

#include <string>
#include <string_view>

#include "apps/cli/backend_requests.h"
#include "base/clock.h"
#include "holdfast/result.h"

namespace holdfast::cli {

struct ServerRequest {
  std::string_view method = "GET";
  std::string path = {};  // with its query
  std::string body = {};  // JSON; empty: none
  bool repeatable = false;
};

// Fails with invalid_argument as a store does, before anything is sent.
Result<ServerRequest> server_request(const Query& query, TimeMs now);
ServerRequest server_request(const RunControl& command);
ServerRequest server_request(const RunStart& command);
ServerRequest server_request(const AdminCommand& command);

}  // namespace holdfast::cli
