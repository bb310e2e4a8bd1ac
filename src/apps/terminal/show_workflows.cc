#include "apps/terminal/show_workflows.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/show.h"
#include "base/json_writer.h"
#include "runs/view/json_diff.h"
#include "runs/view/run_graph.h"

namespace holdfast {

namespace {

constexpr std::size_t kShownFingerprint = 12;

std::string_view short_form(std::string_view fingerprint) {
  return fingerprint.substr(0, kShownFingerprint);
}

void write_known(JsonWriter& json, std::string_view name, const std::vector<KnownWorkflow>& all) {
  json.key(name).begin_array();
  for (const KnownWorkflow& known : all) {
    json.begin_object();
    json.member("workflow", known.workflow).member("version", known.version);
    json.member("fingerprint", known.fingerprint);
    json.member("registered_at", known.registered_at.value);
    json.end_object();
  }
  json.end_array();
}

std::string workflow_json(const Definition& definition,
                          const std::vector<KnownWorkflow>& versions) {
  JsonWriter json;
  json.begin_object();
  json.member("workflow", definition.workflow().view());
  json.member("version", definition.version().view());
  json.member("fingerprint", definition.fingerprint().view());
  json.member("definition", JsonText::trusted(std::string(definition.spec().view())));
  write_known(json, "registered", versions);
  json.end_object();
  return std::move(json).take() + '\n';
}

}  // namespace

std::string workflows_json(std::string_view name, const std::vector<KnownWorkflow>& workflows) {
  JsonWriter json;
  json.begin_object();
  write_known(json, name, workflows);
  json.end_object();
  return std::move(json).take() + '\n';
}

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

std::string workflow_answer(const Definition& definition,
                            const std::vector<KnownWorkflow>& versions, Form form,
                            const Style& style) {
  if (form == Form::json) {
    return workflow_json(definition, versions);
  }
  const std::string_view version = definition.version().view();
  std::string text = fmt::format("workflow {}{}, fingerprint {}\n", definition.workflow().view(),
                                 version.empty() ? "" : fmt::format(" version {}", version),
                                 definition.fingerprint().view());
  for (const KnownWorkflow& known : versions) {
    text += fmt::format("registered {}: {} {}\n", format_time(known.registered_at),
                        short_form(known.fingerprint),
                        known.version.empty() ? "" : fmt::format("(version {})", known.version));
  }
  return text + show_graph(definition_graph(definition), style);
}

std::string workflow_diff_answer(const NamedDefinition& before, const NamedDefinition& after,
                                 Form form, const Style& style) {
  const Definition& old_one = before.definition;
  const Definition& new_one = after.definition;
  const auto changes = json_diff(old_one.spec().view(), new_one.spec().view());
  if (form == Form::json) {
    JsonWriter json;
    json.begin_object();
    json.member("before", old_one.fingerprint().view());
    json.member("after", new_one.fingerprint().view());
    json.member("same", old_one.fingerprint() == new_one.fingerprint());
    json.member("changes", to_json(changes)).end_object();
    return std::move(json).take() + '\n';
  }
  return fmt::format("{} {} -> {} {}\n", before.name, short_form(old_one.fingerprint().view()),
                     after.name, short_form(new_one.fingerprint().view())) +
         show_changes(changes, style);
}

}  // namespace holdfast
