#include "runs/steps/http_step.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/clock.h"
#include "base/json_value.h"
#include "base/json_writer.h"
#include "holdfast/assert.h"
#include "net/http_client.h"
#include "runs/steps/http_request.h"
#include "runs/steps/http_response.h"

namespace holdfast {
namespace {

constexpr std::size_t kMaxResponseBytes = 8U << 20U;  // more ends the transfer
// More than is kept, so that a secret at the cut is found as a whole.
constexpr std::size_t kReceivedBodyBytes = 2 * kKeptBodyBytes;

StepOutput not_sent(std::string_view code, std::string_view message) {
  StepOutput output;
  output.code = code;
  output.message = message;
  return output;
}

JsonText with_duration(const JsonText& details, std::int64_t duration_ms) {
  std::string text(details.view());
  text.pop_back();
  text += text.size() > 1 ? "," : "";
  text += "\"duration_ms\":" + std::to_string(duration_ms) + "}";
  return JsonText::trusted(std::move(text));
}

// One request on a connection of its own: nothing is ever sent twice.
net::HttpOutcome send(const HttpRequest& request, const std::stop_token& stop) {
  const std::chrono::milliseconds timeout(
      std::min<std::uint64_t>(request.timeout_ms, std::numeric_limits<std::int32_t>::max()));
  net::HttpOptions options;
  options.connect_timeout = timeout;
  options.max_idle = 0;
  options.strict = false;
  options.limits.body_bytes = kMaxResponseBytes;
  options.limits.kept_bytes = kReceivedBodyBytes;
  net::HttpCall call;
  call.method = request.method;
  call.target = request.target;
  call.body = request.body;
  call.headers.assign(request.headers.begin(), request.headers.end());
  call.timeout = timeout;
  const auto client = net::HttpClient::create(request.url, options);
  HOLDFAST_ASSERT(client.ok());  // it has no token and no authorities of its own to reject
  return client.value()->send(call, stop);
}

}  // namespace

StepOutput run_http(const HttpSpec& spec, std::string_view input,
                    const std::vector<std::pair<std::string, std::string>>& defaults,
                    const CredentialSource& credentials, const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return not_sent("cancelled", "the step was stopped before its request was sent");
  }
  const auto request = build_http_request(spec, input, defaults, credentials);
  if (!request.ok()) {
    const bool credential = request.error().code() == ErrorCode::not_found;
    return not_sent(credential ? "unknown_credential" : "invalid_http_request",
                    request.error().message());
  }
  const auto started = std::chrono::steady_clock::now();
  const net::HttpOutcome response = send(request.value(), stop);
  const auto took = std::chrono::steady_clock::now() - started;
  StepOutput output = output_of_response(spec, request.value(), response, SystemClock().now());
  output.details =
      with_duration(output.details, std::chrono::ceil<std::chrono::milliseconds>(took).count());
  return output;
}

}  // namespace holdfast
