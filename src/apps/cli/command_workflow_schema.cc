#include "apps/cli/command.h"
#include "apps/cli/workflow_schema.h"

namespace holdfast::cli {

namespace {

struct WorkflowSchemaCommand {
  void declare(Arguments&) {}

  Result<void> run(Context& context) const {
    if (!context.json()) {
      context.out << kWorkflowSchema;
      return {};
    }
    HOLDFAST_TRY(const JsonText schema, JsonText::parse(kWorkflowSchema));
    print_line(context, schema.view());
    return {};
  }
};

}  // namespace

extern const Command kWorkflowSchemaCommand = make_command<WorkflowSchemaCommand>(
    "workflow schema", "Print the JSON Schema of workflow files, for editors.",
    R"(With the schema, an editor completes fields, documents them and marks mistakes. Many
editors find it through a comment in the first line of a YAML file:
  # yaml-language-server: $schema=workflow.schema.json

The schema describes fields and values; only `workflow check` checks how steps fit together.

Examples:
  holdfast workflow schema > workflow.schema.json)");

}  // namespace holdfast::cli
