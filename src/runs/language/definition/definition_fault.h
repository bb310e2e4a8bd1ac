// DefinitionFault: one thing that is wrong with a definition: where, which rule, in words. The
// codes are listed in docs/workflow-language.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/error.h"

namespace holdfast {

struct DefinitionFault {
  std::vector<std::string> path;  // {"steps","2","retry","max_attempts"}; empty: the whole
  std::string code;               // invalid_step_retry_max_attempts
  std::string message;            // for people; names the step

  friend bool operator==(const DefinitionFault&, const DefinitionFault&) = default;
};

// "steps[2].retry.max_attempts", for people.
std::string path_text(const std::vector<std::string>& path);

// The error of a definition that cannot be used: its message has every fault in words, its field
// "errors" the same as JSON: [{"path":[...],"code":"...","message":"..."}].
Error invalid_definition(const std::vector<DefinitionFault>& faults);

}  // namespace holdfast
