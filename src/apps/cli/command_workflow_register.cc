#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/backend_commands.h"
#include "apps/cli/workflow_files.h"
#include "apps/client/work_messages.h"
#include "runs/api/store_requests.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

void print_check(Context& context, const MigrationCheck& check) {
  print_line(context, fmt::format("run {} ({}) {}", check.run_id, check.status,
                                  check.can_migrate ? "can migrate" : "cannot migrate:"));
  for (const MigrationReason& problem : check.problems) {
    print_line(context, fmt::format("  {} [{}]", harmless(problem.message), problem.blocker));
  }
}

struct WorkflowRegisterCommand {
  BackendOptions backend = {};
  std::string file = {};
  bool dry_run = false;

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.required("FILE", file, "a workflow file; - reads standard input");
    arguments.flag("--dry-run", dry_run,
                   "Register nothing; report which runs in progress could migrate to it");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const DefinitionPtr definition, load_workflow_file(file));
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    HOLDFAST_TRY(const std::string body, opened->administer(RegisterWorkflow{definition, dry_run}));
    if (context.json()) {
      print_body(context, body);
      return {};
    }
    HOLDFAST_TRY(const RegisterResponse response, client::read_response<RegisterResponse>(body));
    if (!dry_run) {
      print_line(context, fmt::format("workflow {} {} ({})", harmless(response.workflow),
                                      response.existed ? "was registered before" : "is registered",
                                      response.fingerprint));
      return {};
    }
    for (const MigrationCheck& check : response.runs) {
      print_check(context, check);
    }
    const auto safe = std::count_if(response.runs.begin(), response.runs.end(),
                                    [](const MigrationCheck& check) { return check.can_migrate; });
    print_line(context, fmt::format("{} of {}{} in progress could migrate to {}", safe,
                                    response.more ? "the first " : "",
                                    counted(response.runs.size(), "run"), response.fingerprint));
    return {};
  }
};

}  // namespace

extern const Command kWorkflowRegisterCommand = make_command<WorkflowRegisterCommand>(
    "workflow register", "Register a workflow file: new runs use it, runs in progress keep theirs.",
    R"(With --dry-run nothing is changed: the command reports for every run in progress whether
`holdfast migrate` could continue it on the file, and why not.

Examples:
  holdfast workflow register orders.yaml --dry-run
  holdfast workflow register orders.yaml
  holdfast migrate latest --to newest)");

}  // namespace holdfast::cli
