#include <fmt/format.h>

#include "apps/cli/argument_values.h"
#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

// The two parts of "left<mark>right", neither of them empty.
Result<std::pair<std::string, std::string>> two_parts(const char* option, const std::string& text,
                                                      char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} \"{}\" does not have the form {}", option, text,
                             mark == '=' ? "ID=HANDLER" : "FROM:TO")}
        .with("field", option);
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

struct MutateCommand {
  BackendOptions backend = {};
  MutateRun request = {};
  std::vector<std::string> steps = {};
  std::vector<std::string> edges = {};
  std::string input = {};

  void declare(Arguments& arguments) {
    GraphMutation& mutation = request.mutation;
    add_backend(arguments, backend);
    add_run(arguments, request.run);
    arguments.required("ID", mutation.id,
                       "the id of the mutation; the same one again has no further effect");
    arguments.option("--step", "ID=HANDLER", steps, "Add a step that this handler executes");
    arguments.option("--edge", "FROM:TO", edges,
                     "The added step TO begins after the step FROM is done");
    add_json(arguments, "--input", input, "Input of the added steps",
             "the context of the run when a step begins");
    arguments.option("--remove-step", "ID", mutation.removed_steps,
                     "Remove an added step that has not begun");
    arguments.option("--remove-edge", "ID", mutation.removed_edges,
                     "Remove an added edge; the id is FROM.TO");
    arguments.option("--version", "N", mutation.expected_version,
                     "Version of the graph that the mutation is based on (default: any)");
    add_actor(arguments, request.options.actor);
    add_comment(arguments, request.options.comment);
  }

  Result<void> run(Context& context) const {
    MutateRun command = request;
    std::string object;
    if (!input.empty()) {
      HOLDFAST_TRY(object, json_argument("input", input));
    }
    for (const std::string& step : steps) {
      HOLDFAST_TRY(auto parts, two_parts("--step", step, '='));
      AddedStep& added = command.mutation.steps.emplace_back();
      added.id = std::move(parts.first);
      added.handler = std::move(parts.second);
      added.input = object;
    }
    for (const std::string& edge : edges) {
      HOLDFAST_TRY(auto parts, two_parts("--edge", edge, ':'));
      AddedEdge& added = command.mutation.edges.emplace_back();
      added.from = std::move(parts.first);
      added.to = std::move(parts.second);
    }
    return control_run(backend, command, context);
  }
};

}  // namespace

extern const Command kMutateCommand = make_command<MutateCommand>(
    "mutate", "Add steps and edges to a run that has not ended, all of them or none.",
    R"(An added step begins when every step that an edge leads from is done, and the run
ends after it. `holdfast graph` shows the steps, where they come from, and the version.

Examples:
  holdfast mutate latest extra --step pack-2=pack --edge charge:pack-2
  holdfast mutate 9f3c21 notify --step notify=mail --edge pack-2:notify --version 1)");

}  // namespace holdfast::cli
