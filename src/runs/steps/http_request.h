// From an http step and its input to the request that is sent, or the reason why none is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"
#include "runs/language/definition/spec.h"
#include "runs/steps/http_step.h"

namespace holdfast {

struct HttpRequest {
  std::string method;
  std::string url;   // complete, with its query
  std::string host;  // of the URL, with its port: the only part of it that is ever shown
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> body;
  std::vector<std::string> secrets;  // texts that must not be seen in any output
  std::uint64_t timeout_ms = 0;
};

// invalid_argument: the step, filled with this input, gives no request that is allowed.
// not_found: nobody knows a credential. No message holds a secret, or a
// value of the input but the host.
Result<HttpRequest> build_http_request(
    const HttpSpec& spec, std::string_view input,
    const std::vector<std::pair<std::string, std::string>>& defaults,
    const CredentialSource& credentials);

}  // namespace holdfast
