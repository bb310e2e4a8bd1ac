#include "mesh/roster/audit_trace.h"

namespace holdfast::mesh {

namespace {

// The operations that may be snapshots which the output links to.
std::vector<const Operation*> linked_operations(const Roster& roster, const Operation& output) {
  std::vector<const Operation*> linked;
  if (const auto* claim = std::get_if<CreateClaim>(&output.payload)) {
    for (const ArtifactId& id : claim->provenance.artifacts) {
      const auto artifact = roster.artifact(id);
      linked.push_back(artifact.has_value() ? artifact->creation : roster.find({id.bytes}));
    }
    return linked;
  }
  for (const OpId& id : output.causal_deps) {
    linked.push_back(roster.find(id));
  }
  return linked;
}

TracedCall trace_call(const Roster& roster, const Operation& operation) {
  const auto& artifact = std::get<CreateArtifact>(operation.payload);
  TracedCall call;
  call.snapshot = operation.id;
  call.job = artifact.source_job.value_or(JobId{});
  if (const auto job = roster.job(call.job)) {
    call.claimer = job->state.claimer;
  }
  const auto known = roster.artifact(artifact.artifact_id);
  call.evicted = known.has_value() && known->evicted;
  if (!call.evicted && artifact.content_inline.has_value()) {
    if (auto content = decode_snapshot(*artifact.content_inline); content.ok()) {
      call.content = std::move(content).value();
    }
  }
  return call;
}

}  // namespace

std::vector<TracedCall> trace_output(const Roster& roster, const OpId& output) {
  std::vector<TracedCall> calls;
  const Operation* operation = roster.find(output);
  if (operation == nullptr || !is_output(operation->payload)) {
    return calls;
  }
  for (const Operation* linked : linked_operations(roster, *operation)) {
    if (linked != nullptr && is_snapshot(linked->payload)) {
      calls.push_back(trace_call(roster, *linked));
    }
  }
  return calls;
}

}  // namespace holdfast::mesh
