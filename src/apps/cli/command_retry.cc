#include "apps/cli/argument_values.h"
#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct RetryCommand {
  BackendOptions backend = {};
  RetryRun request = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    add_run(arguments, request.run);
    arguments.option("--step", "STEP", request.options.step,
                     "Step that is parked; needed when several are");
    add_json(arguments, "--input", request.options.input, "Input of the next attempts",
             "as before");
    add_actor(arguments, request.options.actor);
    add_comment(arguments, request.options.comment);
    add_key(arguments, request.options.idempotency_key);
  }

  Result<void> run(Context& context) const {
    RetryRun command = request;
    if (!request.options.input.empty()) {
      HOLDFAST_TRY(command.options.input, json_argument("input", request.options.input));
    }
    return control_run(backend, command, context);
  }
};

}  // namespace

extern const Command kRetryCommand = make_command<RetryCommand>(
    "retry", "Attempt a parked step again, in the same run.",
    R"(A step with `retry: {then: park}` is parked when its last attempt has failed. A retry gives
it as many attempts as its policy says, under the same idempotency key. A step is also parked
where the definition has a fault: a retry begins it again; to correct the definition, use
`holdfast migrate`. To repeat a run that has ended, use `holdfast replay`.

Examples:
  holdfast retry latest
  holdfast retry 9f3c21 --step charge --actor ann --comment 'the bank is back'
  holdfast retry latest --input '{"order":7,"card":"c-12"}')");

}  // namespace holdfast::cli
