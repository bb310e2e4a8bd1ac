// The text of schema/daemon_openapi.json, embedded at build time.
#pragma once

#include <string_view>

namespace holdfast::delivery {

extern const std::string_view kDaemonDocument;

}  // namespace holdfast::delivery
