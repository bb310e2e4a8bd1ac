#include "apps/bridges/broker_lease_url.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/names.h"
#include "base/read_file.h"
#include "base/text.h"
#include "net/url.h"

namespace holdfast::bridges {

namespace {

constexpr auto kSchemes = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"broker://", "http://"}, {"broker+https://", "https://"}, {"broker+unix://", "unix:"}});
constexpr std::size_t kMostTokenBytes = 4096;

Error bad_url(std::string text) {
  return Error{ErrorCode::invalid_url, std::move(text)}.with("field", "url");
}

Result<std::uint64_t> number_of(std::string_view name, std::string_view value) {
  const auto number = parse_decimal(value);
  return number.has_value()
             ? Result<std::uint64_t>(*number)
             : bad_url(fmt::format("the parameter {} of the broker URL is not a number", name));
}

Result<std::string> read_token(const std::string& file) {
  HOLDFAST_TRY(std::string token, read_file(file, kMostTokenBytes));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) {
    token.pop_back();
  }
  return token;
}

Result<void> set_parameter(BrokerLeaseUrl& url, std::string_view name, std::string_view value) {
  if (name == "token_file") {
    HOLDFAST_TRY(url.token, read_token(std::string(value)));
  } else if (name == "prefix") {
    if (!is_name(value)) {
      return bad_url("prefix of the broker URL must consist of letters, digits, '_', '.' and '-'");
    }
    url.prefix = value;
  } else if (name == "redeliver_ms") {
    HOLDFAST_TRY(url.options.redeliver_ms, number_of(name, value));
  } else if (name == "max_deliveries") {
    HOLDFAST_TRY(url.options.max_deliveries, number_of(name, value));
  } else {
    return bad_url(
        fmt::format("unknown parameter \"{}\" in the broker URL; use token_file, "
                    "prefix, redeliver_ms or max_deliveries",
                    name));
  }
  return {};
}

Result<void> set_parameters(BrokerLeaseUrl& url, std::string_view query) {
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(one.size() + 1, query.size()));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
      return bad_url("a parameter of the broker URL is NAME=VALUE");
    }
    HOLDFAST_CHECK(set_parameter(url, one.substr(0, equals), one.substr(equals + 1)));
  }
  return {};
}

}  // namespace

bool is_broker_lease_url(std::string_view url) {
  for (const auto& [scheme, http] : kSchemes) {
    if (url.starts_with(scheme)) {
      return true;
    }
  }
  return false;
}

Result<BrokerLeaseUrl> parse_broker_lease_url(std::string_view text) {
  for (const auto& [scheme, http] : kSchemes) {
    if (!text.starts_with(scheme)) {
      continue;
    }
    std::string_view rest = text.substr(scheme.size());
    const std::size_t question = rest.find('?');
    const std::string_view query =
        question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
    rest = rest.substr(0, question);
    BrokerLeaseUrl url;
    if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos && http != "unix:") {
      url.token = rest.substr(0, at);
      rest.remove_prefix(at + 1);
    }
    HOLDFAST_CHECK(set_parameters(url, query));
    url.origin = std::string(http) + std::string(rest);
    HOLDFAST_TRY(const net::Url parsed, net::parse_url(url.origin));
    if (parsed.kind != net::Url::Kind::unix_socket && !parsed.path.empty()) {
      return bad_url("a broker URL ends behind its host and port");
    }
    if (url.token.empty()) {
      return bad_url(
          "a broker URL needs the token of a member: broker://TOKEN@HOST, or the parameter "
          "token_file");
    }
    constexpr std::uint64_t kLongestLeaseMs = 12ULL * 3'600'000;
    if (url.options.redeliver_ms == 0 || url.options.redeliver_ms > kLongestLeaseMs) {
      return bad_url("redeliver_ms of the broker URL must be from 1 to 43200000");
    }
    url.shown = std::string(scheme) + std::string(rest);
    return url;
  }
  return bad_url("a broker URL begins with broker://, broker+https:// or broker+unix://");
}

}  // namespace holdfast::bridges
