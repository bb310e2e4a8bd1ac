// The text of schema/broker_openapi.json, embedded at build time.
#pragma once

#include <string_view>

namespace holdfast::delivery {

extern const std::string_view kBrokerDocument;

}  // namespace holdfast::delivery
