// Steps and edges that are added to a run.
//
// Guarantees: a mutation is made once, by a command or by the result of a step of the run, and
// changes the graph from the version before it to the next; it is recorded as a whole or not at
// all; no id is used twice, not even after its removal; the edges lead to added steps that have not
// begun, and never in a circle; an added step begins when every step that an edge leads from is
// done, not before; the run ends after all added steps are done.
#include <algorithm>

#include "lab/sim/oracle_next_facts.h"
#include "lab/sim/oracle_run_fact.h"

namespace holdfast::sim::model {

namespace {

bool is_node(const Value& item) { return item["kind"].string() == "node"; }

// Nothing that leads to the node is missing from these.
bool follows_only(const std::map<std::string, Value>& graph, const std::string& node,
                  const std::set<std::string>& placed) {
  return std::all_of(graph.begin(), graph.end(), [&](const auto& item) {
    const Value& edge = item.second;
    const auto from = graph.find(edge["from"].string());
    return is_node(edge) || edge["to"].string() != node || from == graph.end() ||
           !is_node(from->second) || placed.contains(from->first);
  });
}

// The added steps can be put in an order in which each comes after what its edges name.
bool has_order(const std::map<std::string, Value>& graph) {
  std::set<std::string> placed;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [id, item] : graph) {
      if (is_node(item) && !placed.contains(id) && follows_only(graph, id, placed)) {
        placed.insert(id);
        more = true;
      }
    }
  }
  return std::all_of(graph.begin(), graph.end(), [&](const auto& item) {
    return !is_node(item.second) || placed.contains(item.first);
  });
}

std::vector<std::string> ids_of(const Value& operations) {
  std::vector<std::string> ids;
  for (const Value& operation : operations.list()) {
    ids.push_back(operation["kind"].string() + " " + operation["id"].string());
  }
  return ids;
}

}  // namespace

bool is_step_done(const Run& run, const std::string& step) {
  const auto& paths = run.definition->path_steps;
  if (std::find(paths.begin(), paths.end(), step) != paths.end()) {
    return has_path_ended(run, step);
  }
  const Runnable* newest = run.newest_of(step);
  return newest != nullptr && newest->applied && !newest->is_undecided();
}

void RunFact::mutated() {
  const std::string& id = data_["mutation_id"].string();
  check(!run_.mutations.contains(id), "graph_once", "the mutation was made before");
  check(data_["expected_version"].integer() == run_.graph_version &&
            data_["result_version"].integer() == run_.graph_version + 1,
        "graph_version", "the graph has version " + std::to_string(run_.graph_version));
  check_mutation_origin();
  for (const Value& removal : data_["removals"].list()) {
    const std::string& name = removal["id"].string();
    const auto active = run_.graph.find(name);
    check(active != run_.graph.end() && active->second["kind"] == removal["kind"], "graph",
          name + " is removed, but is not there");
    check(run_.newest_of(name) == nullptr, "graph", name + " is removed after it began");
    run_.graph.erase(name);
    run_.removed.insert(name);
  }
  for (const Value& addition : data_["additions"].list()) {
    const std::string& name = addition["id"].string();
    check(!run_.graph.contains(name) && !run_.removed.contains(name), "graph", name + " is taken");
    check(run_.definition == nullptr || run_.definition->find(name) == nullptr, "graph",
          name + " is a step of the workflow");
    check(is_node(addition) || run_.newest_of(addition["to"].string()) == nullptr, "graph",
          "an edge leads to " + addition["to"].string() + ", which has begun");
    run_.graph[name] = addition;
  }
  for (const auto& [name, item] : run_.graph) {
    if (is_node(item)) {
      continue;
    }
    const auto to = run_.graph.find(item["to"].string());
    const auto from = run_.graph.find(item["from"].string());
    check(to != run_.graph.end() && is_node(to->second), "graph", name + " leads nowhere");
    check((from != run_.graph.end() && is_node(from->second)) || run_.definition == nullptr ||
              run_.definition->find(item["from"].string()) != nullptr,
          "graph", name + " leads from nowhere");
  }
  check(has_order(run_.graph), "graph", "the edges lead in a circle");
  run_.graph_version = data_["result_version"].integer();
  run_.mutations[id] = data_;
}

