// Workflows as JSON or as text for people: of a store, or of files. Every answer ends with a
// newline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/terminal/terminal_style.h"
#include "runs/inspect/inspector.h"

namespace holdfast {

enum class Form : std::uint8_t { json, text };

// {"NAME":[{"workflow","version","fingerprint","registered_at"}]}
std::string workflows_json(std::string_view name, const std::vector<KnownWorkflow>& workflows);
std::string show_workflows(const std::vector<KnownWorkflow>& workflows);

// versions: what a store knows of the same workflow.
std::string workflow_answer(const Definition& definition,
                            const std::vector<KnownWorkflow>& versions, Form form,
                            const Style& style);

struct NamedDefinition {
  std::string_view name;  // as it was asked for
  const Definition& definition;
};
std::string workflow_diff_answer(const NamedDefinition& before, const NamedDefinition& after,
                                 Form form, const Style& style);

}  // namespace holdfast
