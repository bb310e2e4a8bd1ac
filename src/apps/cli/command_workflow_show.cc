#include "apps/cli/backend_commands.h"
#include "apps/cli/json_rows.h"

namespace holdfast::cli {

namespace {

// The registered versions of the workflow in a file; none when the backend is unavailable.
std::vector<KnownWorkflow> versions_of(Backend& backend, const Definition& definition) {
  std::vector<KnownWorkflow> versions;
  const auto body = backend.json(VersionsRequest{{definition.workflow().str()}});
  const auto json = body.ok() ? Json::parse(body.value()) : Result<Json>(body.error());
  if (!json.ok()) {
    return versions;
  }
  for (const Json& item : rows_of(json.value(), "versions")) {
    const JsonRow row(item);
    KnownWorkflow known;
    known.workflow = row.text("workflow");
    known.version = row.text("version");
    known.fingerprint = row.text("fingerprint");
    known.registered_at.value = row.number("registered_at");
    versions.push_back(std::move(known));
  }
  return versions;
}

struct WorkflowShowCommand : QueryCommand<WorkflowRequest> {
  void declare(Arguments& arguments) {
    QueryCommand::declare(arguments);
    arguments.required("WORKFLOW", request.workflow,
                       "NAME, NAME@VERSION, NAME@FINGERPRINT or a workflow file");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    if (is_file(request.workflow)) {
      HOLDFAST_TRY(const auto definition, load_workflow_file(request.workflow));
      context.out << render_view(WorkflowView{definition, versions_of(*opened, *definition)},
                                 opened->form(), opened->style());
      return {};
    }
    const auto answer = opened->query(request);
    if (!answer.ok()) {
      return workflow_error(answer.error(), *opened);
    }
    context.out << answer.value().text;
    return {};
  }
};

}  // namespace

extern const Command kWorkflowShowCommand = make_command<WorkflowShowCommand>(
    "workflow show", "Show a registered workflow: its steps and its definition.",
    R"(Examples:
  holdfast workflow show order
  holdfast workflow show order@2          version 2
  holdfast workflow show order@3fa94c     the definition with this fingerprint
  holdfast workflow show order --json | jq .definition)");

}  // namespace holdfast::cli
