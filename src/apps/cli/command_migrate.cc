#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct MigrateCommand {
  BackendOptions backend = {};
  MigrateRun request = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    add_run(arguments, request.run);
    arguments.option("--to", "NAME", request.options.to,
                     "newest (the default), or the fingerprint of a definition");
    add_actor(arguments, request.options.actor);
    add_comment(arguments, request.options.comment);
  }

  Result<void> run(Context& context) const { return control_run(backend, request, context); }
};

}  // namespace

extern const Command kMigrateCommand = make_command<MigrateCommand>(
    "migrate", "Continue a run that has not ended on another definition of its workflow.",
    R"(The steps that are finished must have the same place, output and transitions on the
other definition, and the open steps must be the same; otherwise the command fails and
says why. Everything that has not begun may differ. A step that is parked because the
definition has a fault there may differ too: it begins again.

Examples:
  holdfast migrate latest
  holdfast migrate 9f3c21 --to 3f2a9c41d07b5e66... --actor ann)");

}  // namespace holdfast::cli
