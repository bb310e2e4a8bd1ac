#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

// What failed is part of the run: its error, its input and the commands that decide it.
struct DeadLettersShowCommand {
  BackendOptions backend = {};
  ExplainRequest request = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    add_run(arguments, request.run);
  }
  Result<void> run(Context& context) const { return print_query(backend, request, context); }
};

}  // namespace

extern const Command kDeadLettersShowCommand = make_command<DeadLettersShowCommand>(
    "dead-letters show", "Show why a run has a dead letter, and what can be done.",
    R"(The same as `holdfast explain`. `holdfast show` also prints the input of the step.

Examples:
  holdfast dead-letters show latest)");

}  // namespace holdfast::cli
