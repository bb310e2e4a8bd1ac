// Commands that look at runs. None of them writes.
#include <filesystem>

#include "apps/cli/arguments.h"
#include "apps/cli/cli_commands.h"
#include "apps/cli/place.h"
#include "runs/language/yaml/check_workflow.h"

namespace holdfast {

namespace {

void print(const WorkPlace::Answer& answer, Context& context) {
  context.out << answer.text;
  context.exit_code = answer.fault ? kExitBadAnswer : 0;
}

template <typename Options>
Result<void> look(const Options& options, Context& context) {
  HOLDFAST_TRY(const auto place, open_place(options.place, context));
  const auto answer = place->look(options);
  if (!answer.ok()) {
    return advised_look(answer.error(), *place);
  }
  print(answer.value(), context);
  return {};
}

Result<void> look_at_file(const GraphOptions& options, Context& context) {
  HOLDFAST_TRY(const auto place, open_place(options.place, context));
  HOLDFAST_TRY(const std::string text, read_file_argument(options.run));
  HOLDFAST_TRY(const auto definition, load_workflow(text, options.run));
  context.out << graph_answer(definition_graph(*definition), wish_of(options), place->form(),
                              place->style());
  return {};
}

}  // namespace

Result<void> run_command(const ListRunsOptions& options, Context& context) {
  return look(options, context);
}

Result<void> run_command(const ShowRunOptions& options, Context& context) {
  return look(options, context);
}

Result<void> run_command(const ExplainOptions& options, Context& context) {
  return look(options, context);
}

Result<void> run_command(const GraphOptions& options, Context& context) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(options.run, ignored) ? look_at_file(options, context)
                                                                : look(options, context);
}

Result<void> run_command(const TimelineOptions& options, Context& context) {
  return look(options, context);
}

Result<void> run_command(const DiffOptions& options, Context& context) {
  return look(options, context);
}

Result<void> run_command(const StatusOptions& options, Context& context) {
  return look(options, context);
}

Result<void> run_command(const DoctorOptions& options, Context& context) {
  return look(options, context);
}

}  // namespace holdfast
