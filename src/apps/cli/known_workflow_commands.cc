// Commands on the workflows that a store knows.
#include <fmt/format.h>

#include <filesystem>

#include "apps/cli/arguments.h"
#include "apps/cli/cli_commands.h"
#include "apps/cli/place.h"
#include "runs/language/yaml/check_workflow.h"

namespace holdfast {

namespace {

using DefinitionPtr = std::shared_ptr<const Definition>;

bool is_file(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(name, ignored);
}

Result<DefinitionPtr> definition_of_file(const std::string& name) {
  HOLDFAST_TRY(const std::string text, read_file_argument(name));
  return load_workflow(text, name);
}

Error advised_workflow(const Error& error, const WorkPlace& place) {
  if (error.code() != ErrorCode::unknown_workflow) {
    return error;
  }
  return Error{ErrorCode::unknown_workflow,
               fmt::format("{}, and there is no such file; `holdfast workflow list{}` shows what "
                           "there is",
                           error.message(), place.suffix())};
}

// A file, or what the place knows under that name.
Result<DefinitionPtr> definition_of(WorkPlace& place, const std::string& name) {
  if (is_file(name)) {
    return definition_of_file(name);
  }
  auto found = place.definition(name);
  return found.ok() ? std::move(found) : advised_workflow(found.error(), place);
}

// What is known of the workflow of a file; nothing when nobody can be asked.
std::vector<KnownWorkflow> versions_of(WorkPlace& place, const Definition& definition) {
  auto versions = place.versions(definition.workflow().str());
  return versions.ok() ? std::move(versions).value() : std::vector<KnownWorkflow>();
}

}  // namespace

Result<void> run_command(const WorkflowListOptions& options, Context& context) {
  HOLDFAST_TRY(const auto place, open_place(options.place, context));
  HOLDFAST_TRY(const WorkPlace::Answer answer, place->workflows());
  context.out << answer.text;
  return {};
}

Result<void> run_command(const WorkflowShowOptions& options, Context& context) {
  HOLDFAST_TRY(const auto place, open_place(options.place, context));
  if (is_file(options.workflow)) {
    HOLDFAST_TRY(const auto definition, definition_of_file(options.workflow));
    context.out << workflow_answer(*definition, versions_of(*place, *definition), place->form(),
                                   place->style());
    return {};
  }
  const auto answer = place->workflow(options.workflow);
  if (!answer.ok()) {
    return advised_workflow(answer.error(), *place);
  }
  context.out << answer.value().text;
  return {};
}

Result<void> run_command(const WorkflowDiffOptions& options, Context& context) {
  HOLDFAST_TRY(const auto place, open_place(options.place, context));
  HOLDFAST_TRY(const auto before, definition_of(*place, options.before));
  HOLDFAST_TRY(const auto after, definition_of(*place, options.after));
  context.out << workflow_diff_answer({options.before, *before}, {options.after, *after},
                                      place->form(), place->style());
  return {};
}

}  // namespace holdfast