void RunFact::check_mutation_origin() {
  const Value& origin = data_["origin"];
  if (!origin.has("runnable_key")) {
    expect_command({"mutate_graph"});
    return;
  }
  const Runnable* step = run_.find(origin["runnable_key"].string());
  if (!check(step != nullptr && step->step == origin["step"].string() &&
                 step->plan["attempt_number"] == origin["attempt"],
             "graph", "the origin is not an attempt of the run")) {
    return;
  }
  const auto attempt = model_.attempts.find(step->key);
  if (attempt == model_.attempts.end() || !attempt->second.opts.has("graph")) {
    return;  // a command that names the step it acts for
  }
  const Value& requested = attempt->second.opts["graph"];
  const Value& id =
      requested.has("mutation_id") ? requested["mutation_id"] : step->plan["idempotency_key"];
  check(
      data_["mutation_id"] != id || (ids_of(requested["additions"]) == ids_of(data_["additions"]) &&
                                     ids_of(requested["removals"]) == ids_of(data_["removals"])),
      "graph", "the step requested another mutation");
}

// The result of a step that changes the graph, before the change is made.
void NextFacts::mutation_of(const Runnable& runnable, const Ending& ending) {
  const Value& graph = ending.opts["graph"];
  if (graph.is_null() || ending.opts.has("defer") || ending.opts.has("continue_as_new")) {
    return;
  }
  const std::string id = graph.has("mutation_id") ? graph["mutation_id"].string()
                                                  : runnable.plan["idempotency_key"].string();
  if (!run_.mutations.contains(id)) {
    add(ExpectedFact::Kind::mutate, id, "graph").because = "the result requests it";
  }
}

// An added step begins when nothing that leads to it is open.
void NextFacts::begin_nodes() {
  for (const auto& [id, node] : run_.graph) {
    if (!is_node(node) || run_.newest_of(id) != nullptr) {
      continue;
    }
    const bool blocked =
        std::any_of(run_.graph.begin(), run_.graph.end(), [&, to = id](const auto& item) {
          return !is_node(item.second) && item.second["to"].string() == to &&
                 !is_step_done(run_, item.second["from"].string());
        });
    if (blocked) {
      continue;
    }
    ExpectedFact& expected = plan(run_.id + ":" + id + ":1", id, 1, "added_step");
    expected.because = "nothing that leads to it is open";
    expected.members.set("handler", node["handler"]);
    expected.members.set("input", node.has("input") ? node["input"] : run_.context);
    if (node.has("queue")) {
      expected.members.set("queue", node["queue"]);
    }
    expected.earliest = expected.latest = now_;
  }
}

void NextFacts::close_node(const Runnable& runnable, const Ending& ending) {
  if (ending.kind == Ending::Kind::failed) {
    fail_run(ending.error, "an added step failed", exhausted_by(runnable));
    return;
  }
  const bool continues = ending.opts.has("continue_as_new");
  if (continues) {
    add(ExpectedFact::Kind::continue_as_new, runnable.key, "continue").members =
        ending.opts["continue_as_new"];
  }
  mutation_of(runnable, ending);
  ExpectedFact& expected = apply(runnable, "added_step");
  expected.because = "the attempt completed";
  expected.members.set("result", *ending.result);
  if (!continues && !ending.opts.is_null()) {
    expected.members.set("execution_opts", ending.opts);
  }
}

bool NextFacts::are_nodes_done() const {
  return std::all_of(run_.graph.begin(), run_.graph.end(), [&](const auto& item) {
    return !is_node(item.second) || is_step_done(run_, item.first);
  });
}

}  // namespace holdfast::sim::model
