#include "runs/steps/http_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/json_value.h"
#include "base/utf8_cut.h"
#include "net/http_text.h"
#include "runs/steps/http_response.h"
#include "runs/steps/step_url.h"

namespace holdfast {
namespace {

constexpr std::uint64_t kDefaultTimeoutMs = 30'000;
constexpr std::size_t kShortestSecretBytes = 6;  // shorter texts appear everywhere

constexpr std::array<std::string_view, 7> kMethods = {"DELETE", "GET",  "HEAD", "OPTIONS",
                                                      "PATCH",  "POST", "PUT"};
// They determine where the request goes and where it ends: definitions cannot set them.
constexpr std::array<std::string_view, 9> kOwnHeaders = {
    "connection", "content-length", "expect",           "host", "keep-alive", "te",
    "trailer",    "upgrade",        "transfer-encoding"};

// By lower-case name: the value set last is sent.
using Headers = std::map<std::string, std::pair<std::string, std::string>>;

Error refused(std::string message) {
  return Error(ErrorCode::invalid_argument, std::move(message));
}

Result<void> set_header(Headers& headers, std::string_view name, std::string_view value) {
  if (!net::is_token(name)) {
    return refused(fmt::format("\"{}\" is not a header name", valid_utf8(name)));
  }
  const std::string key = net::lowered(name);
  if (std::find(kOwnHeaders.begin(), kOwnHeaders.end(), key) != kOwnHeaders.end()) {
    return refused(fmt::format("a step cannot set the header \"{}\"", name));
  }
  if (!net::is_value(value)) {
    return refused(
        fmt::format("the value of the header \"{}\" contains a control character", name));
  }
  headers[key] = {std::string(name), std::string(value)};
  return {};
}

// The whole value, and what follows a scheme as in "Bearer ...".
void remember_secret(std::vector<std::string>& secrets, const std::string& value) {
  const std::string last_word = value.substr(value.rfind(' ') + 1);
  if (value.size() >= kShortestSecretBytes) {
    secrets.push_back(value);
  }
  if (last_word.size() >= kShortestSecretBytes) {
    secrets.push_back(last_word);
  }
}

Result<void> set_credentials(HttpRequest& request, Headers& headers, const HttpSpec& spec,
                             const CredentialSource& credentials) {
  for (const auto& [header, name] : spec.credential_refs) {
    const auto secret = credentials ? credentials(name.view()) : std::nullopt;
    if (!secret) {
      return Error(ErrorCode::not_found,
                   fmt::format("unknown credential \"{}\"; give the worker a value for it",
                               valid_utf8(name.view())));
    }
    HOLDFAST_CHECK(set_header(headers, header, *secret));
    remember_secret(request.secrets, *secret);
  }
  return {};
}

}  // namespace

Result<HttpRequest> build_http_request(
    const HttpSpec& spec, std::string_view input,
    const std::vector<std::pair<std::string, std::string>>& defaults,
    const CredentialSource& credentials) {
  HttpRequest request;
  request.method = spec.method.str();
  if (std::find(kMethods.begin(), kMethods.end(), request.method) == kMethods.end()) {
    return refused(fmt::format("unknown method \"{}\"", valid_utf8(request.method)));
  }
  if (spec.send_input && request.method == "HEAD") {
    return refused("a HEAD request has no body");
  }
  HOLDFAST_TRY(const Json fields, Json::parse(input));
  HOLDFAST_TRY(request.url, fill_step_url(spec.url.view(), fields, spec.allowed_hosts));
  HOLDFAST_TRY(const std::string query, fill_step_query(spec.query, fields));
  request.target = std::exchange(request.url.path, {}) + query;
  request.timeout_ms = spec.timeout_ms == 0 ? kDefaultTimeoutMs : spec.timeout_ms;

  Headers all;
  if (spec.send_input) {
    request.body = std::string(input);
    HOLDFAST_CHECK(set_header(all, "Content-Type", "application/json"));
  }
  for (const auto& [name, value] : defaults) {
    HOLDFAST_CHECK(set_header(all, name, value));
  }
  for (const auto& [name, value] : spec.headers) {
    if (looks_secret(name)) {
      return refused(fmt::format("the header \"{}\" looks like a secret; use credential_refs",
                                 valid_utf8(name)));
    }
    HOLDFAST_CHECK(set_header(all, name, value.view()));
  }
  HOLDFAST_CHECK(set_credentials(request, all, spec, credentials));
  for (auto& [key, header] : all) {
    request.headers.push_back(std::move(header));
  }
  return request;
}

}  // namespace holdfast
