#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/names.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

using Items = std::map<std::string, GraphAddition>;

constexpr std::size_t kMaxMutationIdBytes = 255;
constexpr std::string_view kCaller = "caller";
constexpr std::string_view kReservedHandlers = "__";  // of the engine

bool is_node(const GraphAddition& item) { return item.kind == GraphItem::node; }

// The intent of a node, independent of when it is planned.
SharedText intent_fingerprint(const GraphAddition& node) {
  JsonWriter writer;
  writer.begin_object().member("handler", node.handler.view()).member("id", node.id.view());
  writer.member("input", JsonText::trusted(std::string(or_empty(node.input).view())));
  writer.member("queue", node.queue.view());
  if (node.retry.has_value()) {
    writer.member("retry", to_json(*node.retry).value());
  }
  writer.end_object();
  return to_hex(sha256(std::move(writer).take()));
}

Runnable runnable_of(const RunProjection& run, const GraphAddition& node,
                     const SharedText& mutation_id, TimeMs now) {
  Runnable runnable = first_attempt(run, node.id, node.queue);
  runnable.input = node.input.empty() ? run.context() : node.input;
  runnable.visible_at = now;
  runnable.handler = node.handler;
  runnable.graph_mutation = GraphIntent{mutation_id, node.id, intent_fingerprint(node)};
  return runnable;
}

SharedText mutation_of(const RunProjection& run, const GraphAddition& node) {
  for (const auto& [id, mutation] : run.graph_mutations()) {
    if (mutation.runnable_intent_fingerprints.contains(node.id.str())) {
      return id;
    }
  }
  return {};
}

bool is_valid(const RetryRule& rule) {
  return rule.max_attempts >= 1 && rule.jitter_percent <= 100 && rule.delay_ms <= kMaxDurationMs &&
         rule.max_delay_ms <= kMaxDurationMs;
}

bool is_valid(const RetryPolicy& policy) {
  return is_valid(policy.rule) &&
         std::all_of(policy.codes.begin(), policy.codes.end(), [](const CodeRetry& other) {
           return !other.code.empty() && is_valid(other.rule);
         });
}

// Independent of the caller, and of the version that the graph has by now.
bool is_same(const DynamicGraphMutated& known, const MutateGraph& command) {
  return known.additions == command.additions && known.removals == command.removals &&
         command.expected_version.value_or(known.expected_version) == known.expected_version;
}

// The nodes that are not planned and wait for nothing.
std::vector<const GraphAddition*> find_ready(const RunProjection& run) {
  const Items& items = run.graph().active;
  std::set<std::string_view> blocked;
  for (const auto& [id, item] : items) {
    if (!is_node(item) && !is_done(run, item.from.view())) {
      blocked.insert(item.to.view());
    }
  }
  std::vector<const GraphAddition*> ready;
  for (const auto& [id, item] : items) {
    if (is_node(item) && !blocked.contains(id) && run.latest(id) == nullptr) {
      ready.push_back(&item);
    }
  }
  return ready;
}

// One mutation on its way to a fact: every operation is looked at in turn, and the graph they
// make together at the end.
class Mutation {
 public:
  Mutation(const RunProjection& run, const MutateGraph& command)
      : run_(run), command_(command), items_(run.graph().active) {}

  Result<void> check() {
    HOLDFAST_CHECK(check_head());
    for (const GraphRemoval& removal : command_.removals) {
      HOLDFAST_CHECK(remove(removal));
    }
    for (const GraphAddition& addition : command_.additions) {
      HOLDFAST_CHECK(add(addition));
    }
    if (items_.size() > kMaxGraphItems) {
      return refused("limits", "active_items",
                     fmt::format("a run has at most {} nodes and edges", kMaxGraphItems));
    }
    for (const auto& [id, item] : items_) {
      if (!is_node(item)) {
        HOLDFAST_CHECK(check_edge(item));
      }
    }
    return check_acyclic();
  }

  [[nodiscard]] DynamicGraphMutated fact() const {
    DynamicGraphMutated fact;
    fact.run_id = run_.run_id();
    fact.mutation_id = command_.mutation_id;
    fact.expected_version = run_.graph().version;
    fact.result_version = fact.expected_version + 1;
    if (command_.origin.has_value()) {
      fact.origin.runnable_key = command_.origin->runnable_key;
      fact.origin.step = command_.origin->step;
      fact.origin.attempt = command_.origin->attempt;
    } else {
      fact.origin.source = command_.source.source.empty() ? kCaller : command_.source.source;
      fact.origin.actor = command_.source.actor;
    }
    fact.additions = command_.additions;
    fact.removals = command_.removals;
    for (const GraphAddition& addition : command_.additions) {
      if (is_node(addition)) {
        fact.runnable_intent_fingerprints.emplace(addition.id.str(), intent_fingerprint(addition));
      }
    }
    return fact;
  }

 private:
  Error refused(std::string_view field, std::string_view reason, const std::string& message) const {
    return refusal(run_, ErrorCode::invalid_graph_mutation,
                   fmt::format("mutation {}: {}", command_.mutation_id.view(), message))
        .with("mutation_id", command_.mutation_id.view())
        .with("field", field)
        .with("reason", reason);
  }

