// The URL of an http step: filled from the input, then checked as a whole, so that no value of
// the input can lead to another host, another folder or a query of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "base/shared_text.h"
#include "holdfast/result.h"

namespace holdfast {

struct HttpUrl {
  std::string text;       // scheme://host[:port]/path
  std::string authority;  // host[:port], lower case
};

// invalid_argument when a field is missing, empty or no scalar, or when the result is not
// http(s)://host[:port]/path at one of the allowed hosts. A host that is allowed without a port
// is allowed at the standard port of the scheme.
Result<HttpUrl> fill_http_url(std::string_view url_template, const Json& input,
                              const std::vector<SharedText>& allowed_hosts);

// "?a=1&b=2" from these fields of the input, "" without any.
Result<std::string> fill_http_query(const std::vector<SharedText>& names, const Json& input);

}  // namespace holdfast
