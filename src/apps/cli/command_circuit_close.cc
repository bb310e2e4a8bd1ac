#include <fmt/format.h>

#include "apps/cli/backend.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/terminal_text.h"

namespace holdfast::cli {

namespace {

struct CircuitCloseCommand {
  BackendOptions backend = {};
  CloseCircuitRequest request = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.required("WORKFLOW", request.workflow, "the workflow");
    arguments.required("STEP", request.step, "the step, without visit and item");
    arguments.option("--queue", "QUEUE", request.queue,
                     "Only in this queue (default: every queue in which it is open)");
    add_actor(arguments, request.actor);
    arguments.option("--reason", "TEXT", request.reason, "Why; recorded");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    HOLDFAST_TRY(const std::string body, opened->administer(request));
    if (context.json()) {
      print_body(context, body);
      return {};
    }
    HOLDFAST_TRY(const Json json, Json::parse(body));
    const std::string closed = JsonRow(json).names("closed");
    print_line(context, fmt::format("the circuit breaker of step {} of {} {}",
                                    harmless(request.step), harmless(request.workflow),
                                    closed.empty() ? "was not open"
                                                   : "is closed; it was open in queue " + closed));
    return {};
  }
};

}  // namespace

extern const Command kCircuitCloseCommand = make_command<CircuitCloseCommand>(
    "circuit close", "Close the circuit breaker of a step.",
    R"(Attempts that wait behind it are handed out again at once, and failures are counted from
zero. `holdfast status` lists the open ones.

Examples:
  holdfast circuit close invoice charge --actor ann --reason 'the bank answers again'
  holdfast circuit close invoice charge --queue billing)");

}  // namespace holdfast::cli