  Result<void> check_head() const {
    const std::size_t id_bytes = command_.mutation_id.view().size();
    if (id_bytes == 0 || id_bytes > kMaxMutationIdBytes) {
      return refused("mutation_id", "invalid",
                     fmt::format("a mutation id has 1 to {} bytes", kMaxMutationIdBytes));
    }
    const std::uint64_t version = run_.graph().version;
    if (command_.expected_version.value_or(version) != version) {
      return refused("expected_version", "stale",
                     fmt::format("the graph has version {}, not {}; read it again and decide anew",
                                 version, *command_.expected_version));
    }
    HOLDFAST_CHECK(check_origin());
    const std::size_t count = command_.additions.size() + command_.removals.size();
    if (count == 0 || count > kMaxGraphOperations) {
      return refused("limits", "operations",
                     fmt::format("a mutation has 1 to {} operations", kMaxGraphOperations));
    }
    return {};
  }

  Result<void> check_origin() const {
    if (!command_.origin.has_value()) {
      return {};
    }
    const Origin& named = *command_.origin;
    const PlannedRunnable* origin = run_.find(named.runnable_key.view());
    if (origin == nullptr || origin->plan.step != named.step ||
        origin->plan.attempt_number != named.attempt) {
      return refused("origin", "unknown",
                     fmt::format("{} is not attempt {} at step {} of the run",
                                 named.runnable_key.view(), named.attempt, named.step.view()));
    }
    return {};
  }

  Result<void> use_id(std::string_view field, const SharedText& id) {
    if (!check_name("id", id.view()).ok()) {
      return refused(field, "invalid_identity",
                     fmt::format("\"{}\" is not a valid name", id.view()));
    }
    if (!used_.insert(id.view()).second) {
      return refused(field, "duplicate_identity", fmt::format("{} is named twice", id.view()));
    }
    return {};
  }

  Result<void> remove(const GraphRemoval& removal) {
    HOLDFAST_CHECK(use_id("removals", removal.id));
    const auto found = items_.find(removal.id.str());
    if (found == items_.end() || found->second.kind != removal.kind) {
      return refused("removals", "unknown_identity",
                     fmt::format("there is no {} {}", to_text(removal.kind), removal.id.view()));
    }
    if (is_node(found->second) && run_.latest(removal.id.view()) != nullptr) {
      return refused("removals", "node_not_removable",
                     fmt::format("node {} is planned already", removal.id.view()));
    }
    items_.erase(found);
    return {};
  }

  Result<void> add(const GraphAddition& addition) {
    HOLDFAST_CHECK(use_id("additions", addition.id));
    const std::string id = addition.id.str();
    if (run_.definition()->find(id).has_value()) {
      return refused("additions", "declared_identity", id + " is a step of the workflow");
    }
    if (items_.contains(id) || run_.graph().tombstones.contains(id)) {
      return refused("additions", "reserved_identity", id + " is taken");
    }
    HOLDFAST_CHECK(is_node(addition) ? check_node(addition) : check_target(addition));
    items_.emplace(id, addition);
    return {};
  }

  Result<void> check_node(const GraphAddition& node) const {
    if (node.handler.empty()) {
      return refused("additions", "handler", fmt::format("node {} has no handler", node.id.view()));
    }
    if (!node.input.empty() && !node.input.is_object()) {
      return refused("additions", "input",
                     fmt::format("the input of node \"{}\" is not a JSON object", node.id.view()));
    }
    if (!node.queue.empty() && !check_name("queue", node.queue.view()).ok()) {
      return refused("additions", "queue",
                     fmt::format("the queue of node {} has no valid name", node.id.view()));
    }
    if (node.handler.view().starts_with(kReservedHandlers)) {
      return refused("additions", "handler",
                     fmt::format("node {}: handlers that begin with \"{}\" are reserved",
                                 node.id.view(), kReservedHandlers));
    }
    if (node.retry.has_value() && !is_valid(*node.retry)) {
      return refused("additions", "retry",
                     fmt::format("the retry policy of node {} is not valid: max_attempts is at "
                                 "least 1, jitter_percent at most 100, a delay at most {} ms",
                                 node.id.view(), kMaxDurationMs));
    }
    return {};
  }

  Result<void> check_target(const GraphAddition& edge) const {
    if (run_.latest(edge.to.view()) != nullptr) {
      return refused("additions", "predecessor_for_started_node",
                     fmt::format("{} is planned already, so edge {} comes too late", edge.to.view(),
                                 edge.id.view()));
    }
    return {};
  }

  [[nodiscard]] bool has_node(const SharedText& id) const {
    const auto found = items_.find(id.str());
    return found != items_.end() && is_node(found->second);
  }

