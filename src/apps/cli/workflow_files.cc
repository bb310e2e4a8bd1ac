#include "apps/cli/workflow_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "apps/cli/argument_values.h"
#include "base/json_value.h"
#include "runs/facts/ids.h"
#include "runs/language/yaml/check_workflow.h"

namespace holdfast::cli {

bool is_file(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(name, ignored);
}

Result<DefinitionPtr> load_workflow_file(const std::string& file) {
  HOLDFAST_TRY(const std::string text, read_file_argument(file));
  return load_workflow(text, file == "-" ? "standard input" : file);
}

Result<Definitions> load_workflow_files(const std::vector<std::string>& files) {
  Definitions definitions;
  for (const std::string& file : files) {
    HOLDFAST_TRY(auto definition, load_workflow_file(file));
    definitions.push_back(std::move(definition));
  }
  return definitions;
}

Result<void> register_all(Engine& engine, const Definitions& definitions) {
  for (const auto& definition : definitions) {
    HOLDFAST_CHECK(engine.register_workflow_json(definition->spec().view()));
  }
  return {};
}

Result<void> check_start(const Definition& definition, const std::string& run_id,
                         const std::string& trigger) {
  if (!run_id.empty()) {
    HOLDFAST_CHECK(parse_run_id(run_id));
  }
  if (!trigger.empty() && definition.find_trigger(trigger) == nullptr) {
    return Error{ErrorCode::invalid_trigger, fmt::format("workflow {} has no trigger {}",
                                                         definition.workflow().view(), trigger)};
  }
  return {};
}

std::string other_definition_warning(std::string_view snapshot, const Definition& given) {
  const auto json = Json::parse(snapshot);
  const auto definition = json.ok() ? json.value().find("definition") : std::nullopt;
  const std::string_view first = definition.has_value() ? definition->text("fingerprint") : "";
  if (first.empty() || first == given.fingerprint().view()) {
    return "";
  }
  constexpr std::size_t kShown = 12;
  return fmt::format(
      "this run was started earlier with another definition of {} (fingerprint {}..., the file has "
      "{}...) and keeps it; only new runs use the file: start one with another --key",
      given.workflow().view(), first.substr(0, kShown),
      given.fingerprint().view().substr(0, kShown));
}

}  // namespace holdfast::cli
