// The URL of an http step: filled from the input, then checked as a whole, so that no value of
// the input can change the host, leave the folder or add a query.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "base/shared_text.h"
#include "holdfast/result.h"
#include "net/url.h"

namespace holdfast {

// invalid_argument if a field is missing, empty or not a scalar, or if the result is not
// http(s)://HOST[:PORT]/PATH on one of the allowed hosts. An allowed host without a port allows
// every port of that host. The path of the URL is not empty.
Result<net::Url> fill_step_url(std::string_view url_template, const Json& input,
                               const std::vector<SharedText>& allowed_hosts);

// "?a=1&b=2" from these fields of the input; "" if there are none.
Result<std::string> fill_step_query(const std::vector<SharedText>& names, const Json& input);

}  // namespace holdfast
