// The links that the inference audit requires.
//
// Who is under audit is a matter of tokens. A claim, an episode or a suggested action of such an
// author is output of inference if it names a job that has a snapshot at that time, or whose kind
// the rules list. It must then name a snapshot of that job: a claim among the artifacts of its
// provenance, the others among their dependencies. One valid link suffices.
#include <algorithm>

#include "holdfast/assert.h"
#include "mesh/audit/snapshot.h"
#include "mesh/roster/judge.h"

namespace holdfast::mesh {

std::optional<Verdict> Judge::check_audit() {
  if (!is_output(self_.operation.payload)) {
    return std::nullopt;
  }
  const std::vector<JobId> jobs = inference_jobs();
  if (jobs.empty() || !roster_.graph_.is_audited(self_.author, self_.key.at.wall_ms)) {
    return std::nullopt;
  }
  const auto artifacts = named_artifacts();
  if (artifacts.empty()) {
    return voided(Reason::audit_link_missing);
  }
  const bool linked =
      std::any_of(artifacts.begin(), artifacts.end(), [&](const OpRecord* artifact) {
        if (artifact == nullptr || !is_snapshot(artifact->operation.payload)) {
          return false;
        }
        const auto& snapshot = std::get<CreateArtifact>(artifact->operation.payload);
        return std::find(jobs.begin(), jobs.end(), snapshot.source_job) != jobs.end();
      });
  if (linked) {
    return std::nullopt;
  }
  const bool unknown = std::find(artifacts.begin(), artifacts.end(), nullptr) != artifacts.end();
  return unknown ? deferred(Reason::missing_dep) : voided(Reason::audit_link_invalid);
}

std::vector<JobId> Judge::jobs_of_effective_dependencies() const {
  std::vector<JobId> jobs;
  for (const OpId& id : self_.operation.causal_deps) {
    const OpRecord* cause = effective(id);
    HOLDFAST_ASSERT(cause != nullptr);
    if (const auto job = job_of(cause->operation.payload)) {
      jobs.push_back(*job);
    }
  }
  return jobs;
}

// Of the jobs that the output names, those that count as inference.
std::vector<JobId> Judge::inference_jobs() {
  std::vector<JobId> jobs;
  if (const auto* claim = std::get_if<CreateClaim>(&self_.operation.payload)) {
    jobs = claim->provenance.jobs;
  } else if (const auto* action = std::get_if<CreateSuggestedAction>(&self_.operation.payload)) {
    if (action->derivation_job.has_value()) {
      jobs.push_back(*action->derivation_job);
    }
  } else {
    jobs = jobs_of_effective_dependencies();
  }
  watched_.insert(watched_.end(), jobs.begin(), jobs.end());
  std::erase_if(jobs, [&](const JobId& job) { return !is_inference_job(job); });
  return jobs;
}

bool Judge::is_inference_job(const JobId& job) const {
  if (const auto snapshots = roster_.snapshots_.find(job); snapshots != roster_.snapshots_.end()) {
    for (const auto& [key, op] : snapshots->second) {
      if (key < self_.key && roster_.at(op).judgement.verdict.outcome == Outcome::applied) {
        return true;
      }
    }
  }
  const JobState state = roster_.state_before({Subject::Type::job, job.bytes}, self_.key).job;
  if (state.phase == JobPhase::unknown) {
    return false;
  }
  const auto& prefixes = roster_.rules_.inference_kinds;
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
    return roster_.kind_of(state).starts_with(prefix);
  });
}

std::vector<const OpRecord*> Judge::named_artifacts() const {
  std::vector<const OpRecord*> artifacts;
  if (const auto* claim = std::get_if<CreateClaim>(&self_.operation.payload)) {
    for (const ArtifactId& id : claim->provenance.artifacts) {
      artifacts.push_back(find_artifact(id));
    }
    return artifacts;
  }
  for (const OpId& id : self_.operation.causal_deps) {
    const OpRecord* cause = effective(id);
    if (std::holds_alternative<CreateArtifact>(cause->operation.payload) &&
        cause->judgement.verdict.outcome == Outcome::applied) {
      artifacts.push_back(cause);
    }
  }
  return artifacts;
}

// By its id, or by the id of the operation that created it, which authors often make the same.
const OpRecord* Judge::find_artifact(const ArtifactId& id) const {
  const auto creation =
      roster_.state_before({Subject::Type::artifact, id.bytes}, self_.key).creation;
  if (creation.has_value()) {
    return &roster_.at(*creation);
  }
  const OpRecord* by_op = effective({id.bytes});
  const bool created = by_op != nullptr &&
                       std::holds_alternative<CreateArtifact>(by_op->operation.payload) &&
                       by_op->judgement.verdict.outcome == Outcome::applied;
  return created ? by_op : nullptr;
}

}  // namespace holdfast::mesh
