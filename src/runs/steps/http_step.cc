#include "runs/steps/http_step.h"

#include <chrono>

#include "base/clock.h"
#include "base/json_value.h"
#include "base/json_writer.h"
#include "runs/steps/http_request.h"
#include "runs/steps/http_response.h"
#include "runs/steps/http_transfer.h"

namespace holdfast {
namespace {

// More than is kept, so that a secret at the cut is found whole.
constexpr std::size_t kTakenBodyBytes = 2 * kKeptBodyBytes;

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
  const HttpAnswer answer = transfer(request.value(), kTakenBodyBytes, stop);
  const auto took = std::chrono::steady_clock::now() - started;
  StepOutput output = output_of_answer(spec, request.value(), answer, SystemClock().now());
  output.details =
      with_duration(output.details, std::chrono::ceil<std::chrono::milliseconds>(took).count());
  return output;
}

}  // namespace holdfast
