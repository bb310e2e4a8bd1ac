// Commands that change runs. Each is durable when it returns, and says where the run is then.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "apps/cli/arguments.h"
#include "apps/cli/backend.h"
#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/run_outcome.h"
#include "runs/language/yaml/check_workflow.h"

namespace holdfast {

namespace {

// Of a command that does not fit where the run is: says how to see where that is.
Error advised_control(const Error& error, Backend& backend, const std::string& run) {
  const bool misfit = error.code() == ErrorCode::terminal_run ||
                      error.code() == ErrorCode::invalid_transition ||
                      error.code() == ErrorCode::stale_manual_resolution;
  if (!misfit) {
    return advised_inspect(error, backend);
  }
  const auto id = backend.run_id(run);
  return advised(error, fmt::format("`holdfast explain {}{}` says what can be done",
                                    id.ok() ? id.value() : run, backend.suffix()));
}

template <typename Options>
Result<void> control(const Options& options, Context& context) {
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  const auto told = backend->control(options);
  if (!told.ok()) {
    return advised_control(told.error(), *backend, options.run);
  }
  context.out << told.value();
  return {};
}

// Of commands that make a run: its id, and for people how to go on.
void report_started(const StartedRun& started, bool other_definition, const Backend& backend,
                    Context& context) {
  if (context.json()) {
    JsonWriter json;
    json.begin_object().member("run_id", started.run_id).member("existed", started.existed);
    if (other_definition) {
      json.member("other_definition", true);
    }
    json.end_object();
    print_json(context, std::move(json));
    return;
  }
  print_line(context, started.run_id);
  context.out.flush();
  if (is_terminal(STDERR_FILENO)) {
    fmt::print(stderr, "{}; {}{}\n", started.existed ? "it was started before" : "started",
               backend.continue_hint(), backend.suffix());
  }
}

Error advised_start(const Error& error, const std::string& workflow, const Backend& backend) {
  if (error.code() != ErrorCode::unknown_workflow) {
    return error;
  }
  return Error{ErrorCode::unknown_workflow,
               fmt::format("there is no file {0} and no workflow {0} in the store; `holdfast "
                           "workflow list{1}` shows what there is",
                           workflow, backend.suffix())};
}

}  // namespace

Result<void> run_command(const StartRunOptions& options, Context& context) {
  Backend::Start start;
  HOLDFAST_TRY(start.input, json_argument("input", options.input));
  HOLDFAST_TRY(start.options.search_attributes, attributes_argument(options.attributes));
  start.options.run_id = options.id;
  start.options.idempotency_key = options.key;
  start.options.trigger = options.trigger;
  start.options.queue = options.queue;
  start.options.actor = options.actor;
  start.options.comment = options.comment;
  start.workflow = options.workflow;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(options.workflow, ignored)) {
    // Before the store is made: a file with faults leaves nothing behind.
    HOLDFAST_TRY(const std::string text, read_file_argument(options.workflow));
    HOLDFAST_TRY(start.definition, load_workflow(text, options.workflow));
    HOLDFAST_CHECK(check_start(*start.definition, options.id, options.trigger));
    start.workflow = start.definition->workflow().str();
  }
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  const auto started = backend->start(start);
  if (!started.ok()) {
    return advised_start(started.error(), options.workflow, *backend);
  }
  std::string other;
  if (started.value().existed && start.definition != nullptr) {
    HOLDFAST_TRY(const std::string snapshot, backend->snapshot(started.value().run_id));
    other = other_definition_text(snapshot, *start.definition);
  }
  warn(other);
  report_started(started.value(), !other.empty(), *backend, context);
  return {};
}

Result<void> run_command(const CancelRunOptions& options, Context& context) {
  return control(options, context);
}

Result<void> run_command(const SignalRunOptions& options, Context& context) {
  SignalRunOptions read = options;
  HOLDFAST_TRY(read.data, json_argument("data", options.data));
  return control(read, context);
}

Result<void> run_command(const ResolveOptions& options, Context& context) {
  return control(options, context);
}

Result<void> run_command(const ReplayRunOptions& options, Context& context) {
  ReplayRunOptions read = options;
  if (!options.input.empty()) {
    HOLDFAST_TRY(read.input, json_argument("input", options.input));
  }
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  const auto started = backend->replay(read);
  if (!started.ok()) {
    return started.error().code() == ErrorCode::unsafe_replay
               ? advised(started.error(), "--allow-irreversible repeats it all the same")
               : advised_inspect(started.error(), *backend);
  }
  report_started(started.value(), false, *backend, context);
  return {};
}

}  // namespace holdfast
