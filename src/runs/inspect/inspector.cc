#include "runs/inspect/inspector.h"

#include <fmt/format.h>

#include "base/names.h"
#include "runs/engine/turn.h"
#include "runs/view/run_snapshot.h"

namespace holdfast {

namespace {

using FindCircuit = decltype(RunSource::find_circuit);

// A run as of a moment; empty when there was none by then.
Result<std::optional<RunSource>> find_source(StoredRuns& runs, const RunId& id,
                                             const Moment& moment,
                                             const FindCircuit& find_circuit) {
  const auto stored = runs.read(id, moment.position);
  if (!stored.ok()) {
    return stored.error().code() == ErrorCode::run_not_found
               ? Result<std::optional<RunSource>>(std::nullopt)
               : Result<std::optional<RunSource>>(stored.error());
  }
  RunSource source = stored.value()->source(moment.position, moment.now);
  source.find_circuit = find_circuit;
  return std::optional(std::move(source));
}

}  // namespace

struct Inspector::Past {
  Definitions definitions;
  LiveState state;
  Moment moment;

  Past(Journal& journal, const Moment& when)
      : definitions(journal), state(journal, definitions, MemoryLimits{}), moment(when) {}
};

Result<Moment> Inspector::moment(const At& at, const std::optional<RunId>& run) {
  return find_moment(journal_, at, clock_.now(), run);
}

Result<RunId> Inspector::find(std::string_view part) {
  HOLDFAST_TRY(const Moment now, moment({}));
  return find_run(journal_, part, now);
}

Result<JsonText> Inspector::snapshot_at(const RunId& run, const Moment& when) {
  HOLDFAST_TRY(const StoredRun* stored, runs_.read(run, when.position));
  return run_snapshot(stored->source(when.position, when.now));
}

Result<JsonText> Inspector::snapshot(const RunId& run, const At& at) {
  HOLDFAST_TRY(const Moment when, moment(at, run));
  return snapshot_at(run, when);
}

Result<Explanation> Inspector::explain(const RunId& run, const At& at) {
  HOLDFAST_TRY(const Moment when, moment(at, run));
  // Circuit breakers follow from the attempts of all runs: those are read if one may matter.
  std::unique_ptr<Past> all;
  std::optional<Error> failed;
  const auto find_circuit = [&](const SharedText& name,
                                const Attempt& attempt) -> std::optional<OpenCircuit> {
    if (all == nullptr && !failed.has_value()) {
      auto read = read_state(At{At::Kind::position, when.position.value});
      if (read.ok()) {
        all = std::move(read).value();
      } else {
        failed = read.error();
      }
    }
    return all == nullptr ? std::nullopt
                          : open_circuit_of(all->state.queues().get(name), attempt, when.now);
  };
  HOLDFAST_TRY(const auto source, find_source(runs_, run, when, find_circuit));
  if (!source.has_value()) {
    return runs_.read(run, when.position).error();
  }
  auto explained = explain_run(
      *source, [&](const RunId& other) { return find_source(runs_, other, when, find_circuit); });
  return failed.has_value() ? Result<Explanation>(*failed) : std::move(explained);
}

Result<RunGraph> Inspector::graph(const RunId& run, const At& at) {
  HOLDFAST_TRY(const Moment when, moment(at, run));
  HOLDFAST_TRY(const StoredRun* stored, runs_.read(run, when.position));
  return run_graph(stored->source(when.position, when.now));
}

Result<Timeline> Inspector::timeline(const RunId& run, const At& at) {
  HOLDFAST_TRY(const Moment when, moment(at, run));
  TimelineBuilder builder(run, definitions_of(journal_));
  HOLDFAST_CHECK(read_run_entries(
      journal_, run, when.position,
      [&](const EntryView& entry, Position position) { builder.add(entry, position); }));
  return builder.timeline(when.now);
}

Result<Inspector::Difference> Inspector::diff(const RunId& run, const At& from, const At& to) {
  Difference difference;
  HOLDFAST_TRY(difference.from, moment(from, run));
  HOLDFAST_TRY(difference.to, moment(to, run));
  HOLDFAST_TRY(const JsonText before, snapshot_at(run, difference.from));
  HOLDFAST_TRY(const JsonText after, snapshot_at(run, difference.to));
  difference.changes = json_diff(before.view(), after.view());
  // The points themselves are in from and to.
  std::erase_if(difference.changes,
                [](const JsonChange& change) { return change.path.starts_with("as_of."); });
  return difference;
}

Result<std::unique_ptr<Inspector::Past>> Inspector::read_state(const At& at) {
  HOLDFAST_TRY(const Moment when, moment(at));
  auto past = std::make_unique<Past>(journal_, when);
  HOLDFAST_CHECK(past->state.restore());
  if (past->state.position() > when.position) {
    // The checkpoint knows too much: everything is folded again, up to the moment.
    past = std::make_unique<Past>(journal_, when);
  }
  past->state.runs().read_as_of(when.position);
  HOLDFAST_TRY(const std::size_t entries, past->state.read_up_to(when.position));
  static_cast<void>(entries);
  return past;
}

Result<void> Inspector::query(const std::function<Result<void>(Turn&)>& read) {
  HOLDFAST_TRY(const auto past, read_state({}));
  GroupFacts unwritten;
  Turn turn(past->state, past->definitions, past->moment.now, unwritten);
  return read(turn);
}

Result<StoreStatus> Inspector::status(const At& at) {
  HOLDFAST_TRY(const auto past, read_state(at));
  return store_status(past->state, past->moment);
}

Result<Diagnosis> Inspector::doctor(const At& at) {
  HOLDFAST_TRY(const auto past, read_state(at));
  return diagnose(past->state, past->moment);
}

Result<std::vector<KnownWorkflow>> Inspector::workflows() {
  HOLDFAST_TRY(const auto past, read_state({}));
  std::vector<KnownWorkflow> known;
  for (const auto& [name, registered] : past->state.registry().workflows()) {
    HOLDFAST_TRY(const auto definition, past->definitions.pinned(registered.fingerprint));
    known.push_back(
        {name.str(), definition->version().str(), registered.fingerprint.str(), registered.at});
  }
  return known;
}

Result<std::vector<KnownWorkflow>> Inspector::versions(std::string_view workflow) {
  HOLDFAST_CHECK(check_name("workflow", workflow));
  HOLDFAST_TRY(const Moment now, moment({}));
  static_cast<void>(now);
  HOLDFAST_TRY(const auto entries, journal_.load(workflow_thread(workflow)));
  std::vector<KnownWorkflow> known;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto fact = from_json<WorkflowRegistered>(entry->data);
    if (fact.ok() && entry->kind == WorkflowRegistered::kKind) {
      known.push_back({std::string(workflow), fact.value().version.str(),
                       fact.value().fingerprint.str(), entry->at});
    }
  }
  return known;
}

Result<std::shared_ptr<const Definition>> Inspector::workflow(std::string_view name) {
  const std::size_t at = name.find('@');
  const std::string_view workflow = name.substr(0, at);
  const std::string_view which = at == std::string_view::npos ? "" : name.substr(at + 1);
  HOLDFAST_TRY(const auto known, versions(workflow));
  Definitions definitions(journal_);
  for (const KnownWorkflow& one : known) {
    if (which.empty() || one.version == which || one.fingerprint.starts_with(which)) {
      return definitions.pinned(SharedText(one.fingerprint));
    }
  }
  return Error{ErrorCode::unknown_workflow,
               known.empty() ? fmt::format("workflow {} is not registered in this store", workflow)
                             : fmt::format("workflow {} has no version and no definition {}",
                                           workflow, which)}
      .with("workflow", workflow);
}

JsonText to_json(const Inspector::Difference& difference) {
  JsonWriter json;
  json.begin_object();
  write_moment(json, "from", difference.from);
  write_moment(json, "to", difference.to);
  json.member("changes", to_json(difference.changes));
  json.end_object();
  return std::move(json).take_text();
}

}  // namespace holdfast
