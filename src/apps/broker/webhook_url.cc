#include "apps/broker/webhook_url.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMostCharacters = 2000;

Error bad_url(std::string_view what) {
  return Error{ErrorCode::invalid_url, std::string(what)}.with("field", "url");
}

}  // namespace

Result<WebhookUrl> parse_webhook_url(std::string_view text, const net::AddressPolicy* policy) {
  if (text.size() > kMostCharacters) {
    return bad_url(fmt::format("the URL has more than {} characters", kMostCharacters));
  }
  const std::size_t question = std::min(text.find('?'), text.size());
  const std::string_view query = text.substr(question);
  HOLDFAST_TRY(net::Url url, net::parse_url(text.substr(0, question)));
  if (url.kind == net::Url::Kind::unix_socket) {
    return bad_url("the URL of a webhook starts with http:// or https://");
  }
  if (!std::ranges::all_of(query, [](char c) { return c > ' ' && c < '\x7f' && c != '#'; })) {
    return bad_url("the query of the URL has characters that must be percent-encoded");
  }
  if (!net::is_web_port(url.port)) {
    return bad_url(
        fmt::format("webhooks are not sent to port {}; use 443, 80, or one from 1024 "
                    "on that browsers do not block",
                    url.port));
  }
  if (policy != nullptr && net::AddressPolicy::is_address(url.host) &&
      !policy->permits(std::string_view(url.host))) {
    return bad_url(
        "the URL has an address that is not public; `holdfast broker serve --webhook-allow "
        "NETWORK` allows one");
  }
  WebhookUrl parsed;
  parsed.target = (url.path.empty() ? "/" : url.path) + std::string(query);
  url.path.clear();
  parsed.origin = std::move(url);
  return parsed;
}

}  // namespace holdfast::delivery
