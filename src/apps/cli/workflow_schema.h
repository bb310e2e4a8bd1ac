// The text of schema/workflow.schema.json, embedded at build time.
#pragma once

#include <string_view>

namespace holdfast::cli {

extern const std::string_view kWorkflowSchema;

}  // namespace holdfast::cli
