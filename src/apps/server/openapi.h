// The text of schema/openapi.json, embedded at build time.
#pragma once

#include <string_view>

namespace holdfast {

extern const std::string_view kOpenapiDocument;

}  // namespace holdfast
