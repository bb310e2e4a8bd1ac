#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/show.h"
#include "runs/view/json_diff.h"
#include "runs/view/run_graph.h"

namespace holdfast {

namespace {

constexpr std::size_t kShownFingerprint = 12;

std::string_view short_form(std::string_view fingerprint) {
  return fingerprint.substr(0, kShownFingerprint);
}

}  // namespace

std::string show_workflows(const std::vector<KnownWorkflow>& workflows) {
  if (workflows.empty()) {
    return "no workflow is registered yet; `holdfast start FILE` registers one\n";
  }
  std::size_t width = 8;
  for (const KnownWorkflow& known : workflows) {
    width = std::max(width, known.workflow.size());
  }
  constexpr const char* kRow = "{:<{}}  {:<10}  {:<12}  {}\n";
  std::string text = fmt::format(kRow, "WORKFLOW", width, "VERSION", "FINGERPRINT", "REGISTERED");
  for (const KnownWorkflow& known : workflows) {
    text += fmt::format(kRow, known.workflow, width, known.version.empty() ? "-" : known.version,
                        short_form(known.fingerprint), format_time(known.registered_at));
  }
  return text;
}

std::string show_workflow(const WorkflowView& view, const Style& style) {
  const Definition& definition = *view.definition;
  const std::string_view version = definition.version().view();
  std::string text = fmt::format("workflow {}{}, fingerprint {}\n", definition.workflow().view(),
                                 version.empty() ? "" : fmt::format(" version {}", version),
                                 definition.fingerprint().view());
  for (const KnownWorkflow& known : view.versions) {
    text += fmt::format("registered {}: {} {}\n", format_time(known.registered_at),
                        short_form(known.fingerprint),
                        known.version.empty() ? "" : fmt::format("(version {})", known.version));
  }
  return text + show_graph(definition_graph(definition), style);
}

std::string show_workflow_diff(const WorkflowDiffView& view, const Style& style) {
  const Definition& before = *view.before.definition;
  const Definition& after = *view.after.definition;
  return fmt::format("{} {} -> {} {}\n", view.before.name, short_form(before.fingerprint().view()),
                     view.after.name, short_form(after.fingerprint().view())) +
         show_changes(json_diff(before.spec().view(), after.spec().view()), style);
}

}  // namespace holdfast
