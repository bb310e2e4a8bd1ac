// Commands that look at runs. None of them writes.
#include <filesystem>

#include "apps/cli/arguments.h"
#include "apps/cli/backend.h"
#include "apps/cli/cli_commands.h"
#include "runs/language/yaml/check_workflow.h"

namespace holdfast {

namespace {

void print(const Backend::Answer& answer, Context& context) {
  context.out << answer.text;
  context.exit_code = answer.fault ? kExitBadAnswer : 0;
}

template <typename Options>
Result<void> inspect(const Options& options, Context& context) {
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  const auto answer = backend->inspect(options);
  if (!answer.ok()) {
    return advised_inspect(answer.error(), *backend);
  }
  print(answer.value(), context);
  return {};
}

Result<void> inspect_file(const GraphOptions& options, Context& context) {
  HOLDFAST_TRY(const auto backend, open_backend(options.backend, context));
  HOLDFAST_TRY(const std::string text, read_file_argument(options.run));
  HOLDFAST_TRY(const auto definition, load_workflow(text, options.run));
  context.out << graph_answer(definition_graph(*definition), graph_view_of(options),
                              backend->form(), backend->style());
  return {};
}

}  // namespace

Result<void> run_command(const ListRunsOptions& options, Context& context) {
  return inspect(options, context);
}

Result<void> run_command(const ShowRunOptions& options, Context& context) {
  return inspect(options, context);
}

Result<void> run_command(const ExplainOptions& options, Context& context) {
  return inspect(options, context);
}

Result<void> run_command(const GraphOptions& options, Context& context) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(options.run, ignored) ? inspect_file(options, context)
                                                                : inspect(options, context);
}

Result<void> run_command(const TimelineOptions& options, Context& context) {
  return inspect(options, context);
}

Result<void> run_command(const DiffOptions& options, Context& context) {
  return inspect(options, context);
}

Result<void> run_command(const StatusOptions& options, Context& context) {
  return inspect(options, context);
}

Result<void> run_command(const DoctorOptions& options, Context& context) {
  return inspect(options, context);
}

}  // namespace holdfast
