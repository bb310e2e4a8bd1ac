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
    "dead-letters redrive", "Attempt the parked steps that match again.",
    R"(Each step gets as many attempts as its policy says, in its own run and under the same
idempotency key. To correct the input of one step, use `holdfast retry RUN --input`.

Examples:
  holdfast dead-letters redrive --queue billing --dry-run
  holdfast dead-letters redrive --code bank_down --actor ann --comment 'the bank is back'
  holdfast dead-letters redrive --all --limit 1000)");

}  // namespace holdfast::cli
