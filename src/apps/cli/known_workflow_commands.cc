// Commands on the workflows that a store knows.
#include <fmt/format.h>

#include <filesystem>

#include "apps/cli/arguments.h"
#include "apps/cli/backend.h"
#include "apps/cli/cli_commands.h"
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

Error advised_workflow(const Error& error, const Backend& backend) {
  if (error.code() != ErrorCode::unknown_workflow) {
    return error;
  }
  return Error{ErrorCode::unknown_workflow,
               fmt::format("{}, and there is no such file; `holdfast workflow list{}` shows what "
                           "there is",
                           error.message(), backend.suffix())};
}

// A file, or what the place knows under that name.
Result<DefinitionPtr> definition_of(Backend& backend, const std::string& name) {
  if (is_file(name)) {
    return definition_of_file(name);
  }
  auto found = backend.definition(name);
  return found.ok() ? std::move(found) : advised_workflow(found.error(), backend);
}

// What is known of the workflow of a file; nothing when nobody can be asked.
std::vector<KnownWorkflow> versions_of(Backend& backend, const Definition& definition) {
  auto versions = backend.versions(definition.workflow().str());
  return versions.ok() ? std::move(versions).value() : std::vector<KnownWorkflow>();
}

}  // namespace

Result<void> run_command(const WorkflowListOptions& options, Context& context) {
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  HOLDFAST_TRY(const Backend::Answer answer, backend->workflows());
  context.out << answer.text;
  return {};
}

Result<void> run_command(const WorkflowShowOptions& options, Context& context) {
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  if (is_file(options.workflow)) {
    HOLDFAST_TRY(const auto definition, definition_of_file(options.workflow));
    context.out << workflow_answer(*definition, versions_of(*backend, *definition), backend->form(),
                                   backend->style());
    return {};
  }
  const auto answer = backend->workflow(options.workflow);
  if (!answer.ok()) {
    return advised_workflow(answer.error(), *backend);
  }
  context.out << answer.value().text;
  return {};
}

Result<void> run_command(const WorkflowDiffOptions& options, Context& context) {
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  HOLDFAST_TRY(const auto before, definition_of(*backend, options.before));
  HOLDFAST_TRY(const auto after, definition_of(*backend, options.after));
  context.out << workflow_diff_answer({options.before, *before}, {options.after, *after},
                                      backend->form(), backend->style());
  return {};
}

}  // namespace holdfast
