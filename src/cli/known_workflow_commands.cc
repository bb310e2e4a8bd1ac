// Commands on the workflows that a store knows.
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/store.h"
#include "show/show.h"
#include "view/graph.h"
#include "view/json_diff.h"
#include "yaml/check_workflow.h"

namespace holdfast {

namespace {

constexpr std::size_t kShownFingerprint = 12;

std::string short_form(std::string_view fingerprint) {
  return std::string(fingerprint.substr(0, kShownFingerprint));
}

// A file, or what the store knows under that name.
Result<std::shared_ptr<const Definition>> definition_of(const NamedStore& store,
                                                        const std::string& name, Context& context) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(name, ignored)) {
    HOLDFAST_TRY(const std::string text, read_file_argument(name));
    return load_workflow(text, name);
  }
  HOLDFAST_TRY(Looker looker, Looker::open(store, context));
  auto found = looker.inspector().workflow(name);
  if (!found.ok() && found.error().code() == ErrorCode::unknown_workflow) {
    return Error{ErrorCode::unknown_workflow,
                 fmt::format("{}, and there is no such file; `holdfast workflow list{}` shows what "
                             "there is",
                             found.error().message(), store.suffix)};
  }
  return found;
}

void write_known(JsonWriter& json, const KnownWorkflow& known) {
  json.begin_object();
  json.member("workflow", known.workflow).member("version", known.version);
  json.member("fingerprint", known.fingerprint);
  json.member("registered_at", known.registered_at.value);
  json.end_object();
}

}  // namespace

Result<void> run_command(const WorkflowListOptions& options, Context& context) {
  const NamedStore store = store_of(options.store);
  HOLDFAST_TRY(Looker looker, Looker::open(store, context));
  HOLDFAST_TRY(const auto workflows, looker.inspector().workflows());
  if (context.json()) {
    JsonWriter json;
    json.begin_object().key("workflows").begin_array();
    for (const KnownWorkflow& known : workflows) {
      write_known(json, known);
    }
    json.end_array().end_object();
    print_json(context, std::move(json));
    return {};
  }
  if (workflows.empty()) {
    print_line(context, "the store knows no workflow yet; `holdfast start FILE` registers one");
    return {};
  }
  std::size_t width = 8;
  for (const KnownWorkflow& known : workflows) {
    width = std::max(width, known.workflow.size());
  }
  print_line(context, fmt::format("{:<{}}  {:<10}  {:<12}  {}", "WORKFLOW", width, "VERSION",
                                  "FINGERPRINT", "REGISTERED"));
  for (const KnownWorkflow& known : workflows) {
    print_line(context,
               fmt::format("{:<{}}  {:<10}  {:<12}  {}", known.workflow, width,
                           known.version.empty() ? "-" : known.version,
                           short_form(known.fingerprint), format_time(known.registered_at)));
  }
  return {};
}

Result<void> run_command(const WorkflowShowOptions& options, Context& context) {
  const NamedStore store = store_of(options.store);
  HOLDFAST_TRY(const auto definition, definition_of(store, options.workflow, context));
  std::vector<KnownWorkflow> versions;
  if (auto looker = Looker::open(store, context); looker.ok()) {
    HOLDFAST_TRY(versions, looker.value().inspector().versions(definition->workflow().view()));
  }
  if (context.json()) {
    JsonWriter json;
    json.begin_object();
    json.member("workflow", definition->workflow().view());
    json.member("version", definition->version().view());
    json.member("fingerprint", definition->fingerprint().view());
    json.member("definition", JsonText::trusted(std::string(definition->spec().view())));
    json.key("registered").begin_array();
    for (const KnownWorkflow& known : versions) {
      write_known(json, known);
    }
    json.end_array().end_object();
    print_json(context, std::move(json));
    return {};
  }
  const std::string_view version = definition->version().view();
  print_line(context, fmt::format("workflow {}{}, fingerprint {}", definition->workflow().view(),
                                  version.empty() ? "" : fmt::format(" version {}", version),
                                  definition->fingerprint().view()));
  for (const KnownWorkflow& known : versions) {
    print_line(
        context,
        fmt::format("registered {}: {} {}", format_time(known.registered_at),
                    short_form(known.fingerprint),
                    known.version.empty() ? "" : fmt::format("(version {})", known.version)));
  }
  context.out << show_graph(definition_graph(*definition), style_of(store));
  return {};
}

Result<void> run_command(const WorkflowDiffOptions& options, Context& context) {
  const NamedStore store = store_of(options.store);
  HOLDFAST_TRY(const auto before, definition_of(store, options.before, context));
  HOLDFAST_TRY(const auto after, definition_of(store, options.after, context));
  const auto changes = json_diff(before->spec().view(), after->spec().view());
  if (context.json()) {
    JsonWriter json;
    json.begin_object();
    json.member("before", before->fingerprint().view());
    json.member("after", after->fingerprint().view());
    json.member("same", before->fingerprint() == after->fingerprint());
    json.member("changes", to_json(changes)).end_object();
    print_json(context, std::move(json));
    return {};
  }
  print_line(context,
             fmt::format("{} {} -> {} {}", options.before, short_form(before->fingerprint().view()),
                         options.after, short_form(after->fingerprint().view())));
  context.out << show_changes(changes, style_of(store));
  return {};
}

}  // namespace holdfast
