#include "runs/steps/http_response.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/json_value.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "runs/steps/http_transfer.h"
#include "runs/steps/utf8_cut.h"

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

// "https://h:1/path?key=1" to "h:1". A relative location stays at the host that was asked.
std::string host_of_location(std::string_view location, std::string_view asked) {
  const std::size_t slashes = location.find("//");
  if (slashes == std::string_view::npos || slashes > location.find_first_of("/?#")) {
    return std::string(asked);
  }
  std::string_view host = location.substr(slashes + 2);
  host = host.substr(0, host.find_first_of("/?#\\"));
  const std::size_t at = host.rfind('@');
  return std::string(at == std::string_view::npos ? host : host.substr(at + 1));
}

bool is_redirect(int status) { return status >= 300 && status < 400; }

void write_headers(JsonWriter& writer, const HttpRequest& request, const HttpAnswer& answer) {
  std::map<std::string, std::string> kept;
  for (const auto& [name, value] : answer.headers) {
    std::string shown = without_secrets(value, request.secrets);
    if (looks_secret(name)) {
      shown = kRedacted;
    } else if (name == "location" && is_redirect(answer.status)) {
      shown = host_of_location(shown, request.host);
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

bool is_json(const HttpAnswer& answer) {
  const auto found = std::find_if(answer.headers.begin(), answer.headers.end(),
                                  [](const auto& h) { return h.first == "content-type"; });
  if (found == answer.headers.end()) {
    return false;
  }
  std::string type = lower_header_name(found->second);
  type = type.substr(0, type.find_first_of("; \t"));
  return type == "application/json" || type.ends_with("+json");
}

void write_body(JsonWriter& writer, const HttpRequest& request, const HttpAnswer& answer) {
  const std::string body = without_secrets(answer.body, request.secrets);
  if (answer.body_bytes > kKeptBodyBytes) {
    writer.member("body", utf8_prefix(body, kKeptBodyBytes));
    writer.member("body_truncated", true);
    return;
  }
  if (is_json(answer)) {
    const auto value = JsonText::parse(body);
    // It goes one level deeper, and must not get too deep by that.
    if (value.ok() && JsonText::parse("[" + body + "]").ok()) {
      writer.member("body", value.value());
      return;
    }
  }
  writer.member("body", body);
}

JsonText kept_of(const HttpSpec& spec, const HttpRequest& request, const HttpAnswer& answer) {
  JsonWriter writer;
  writer.begin_object();
  writer.member("status", std::int64_t{answer.status});
  write_headers(writer, request, answer);
  if (spec.keep_body) {
    write_body(writer, request, answer);
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

// Statuses that say: not now.
bool status_may_pass(int status) {
  return status == 408 || status == 425 || status == 429 || (status >= 500 && status < 600);
}

StepOutput output_of_status(const HttpSpec& spec, const HttpRequest& request,
                            const HttpAnswer& answer, TimeMs now) {
  if (answer.status >= 200 && answer.status < 300) {
    StepOutput output;
    output.ok = true;
    output.result = kept_of(spec, request, answer);
    JsonWriter writer;
    writer.begin_object().member("status", std::int64_t{answer.status}).end_object();
    output.details = std::move(writer).take_text();
    return output;
  }
  const auto header = [&](std::string_view name) {
    const auto found = std::find_if(answer.headers.begin(), answer.headers.end(),
                                    [&](const auto& h) { return h.first == name; });
    return found == answer.headers.end() ? std::string_view() : std::string_view(found->second);
  };
  StepOutput output;
  if (is_redirect(answer.status)) {
    const std::string location = without_secrets(header("location"), request.secrets);
    output = failure("http_redirect",
                     fmt::format("{} {} answered {}, a redirect to '{}', which is not followed",
                                 request.method, request.host, answer.status,
                                 valid_utf8(host_of_location(location, request.host))),
                     false);
  } else {
    output = failure(fmt::format("http_{}", answer.status),
                     fmt::format("{} {} answered {}", request.method, request.host, answer.status),
                     status_may_pass(answer.status));
  }
  if (output.retryable) {
    output.retry_after_ms = parse_retry_after(header("retry-after"), now);
  }
  output.details = kept_of(spec, request, answer);
  return output;
}

}  // namespace

std::string lower_header_name(std::string_view name) {
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool looks_secret(std::string_view header_name) {
  const std::string name = lower_header_name(header_name);
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
  const time_t at = curl_getdate(std::string(value).c_str(), nullptr);
  if (at == -1) {
    return std::nullopt;
  }
  const std::int64_t delay_ms = std::int64_t{at} * kMsPerSecond - now.value;
  return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(delay_ms, 0)), kMaxDurationMs);
}

StepOutput output_of_answer(const HttpSpec& spec, const HttpRequest& request,
                            const HttpAnswer& answer, TimeMs now) {
  const auto failed = [&](std::string code, bool retryable) {
    return failure(std::move(code),
                   fmt::format("{} {}: {}", request.method, request.host, answer.reason),
                   retryable);
  };
  switch (answer.end) {
    case TransferEnd::answered:
      return output_of_status(spec, request, answer, now);
    case TransferEnd::stopped:
      return failed("cancelled", false);
    case TransferEnd::timed_out:
      return failed("http_timeout", true);
    case TransferEnd::unreachable:
      return failed("http_unreachable", true);
    case TransferEnd::interrupted:
      return failed("http_interrupted", true);
    case TransferEnd::too_large:
      return failed("http_too_large", false);
    case TransferEnd::refused:
      break;
  }
  return failed("invalid_http_request", false);
}

}  // namespace holdfast
