#include "runs/steps/http_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/json_value.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/utf8_cut.h"
#include "net/http.h"
#include "net/http_text.h"

namespace holdfast {
namespace {

constexpr std::string_view kRedacted = "[REDACTED]";
constexpr std::int64_t kMsPerSecond = 1000;

constexpr std::array<std::string_view, 9> kSecretParts = {
    "authorization", "cookie",  "token",  "secret",    "password",
    "api-key",       "api_key", "apikey", "credential"};

std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets) {
  std::string out(text);
  for (const std::string& secret : secrets) {
    for (std::size_t at = out.find(secret); at != std::string::npos;
         at = out.find(secret, at + kRedacted.size())) {
      out.replace(at, secret.size(), kRedacted);
    }
  }
  return out;
}

// "https://h:1/path?key=1" to "h:1". A relative location stays on the requested host.
std::string host_of_location(std::string_view location, std::string_view requested) {
  const std::size_t slashes = location.find("//");
  if (slashes == std::string_view::npos || slashes > location.find_first_of("/?#")) {
    return std::string(requested);
  }
  std::string_view host = location.substr(slashes + 2);
  host = host.substr(0, host.find_first_of("/?#\\"));
  const std::size_t at = host.rfind('@');
  return std::string(at == std::string_view::npos ? host : host.substr(at + 1));
}

bool is_redirect(int status) { return status >= 300 && status < 400; }

void write_headers(JsonWriter& writer, const HttpRequest& request,
                   const net::HttpOutcome& response) {
  std::map<std::string, std::string> kept;
  for (const auto& [name, value] : response.headers) {
    std::string shown = without_secrets(value, request.secrets);
    if (looks_secret(name)) {
      shown = kRedacted;
    } else if (name == "location" && is_redirect(response.status)) {
      shown = host_of_location(shown, request.url.authority);
    }
    const auto [place, is_new] = kept.try_emplace(name, shown);
    if (!is_new && !looks_secret(name)) {
      place->second += ", " + shown;
    }
  }
  writer.key("headers").begin_object();
  for (const auto& [name, value] : kept) {
    writer.member(name, value);
  }
  writer.end_object();
}

bool is_json(const net::HttpOutcome& response) {
  std::string type = net::lowered(response.header("content-type"));
  type = type.substr(0, type.find_first_of("; \t"));
  return type == "application/json" || type.ends_with("+json");
}

void write_body(JsonWriter& writer, const HttpRequest& request, const net::HttpOutcome& response) {
  const std::string body = without_secrets(response.body, request.secrets);
  if (response.body_bytes > kKeptBodyBytes) {
    writer.member("body", utf8_prefix(body, kKeptBodyBytes));
    writer.member("body_truncated", true);
    return;
  }
  if (is_json(response)) {
    const auto value = JsonText::parse(body);
    // The result nests it one level deeper, which must not exceed the limit.
    if (value.ok() && JsonText::parse("[" + body + "]").ok()) {
      writer.member("body", value.value());
      return;
    }
  }
  writer.member("body", body);
}

JsonText kept_of(const HttpSpec& spec, const HttpRequest& request,
                 const net::HttpOutcome& response) {
  JsonWriter writer;
  writer.begin_object();
  writer.member("status", std::int64_t{response.status});
  write_headers(writer, request, response);
  if (spec.keep_body) {
    write_body(writer, request, response);
  }
  return std::move(writer.end_object()).take_text();
}

StepOutput failure(std::string code, std::string message, bool retryable) {
  StepOutput output;
  output.code = std::move(code);
  output.message = std::move(message);
  output.retryable = retryable;
  return output;
}

// Statuses of temporary failures.
bool is_retryable(int status) {
  return status == 408 || status == 425 || status == 429 || (status >= 500 && status < 600);
}

StepOutput output_of_status(const HttpSpec& spec, const HttpRequest& request,
                            const net::HttpOutcome& response, TimeMs now) {
  if (response.status >= 200 && response.status < 300) {
    StepOutput output;
    output.ok = true;
    output.result = kept_of(spec, request, response);
    JsonWriter writer;
    writer.begin_object().member("status", std::int64_t{response.status}).end_object();
    output.details = std::move(writer).take_text();
    return output;
  }
  StepOutput output;
  if (is_redirect(response.status)) {
    const std::string location = without_secrets(response.header("location"), request.secrets);
    output = failure("http_redirect",
                     fmt::format("{} {} returned {}, a redirect to \"{}\", which is not followed",
                                 request.method, request.url.authority, response.status,
                                 valid_utf8(host_of_location(location, request.url.authority))),
                     false);
  } else {
    output = failure(
        fmt::format("http_{}", response.status),
        fmt::format("{} {} returned {}", request.method, request.url.authority, response.status),
        is_retryable(response.status));
  }
  if (output.retryable) {
    output.retry_after_ms = parse_retry_after(response.header("retry-after"), now);
  }
  output.details = kept_of(spec, request, response);
  return output;
}

}  // namespace

bool looks_secret(std::string_view header_name) {
  const std::string name = net::lowered(header_name);
  return std::any_of(kSecretParts.begin(), kSecretParts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

std::optional<std::uint64_t> parse_retry_after(std::string_view value, TimeMs now) {
  if (value.empty()) {
    return std::nullopt;
  }
  if (value.find_first_not_of("0123456789") == std::string_view::npos) {
    const std::size_t digit = std::min(value.find_first_not_of('0'), value.size() - 1);
    const auto seconds = parse_decimal(value.substr(digit));
    const std::uint64_t most = kMaxDurationMs / kMsPerSecond;
    return std::min(seconds.value_or(most), most) * kMsPerSecond;
  }
  const auto at = net::parse_http_date(value);
  if (!at.has_value()) {
    return std::nullopt;
  }
  const std::int64_t delay_ms = *at * kMsPerSecond - now.value;
  return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(delay_ms, 0)), kMaxDurationMs);
}

StepOutput output_of_response(const HttpSpec& spec, const HttpRequest& request,
                              const net::HttpOutcome& response, TimeMs now) {
  const auto failed = [&](std::string code, bool retryable) {
    return failure(std::move(code),
                   fmt::format("{} {}: {}", request.method, request.url.authority, response.cause),
                   retryable);
  };
  switch (response.failure) {
    case net::HttpFailure::none:
      return output_of_status(spec, request, response, now);
    case net::HttpFailure::stopped:
      return failed("cancelled", false);
    case net::HttpFailure::timed_out:
      return failed("http_timeout", true);
    case net::HttpFailure::unreachable:
    case net::HttpFailure::untrusted:
      return failed("http_unreachable", true);
    case net::HttpFailure::interrupted:
    case net::HttpFailure::malformed:
    case net::HttpFailure::ended:
      return failed("http_interrupted", true);
    case net::HttpFailure::too_large:
      return failed("http_too_large", false);
    case net::HttpFailure::rejected:
      break;
  }
  return failed("invalid_http_request", false);
}

}  // namespace holdfast
