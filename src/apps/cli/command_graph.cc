#include "apps/cli/backend_commands.h"
#include "apps/cli/store_backend.h"
#include "apps/cli/workflow_files.h"

namespace holdfast::cli {

namespace {

struct GraphCommand : QueryCommand<GraphRequest> {
  bool dot = false;
  bool mermaid = false;

  void declare(Arguments& arguments) {
    QueryCommand::declare(arguments);
    arguments.required("RUN", request.run, "the run, or a workflow file");
    arguments.flag("--dot", dot, "Print Graphviz DOT");
    arguments.flag("--mermaid", mermaid, "Print Mermaid");
    arguments.exclude("--mermaid", "--dot");
    arguments.flag("--history", request.history,
                   "With --json: include the input and output of each step");
    add_run_at(arguments, request.at);
  }

  Result<void> run(Context& context) const {
    GraphRequest graph = request;
    graph.form = dot ? GraphForm::dot : mermaid ? GraphForm::mermaid : GraphForm::tree;
    return is_file(graph.run) ? print_file(graph, context) : print_query(backend, graph, context);
  }

  Result<void> print_file(const GraphRequest& graph, Context& context) const {
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    HOLDFAST_TRY(const auto definition, load_workflow_file(graph.run));
    context.out << render_view(GraphView{definition_graph(*definition), graph.form, graph.history},
                               opened->form(), opened->style());
    return {};
  }
};

}  // namespace

extern const Command kGraphCommand = make_command<GraphCommand>(
    "graph", "Show the steps of a run or of a workflow file, and how they are connected.",
    R"(Examples:
  holdfast graph latest
  holdfast graph order.yaml
  holdfast graph latest --dot | dot -Tsvg > run.svg
  holdfast graph latest --mermaid)");

}  // namespace holdfast::cli
