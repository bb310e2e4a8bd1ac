#include "apps/cli/backend_commands.h"
#include "apps/cli/dead_letters_bulk.h"

namespace holdfast::cli {

namespace {

struct DeadLettersRedriveCommand {
  BackendOptions backend = {};
  DeadLetterSelection selection = {};
  DeadLetterBulkRequest request = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.optional("RUN", selection.run,
                       "the run: its id, the first or last characters of it, or latest (default: "
                       "those that the options select)");
    selection.declare(arguments);
    add_actor(arguments, request.actor);
    add_comment(arguments, request.comment);
  }

  Result<void> run(Context& context) const {
    DeadLetterBulkRequest command = request;
    command.action = DeadLetterAction::redrive;
    return decide_dead_letters_of(backend, selection, command, context);
  }
};

}  // namespace

extern const Command kDeadLettersRedriveCommand = make_command<DeadLettersRedriveCommand>(
    "dead-letters redrive", "Attempt again what failed: one dead letter, or all that match.",
    R"(A parked step gets as many attempts as its policy says, in its own run and under the same
idempotency key. To correct the input of one step, use `holdfast retry RUN --input`.

A run that has ended stays as it ended. A redrive of its last attempt starts a new run that
repeats it from that step on, or from the start if the run compensated. Its id is printed.
However often the command is repeated, it is one run.

Examples:
  holdfast dead-letters redrive 9f3c21 --actor ann
  holdfast dead-letters redrive --queue billing --dry-run
  holdfast dead-letters redrive --code bank_down --actor ann --comment 'the bank is back'
  holdfast dead-letters redrive --all --limit 1000)");

}  // namespace holdfast::cli
