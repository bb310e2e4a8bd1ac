// The URL of a webhook: http or https, with a query if it needs one, on a port of web servers.
#pragma once

#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "net/address_policy.h"
#include "net/url.h"

namespace holdfast::delivery {

struct WebhookUrl {
  net::Url origin;  // without its path
  std::string target;
};

// policy: an address in place of a name is refused here already; null: at the attempt only.
// invalid_url, which does not show the URL.
Result<WebhookUrl> parse_webhook_url(std::string_view text, const net::AddressPolicy* policy);

}  // namespace holdfast::delivery