  Result<void> check_edge(const GraphAddition& edge) const {
    if (!has_node(edge.from) && !run_.definition()->find(edge.from.view()).has_value()) {
      return refused("topology", "unknown_endpoint",
                     fmt::format("edge {} leads from {}, which does not exist", edge.id.view(),
                                 edge.from.view()));
    }
    if (!has_node(edge.to)) {
      return refused("topology", "invalid_target",
                     fmt::format("edge \"{}\" leads to \"{}\", which is not a node", edge.id.view(),
                                 edge.to.view()));
    }
    return {};
  }

  // Takes away, again and again, the nodes that nothing leads to; what is left is a cycle.
  Result<void> check_acyclic() const {
    std::map<std::string_view, std::size_t> incoming;
    std::map<std::string_view, std::vector<std::string_view>> outgoing;
    for (const auto& [id, item] : items_) {
      if (is_node(item)) {
        incoming.emplace(id, 0);
      }
    }
    for (const auto& [id, item] : items_) {
      if (!is_node(item) && has_node(item.from)) {
        ++incoming[item.to.view()];
        outgoing[item.from.view()].push_back(item.to.view());
      }
    }
    std::vector<std::string_view> free;
    for (const auto& [id, count] : incoming) {
      if (count == 0) {
        free.push_back(id);
      }
    }
    std::size_t taken = 0;
    for (; !free.empty(); ++taken) {
      const std::string_view id = free.back();
      free.pop_back();
      for (const std::string_view next : outgoing[id]) {
        if (--incoming[next] == 0) {
          free.push_back(next);
        }
      }
    }
    return taken == incoming.size() ? Result<void>()
                                    : refused("topology", "cycle", "the edges lead in a circle");
  }

  const RunProjection& run_;
  const MutateGraph& command_;
  Items items_;
  std::set<std::string_view> used_;
};

}  // namespace

std::vector<Runnable> ready_nodes(const RunProjection& run, TimeMs now) {
  std::vector<Runnable> runnables;
  for (const GraphAddition* node : find_ready(run)) {
    runnables.push_back(runnable_of(run, *node, mutation_of(run, *node), now));
  }
  return runnables;
}

bool are_nodes_done(const RunProjection& run) {
  for (const auto& [id, item] : run.graph().active) {
    if (is_node(item) && !is_done(run, id)) {
      return false;
    }
  }
  return true;
}

Result<std::optional<DynamicGraphMutated>> plan_mutation(const RunProjection& run,
                                                         const MutateGraph& command) {
  HOLDFAST_ASSERT(run.definition() != nullptr);
  const auto known = run.graph_mutations().find(command.mutation_id.str());
  if (known != run.graph_mutations().end()) {
    if (is_same(known->second, command)) {
      return std::optional<DynamicGraphMutated>();
    }
    return refusal(run, ErrorCode::invalid_graph_mutation,
                   fmt::format("mutation {} was made before with other operations",
                               command.mutation_id.view()))
        .with("mutation_id", command.mutation_id.view())
        .with("field", "mutation_id")
        .with("reason", "conflict");
  }
  if (run.is_terminal()) {
    return refusal(run, ErrorCode::terminal_run, fmt::format("it is {}", to_text(run.status())))
        .with("mutation_id", command.mutation_id.view());
  }
  Mutation mutation(run, command);
  HOLDFAST_CHECK(mutation.check());
  return std::optional(mutation.fact());
}

Result<std::optional<DynamicGraphMutated>> plan_step_mutation(const RunProjection& run,
                                                              const Runnable& plan,
                                                              const Payload& graph) {
  auto change = from_json<GraphChange>(graph.view());
  if (!change.ok()) {
    return refusal(run, ErrorCode::invalid_graph_mutation,
                   fmt::format("the mutation of step {} cannot be read: {}", plan.step.view(),
                               change.error().text()))
        .with("field", "graph")
        .with("reason", "invalid");
  }
  MutateGraph command;
  static_cast<GraphChange&>(command) = std::move(change).value();
  if (command.mutation_id.empty()) {
    command.mutation_id = plan.idempotency_key;
  }
  command.origin = Origin{plan.runnable_key, plan.step, plan.attempt_number};
  return plan_mutation(run, command);
}

Payload mutation_error(const Error& refused, std::string_view step) {
  JsonWriter writer;
  writer.begin_object().member("code", error_info(refused.code()).name);
  writer.member("message", refused.message()).member("step", step);
  writer.member("field", refused.field("field")).member("reason", refused.field("reason"));
  writer.member("retryable", false).end_object();
  return std::move(writer).take_text();
}

Result<RunFacts> decide_mutate_graph(RunProjection& run, const MutateGraph& command, TimeMs now) {
  HOLDFAST_CHECK(check_started(run));
  HOLDFAST_TRY(auto mutation, plan_mutation(run, command));
  if (!mutation.has_value()) {
    return RunFacts();
  }
  RunDraft draft(run, nothing_around(), now);
  if (!command.origin.has_value()) {
    JsonWriter named;
    named.begin_object().member("mutation_id", command.mutation_id.view()).end_object();
    draft.add(receipt(run.run_id(), SignalType::mutate_graph, command.source,
                      std::move(named).take_text()));
  }
  draft.add(*std::move(mutation));
  draft.plan_nodes();
  return draft.finish();
}

}  // namespace holdfast
