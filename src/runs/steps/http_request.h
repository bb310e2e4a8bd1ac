// From an http step and its input to the request that is sent, or the reason why none is sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"
#include "net/url.h"
#include "runs/language/definition/spec.h"
#include "runs/steps/http_step.h"

namespace holdfast {

struct HttpRequest {
  std::string method;
  net::Url url;        // its authority is the only part that messages show
  std::string target;  // path and query
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> body;
  std::vector<std::string> secrets;  // texts that must not appear in any output
  std::uint64_t timeout_ms = 0;
};

// invalid_argument: the step, filled with this input, does not give a request that is allowed.
// not_found: a credential is unknown. Messages contain no secret, and of the input only the host.
Result<HttpRequest> build_http_request(
    const HttpSpec& spec, std::string_view input,
    const std::vector<std::pair<std::string, std::string>>& defaults,
    const CredentialSource& credentials);

}  // namespace holdfast
