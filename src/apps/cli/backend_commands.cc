#include "apps/cli/backend_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include "apps/cli/cli_terminal.h"
#include "apps/cli/json_rows.h"
#include "base/json_slice.h"

namespace holdfast::cli {

namespace {

// The whole id of a run when it can be found, else what was given.
std::string full_id(Backend& backend, const std::string& run) {
  const auto explained = backend.json(ExplainRequest{{run}});
  const auto json =
      explained.ok() ? Json::parse(explained.value()) : Result<Json>(explained.error());
  const std::string id = json.ok() ? JsonRow(json.value()).text("run_id") : std::string();
  return id.empty() ? run : id;
}

// An error of a command that the run does not accept in its state names `explain`.
Error control_error(const Error& error, Backend& backend, const std::string& run) {
  const bool not_accepted = error.code() == ErrorCode::terminal_run ||
                            error.code() == ErrorCode::invalid_transition ||
                            error.code() == ErrorCode::stale_manual_resolution;
  return not_accepted ? advised(error, fmt::format("`holdfast explain {}{}` shows what can be done",
                                                   full_id(backend, run), backend.suffix()))
                      : with_advice(error, backend);
}

}  // namespace

Result<void> print_query(const BackendOptions& options, const Query& query, Context& context) {
  HOLDFAST_TRY(const auto backend, open_backend(options, context));
  const auto answer = backend->query(query);
  if (!answer.ok()) {
    return with_advice(answer.error(), *backend);
  }
  context.out << answer.value().text;
  context.exit_code = answer.value().fault ? kExitNegativeResult : 0;
  return {};
}

Result<void> control_run(const BackendOptions& options, const RunControl& command,
                         Context& context) {
  HOLDFAST_TRY(const auto backend, open_backend(options, context));
  const auto done = backend->control(command);
  if (!done.ok()) {
    const std::string& run =
        std::visit([](const auto& one) -> const std::string& { return one.run; }, command);
    return control_error(done.error(), *backend, run);
  }
  context.out << done.value();
  return {};
}

Result<DefinitionPtr> find_definition(Backend& backend, const std::string& name) {
  if (is_file(name)) {
    return load_workflow_file(name);
  }
  const auto body = backend.json(WorkflowRequest{name});
  if (!body.ok()) {
    return workflow_error(body.error(), backend);
  }
  JsonSlicer slicer(body.value());
  while (const auto member = slicer.next()) {
    if (member->name == "definition") {
      return Definition::parse(member->value);
    }
  }
  return Error{ErrorCode::io_error,
               "the response of the server has no definition; is it a holdfast server of this "
               "version?"};
}

Error workflow_error(const Error& error, const Backend& backend) {
  if (error.code() != ErrorCode::unknown_workflow) {
    return error;
  }
  return Error{ErrorCode::unknown_workflow,
               fmt::format("{}, and no such file exists; `holdfast workflow list{}` lists the "
                           "registered workflows",
                           error.message(), backend.suffix())};
}

void report_started(const StartedRun& started, bool other_definition, const Backend& backend,
                    Context& context) {
  print_result(context, started.run_id, [&](JsonWriter& json) {
    json.member("run_id", started.run_id).member("existed", started.existed);
    if (other_definition) {
      json.member("other_definition", true);
    }
  });
  context.out.flush();
  if (!context.json() && is_terminal(STDERR_FILENO)) {
    fmt::print(stderr, "{}; {}{}\n", started.existed ? "the run exists already" : "started",
               backend.continue_hint(), backend.suffix());
  }
}

}  // namespace holdfast::cli
