#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct CancelCommand {
  BackendOptions backend = {};
  CancelRun request = {};
  bool compensate = false;
  bool stop = false;

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    add_run(arguments, request.run);
    add_actor(arguments, request.options.actor);
    add_comment(arguments, request.options.comment);
    add_key(arguments, request.options.idempotency_key);
    arguments.flag("--compensate", compensate, "Compensate completed steps, newest first");
    arguments.flag("--stop", stop, "Do not compensate");
    arguments.exclude("--stop", "--compensate");
  }

  Result<void> run(Context& context) const {
    CancelRun command = request;
    command.options.mode = stop         ? CancelMode::stop
                           : compensate ? CancelMode::compensate
                                        : CancelMode::as_defined;
    return control_run(backend, command, context);
  }
};

}  // namespace

extern const Command kCancelCommand = make_command<CancelCommand>(
    "cancel", "Cancel a run: none of its remaining steps is executed.",
    R"(Completed steps are compensated if the workflow sets compensate_on_cancel, or with
--compensate; --stop prevents it.

Examples:
  holdfast cancel latest --actor ann --comment 'ordered twice'
  holdfast cancel 9f3c21 --compensate)");

}  // namespace holdfast::cli
