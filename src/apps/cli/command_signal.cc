#include "apps/cli/argument_values.h"
#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct SignalCommand {
  BackendOptions backend = {};
  SignalRun request = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    add_run(arguments, request.run);
    arguments.required("EVENT", request.event, "the name of the event");
    add_json(arguments, "--data", request.data, "Data of the event");
    arguments.option("--correlation", "TEXT", request.options.correlation,
                     "Correlation: only a step that waits with the same one receives the event");
    add_key(arguments, request.options.idempotency_key);
    add_actor(arguments, request.options.actor);
  }

  Result<void> run(Context& context) const {
    SignalRun command = request;
    HOLDFAST_TRY(command.data, json_argument("data", request.data));
    return control_run(backend, command, context);
  }
};

}  // namespace

extern const Command kSignalCommand = make_command<SignalCommand>(
    "signal", "Send an event to a run; the run keeps it until a step waits for it.",
    R"(Examples:
  holdfast signal latest payment --data '{"amount":12}'
  holdfast signal 9f3c21 payment --data @payment.json --key payment-77   received once)");

}  // namespace holdfast::cli
