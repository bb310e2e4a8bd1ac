// Judge: the verdict on one operation, from what comes before it. The order of the rules:
//
//   1. two operations of one node with one timestamp are both void;
//   2. an operation that depends on a later one is rejected;
//   3. an operation that no chain of its author admits is parked;
//   4. an id belongs to the first authorised operation that carries it, the others are void;
//   5. an operation waits for its dependencies, which must be effective;
//   6. what the author may do with this job, claim or evidence;
//   7. the coordinator derives; output of audited inference links to its snapshot;
//   8. the state of its subject.
//
// Rules 1 and 2 look at the whole set; 3 at the graph of tokens; all others at operations with a
// smaller timestamp. So one pass in the order of timestamps judges everything.
#pragma once

#include <vector>

#include "mesh/roster/roster.h"

namespace holdfast::mesh {

class Judge {
 public:
  Judge(const Roster& roster, OpRef op);

  Judgement run();
  // The jobs that a derivation looked at: when their state changes, it is judged again.
  [[nodiscard]] const std::vector<JobId>& watched() const { return watched_; }

 private:
  [[nodiscard]] bool has_twin() const;
  [[nodiscard]] bool violates_causality() const;
  [[nodiscard]] bool is_id_taken() const;
  // Empty when every dependency is effective.
  [[nodiscard]] std::optional<Verdict> check_dependencies() const;
  // The effective operation with that id and a smaller timestamp.
  [[nodiscard]] const OpRecord* effective(const OpId& id) const;

  // Empty when the author may author this operation, as far as the operation itself shows.
  [[nodiscard]] std::optional<Verdict> check_authority() const;
  [[nodiscard]] std::optional<Verdict> check_delegation() const;
  [[nodiscard]] std::optional<Verdict> check_revocation(const RevokeUcan& revocation) const;
  [[nodiscard]] Admission admit(const CaveatFacts& facts) const;
  [[nodiscard]] std::optional<Verdict> check_chain(const CaveatFacts& facts) const;
  // The same once the job, claim or evidence is known that the operation is about.
  [[nodiscard]] std::optional<Verdict> check_late_caveats() const;
  [[nodiscard]] std::optional<Verdict> check_unknown_subject() const;
  [[nodiscard]] std::optional<Verdict> check_coordinator();
  [[nodiscard]] bool holds_named_job();
  // What a node under audit derives from inference links to the snapshot of the call.
  [[nodiscard]] std::optional<Verdict> check_audit();
  [[nodiscard]] std::vector<JobId> jobs_of_effective_dependencies() const;
  [[nodiscard]] std::vector<JobId> inference_jobs();
  [[nodiscard]] bool is_inference_job(const JobId& job) const;
  // The artifacts that the operation names; null for one that is not known at its time.
  [[nodiscard]] std::vector<const OpRecord*> named_artifacts() const;
  [[nodiscard]] const OpRecord* find_artifact(const ArtifactId& id) const;
  [[nodiscard]] CaveatFacts facts() const { return {.wall_ms = self_.key.at.wall_ms}; }

  void decide(Judgement& result);
  void decide_job(Judgement& result) const;
  void decide_artifact(Judgement& result) const;
  [[nodiscard]] bool cites_old_tenure() const;
  [[nodiscard]] JobOp job_op() const;

  const Roster& roster_;
  OpRef op_;
  const OpRecord& self_;
  SubjectState before_;
  std::vector<JobId> watched_;
};

// The pair that a chain must grant for an operation of that kind.
Pair required_pair(const Payload& payload);

}  // namespace holdfast::mesh
