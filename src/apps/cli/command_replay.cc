#include "apps/cli/argument_values.h"
#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct ReplayCommand {
  BackendOptions backend = {};
  ReplayRun request = {};

  void declare(Arguments& arguments) {
    ReplayOptions& options = request.options;
    add_backend(arguments, backend);
    add_run(arguments, request.run);
    arguments.option("--from-step", "STEP", options.from_step,
                     "Start at this step, with the results of the steps before it (default: the "
                     "first step)");
    add_json(arguments, "--input", options.input, "Input of the new run", "the same input");
    arguments.flag("--allow-irreversible", options.allow_irreversible,
                   "Also repeat steps that cannot be compensated");
    arguments.option("--definition", "NAME", options.definition,
                     "newest, or the fingerprint of a definition (default: that of the run)");
    arguments.option("--id", "UUID", options.run_id, "Id of the new run (default: a new one)");
    add_actor(arguments, options.actor);
    add_comment(arguments, options.comment);
  }

  Result<void> run(Context& context) const {
    ReplayRun command = request;
    if (!request.options.input.empty()) {
      HOLDFAST_TRY(command.options.input, json_argument("input", request.options.input));
    }
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    const auto started = opened->start(command);
    if (!started.ok()) {
      return started.error().code() == ErrorCode::unsafe_replay
                 ? advised(started.error(), "--allow-irreversible repeats it anyway")
                 : with_advice(started.error(), *opened);
    }
    report_started(started.value(), false, *opened, context);
    return {};
  }
};

}  // namespace

extern const Command kReplayCommand = make_command<ReplayCommand>(
    "replay", "Repeat a run as a new run: all of it, or from a step on.",
    R"(Prints the id of the new run; `holdfast work` executes it. Steps that cannot be
compensated are repeated only with --allow-irreversible.

Examples:
  holdfast replay latest
  holdfast replay 9f3c21 --from-step ship
  holdfast replay 9f3c21 --input '{"total":13}'
  holdfast replay 9f3c21 --definition newest)");

}  // namespace holdfast::cli
