// The implementation that commands of one shape share: print the answer to a query, execute a
// command on a run, report a run that was started.
#pragma once

#include "apps/cli/backend.h"
#include "apps/cli/command.h"
#include "apps/cli/workflow_files.h"

namespace holdfast::cli {

Result<void> print_query(const BackendOptions& options, const Query& query, Context& context);
Result<void> control_run(const BackendOptions& options, const RunControl& command,
                         Context& context);
// A file, or the workflow of that name that the backend has registered: NAME, NAME@VERSION or
// NAME@FINGERPRINT. Fails with unknown_workflow.
Result<DefinitionPtr> find_definition(Backend& backend, const std::string& name);
// unknown_workflow, with what to do next.
Error workflow_error(const Error& error, const Backend& backend);
// Prints the id of the run, and at a terminal how to proceed.
void report_started(const StartedRun& started, bool other_definition, const Backend& backend,
                    Context& context);

// A command that prints the answer to one query.
template <typename Request>
struct QueryCommand {
  BackendOptions backend = {};
  Request request = {};

  void declare(Arguments& arguments) { add_backend(arguments, backend); }
  Result<void> run(Context& context) const { return print_query(backend, request, context); }
};

// resume, approve and reject.
template <DecideRun::Decision kDecision>
struct DecideCommand {
  BackendOptions backend = {};
  DecideRun request = {kDecision};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    add_run(arguments, request.run);
    arguments.option("--step", "STEP", request.options.step,
                     "Step that waits; needed when several do");
    add_actor(arguments, request.options.actor);
    if (kDecision != DecideRun::Decision::resume) {
      arguments.require("--actor");
    }
    add_comment(arguments, request.options.comment);
    add_key(arguments, request.options.idempotency_key);
  }
  Result<void> run(Context& context) const { return control_run(backend, request, context); }
};

}  // namespace holdfast::cli
