// The text of schema/openapi.json, put into the program when it is built.
#pragma once

#include <string_view>

namespace holdfast {

extern const std::string_view kOpenapiDocument;

}  // namespace holdfast
