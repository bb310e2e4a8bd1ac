#include "apps/cli/registered_workflow.h"

#include <fmt/format.h>

#include "base/json_slice.h"

namespace holdfast::cli {

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

}  // namespace holdfast::cli
