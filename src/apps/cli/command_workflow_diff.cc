#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct WorkflowDiffCommand {
  BackendOptions backend = {};
  std::string before = {};
  std::string after = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.required("BEFORE", before, "NAME, NAME@VERSION, NAME@FINGERPRINT or a workflow file");
    arguments.required("AFTER", after, "the definition to compare it with, likewise");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    HOLDFAST_TRY(const auto old_definition, find_definition(*opened, before));
    HOLDFAST_TRY(const auto new_definition, find_definition(*opened, after));
    context.out << render_view(WorkflowDiffView{{before, old_definition}, {after, new_definition}},
                               opened->form(), opened->style());
    return {};
  }
};

}  // namespace

extern const Command kWorkflowDiffCommand = make_command<WorkflowDiffCommand>(
    "workflow diff", "Show the differences between two definitions.",
    R"(Examples:
  holdfast workflow diff order order.yaml       what would registering this file change?
  holdfast workflow diff order@1 order@2)");

}  // namespace holdfast::cli
