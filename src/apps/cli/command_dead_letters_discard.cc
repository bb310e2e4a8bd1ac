#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct DeadLettersDiscardCommand {
  BackendOptions backend = {};
  DiscardRun request = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    add_run(arguments, request.run);
    arguments.option("--step", "STEP", request.options.step,
                     "Step that is parked; needed when several are");
    add_actor(arguments, request.options.actor);
    add_comment(arguments, request.options.comment);
    add_key(arguments, request.options.idempotency_key);
  }

  Result<void> run(Context& context) const { return control_run(backend, request, context); }
};

}  // namespace

extern const Command kDeadLettersDiscardCommand = make_command<DeadLettersDiscardCommand>(
    "dead-letters discard", "Discard a parked step: it fails.",
    R"(The run continues as after any failure: with its error route, its compensation or its end.

Examples:
  holdfast dead-letters discard latest --actor ann --comment 'paid in cash'
  holdfast dead-letters discard 9f3c21 --step charge)");

}  // namespace holdfast::cli
