#include <fmt/format.h>

#include "apps/cli/argument_values.h"
#include "apps/cli/backend_commands.h"
#include "apps/cli/workflow_files.h"

namespace holdfast::cli {

namespace {

Error start_error(const Error& error, const std::string& workflow, const Backend& backend) {
  if (error.code() != ErrorCode::unknown_workflow) {
    return error;
  }
  return Error{ErrorCode::unknown_workflow,
               fmt::format("\"{}\" is neither a file nor a workflow in the store; `holdfast "
                           "workflow list{}` lists the workflows",
                           workflow, backend.suffix())};
}

struct StartCommand {
  BackendOptions backend = {};
  StartRun request = {};
  std::vector<std::string> attributes = {};

  void declare(Arguments& arguments) {
    StartOptions& options = request.options;
    add_backend(arguments, backend);
    arguments.required("WORKFLOW", request.workflow, "a workflow file, or the name of a workflow");
    add_start_options(arguments,
                      {options.run_id, options.idempotency_key, options.trigger, request.input});
    arguments.option("--queue", "NAME", options.queue,
                     "Queue of its steps (default: as the workflow defines)");
    add_actor(arguments, options.actor);
    add_comment(arguments, options.comment);
    arguments.option("--attribute", "NAME=VALUE", attributes,
                     "Search attribute; may be given several times");
  }

  Result<void> run(Context& context) const {
    StartRun start = request;
    HOLDFAST_TRY(start.input, json_argument("input", request.input));
    HOLDFAST_TRY(start.options.search_attributes, attributes_argument(attributes));
    if (is_file(request.workflow)) {
      // Before the store is created: an invalid file leaves nothing behind.
      HOLDFAST_TRY(start.definition, load_workflow_file(request.workflow));
      HOLDFAST_CHECK(check_start(*start.definition, start.options.run_id, start.options.trigger));
      start.workflow = start.definition->workflow().str();
    }
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    const auto started = opened->start(start);
    if (!started.ok()) {
      return start_error(started.error(), request.workflow, *opened);
    }
    std::string warning;
    if (started.value().existed && start.definition != nullptr) {
      HOLDFAST_TRY(const std::string snapshot, opened->json(ShowRequest{{started.value().run_id}}));
      warning = other_definition_warning(snapshot, *start.definition);
    }
    warn(warning);
    report_started(started.value(), !warning.empty(), *opened, context);
    return {};
  }
};

}  // namespace

extern const Command kStartCommand = make_command<StartCommand>(
    "start", "Start a run without executing it, and print its id.",
    R"(WORKFLOW is a file, or the name of a registered workflow. `holdfast work`, or any program
that works on the store, executes the run.

Examples:
  holdfast start order.yaml --input '{"total":12}'
  holdfast start order --key order-42 --attribute customer=ann --attribute total=12)");

}  // namespace holdfast::cli
