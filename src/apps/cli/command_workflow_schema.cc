#include "apps/cli/command.h"
#include "runs/language/definition/workflow_schema.h"

namespace holdfast::cli {

namespace {

struct WorkflowSchemaCommand {
  void declare(Arguments&) {}

  Result<void> run(Context& context) const {
    const std::string text = workflow_schema();
    if (!context.json()) {
      context.out << text;
      return {};
    }
    HOLDFAST_TRY(const JsonText schema, JsonText::parse(text));
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
