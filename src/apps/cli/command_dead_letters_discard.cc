#include "apps/cli/backend_commands.h"
#include "apps/cli/dead_letters_bulk.h"

namespace holdfast::cli {

namespace {

struct DeadLettersDiscardCommand {
  BackendOptions backend = {};
  DeadLetterSelection selection = {};
  DiscardRun request = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.optional("RUN", request.run,
                       "the run: its id, the first or last characters of it, or latest (default: "
                       "those that the options select)");
    selection.declare(arguments);
    add_actor(arguments, request.options.actor);
    add_comment(arguments, request.options.comment);
  }

  Result<void> run(Context& context) const {
    if (request.run.empty() || selection.dry_run) {
      DeadLetterSelection selected = selection;
      selected.run = request.run;
      DeadLetterBulkRequest command;
      command.action = DeadLetterAction::discard;
      command.actor = request.options.actor;
      command.comment = request.options.comment;
      return decide_dead_letters_of(backend, selected, command, context);
    }
    if (selection.selects_many()) {
      return Error{ErrorCode::invalid_argument,
                   "RUN and a selection exclude each other: of the options that select, only "
                   "--step can be used with RUN"};
    }
    DiscardRun command = request;
    command.options.step = selection.step;
    return control_run(backend, command, context);
  }
};

}  // namespace

extern const Command kDeadLettersDiscardCommand = make_command<DeadLettersDiscardCommand>(
    "dead-letters discard", "Discard a dead letter, or all that match.",
    R"(A parked step fails, and its run continues as after any failure: with its error route, its
compensation or its end. The last attempt of a run that has ended leaves the list; the run stays
as it is.

Examples:
  holdfast dead-letters discard latest --actor ann --comment 'paid in cash'
  holdfast dead-letters discard 9f3c21 --step charge
  holdfast dead-letters discard --workflow trial --dry-run)");

}  // namespace holdfast::cli
