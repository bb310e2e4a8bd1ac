#include "mesh/roster/job_state.h"

#include <limits>

#include "holdfast/assert.h"

namespace holdfast::mesh {

namespace {

JobStep refuse(const JobState& before, Reason reason) { return {voided(reason), before}; }

bool is_in_time(const JobState& state, const Timestamp& at) {
  HOLDFAST_ASSERT(state.deadline_ms.has_value());
  return at.wall_ms <= *state.deadline_ms;
}

std::uint64_t deadline_of(const JobOp& claim) {
  const std::uint64_t left = std::numeric_limits<std::uint64_t>::max() - claim.at.wall_ms;
  return claim.lease_ms > left ? std::numeric_limits<std::uint64_t>::max()
                               : claim.at.wall_ms + claim.lease_ms;
}

JobState released(const JobState& before, const Timestamp& at) {
  JobState after = before;
  after.phase = JobPhase::pending;
  after.claimer.reset();
  after.first_claim.reset();
  after.latest_claim.reset();
  after.deadline_ms.reset();
  after.last_transition = at;
  return after;
}

JobStep schedule(const JobState& before, const JobOp& op) {
  if (before.phase != JobPhase::unknown) {
    return refuse(before, Reason::duplicate_job);
  }
  JobState after;
  after.phase = JobPhase::pending;
  after.schedule = op.op;
  after.last_transition = op.at;
  return {applied(), after};
}

JobStep renew(const JobState& before, const JobOp& op) {
  if (before.claimer != op.at.node) {
    return refuse(before, Reason::already_claimed);
  }
  if (!is_in_time(before, op.at)) {
    return refuse(before, Reason::renew_after_deadline);
  }
  JobState after = before;
  after.latest_claim = op.op;
  after.deadline_ms = deadline_of(op);
  after.last_transition = op.at;
  return {applied(), after};
}

JobStep claim(const JobState& before, const JobOp& op) {
  if (before.phase == JobPhase::completed) {
    return refuse(before, Reason::job_completed);
  }
  if (op.too_long) {
    return refuse(before, Reason::lease_too_long);
  }
  if (op.route.has_value() && *op.route != op.at.node) {
    return refuse(before, Reason::routed_elsewhere);
  }
  if (before.phase == JobPhase::claimed) {
    return renew(before, op);
  }
  JobState after = before;
  after.phase = JobPhase::claimed;
  after.claimer = op.at.node;
  after.first_claim = op.op;
  after.latest_claim = op.op;
  after.deadline_ms = deadline_of(op);
  after.attempts = before.attempts + 1;
  after.last_transition = op.at;
  return {applied(), after};
}

// Why a completion or a yield by that node does nothing; none when the node holds the job.
Reason why_not_holder(const JobState& state, NodeId node) {
  if (state.phase == JobPhase::completed) {
    return Reason::job_completed;
  }
  if (state.phase == JobPhase::pending) {
    return Reason::not_claimed;
  }
  return state.claimer == node ? Reason::none : Reason::not_claimer;
}

JobStep yield(const JobState& before, const JobOp& op) {
  if (const Reason reason = why_not_holder(before, op.at.node); reason != Reason::none) {
    return refuse(before, reason);
  }
  JobState after = released(before, op.at);
  ++after.yields;
  return {applied(), after};
}

JobStep complete(const JobState& before, const JobOp& op) {
  if (const Reason reason = why_not_holder(before, op.at.node); reason != Reason::none) {
    return refuse(before, reason);
  }
  if (op.of_old_tenure) {
    return refuse(before, Reason::stale_tenure);
  }
  JobState after = before;
  after.phase = JobPhase::completed;
  after.completion = op.op;
  after.deadline_ms.reset();
  after.last_transition = op.at;
  return {applied(), after};
}

JobStep expire(const JobState& before, const JobOp& op) {
  if (before.phase != JobPhase::claimed) {
    return {noop(), before};
  }
  if (before.claimer != op.expired_claimer) {
    return refuse(before, Reason::stale_expire);
  }
  if (is_in_time(before, op.at)) {
    return refuse(before, Reason::lease_not_expired);
  }
  JobState after = released(before, op.at);
  ++after.expiries;
  return {applied(), after};
}

}  // namespace

JobStep step_job(const JobState& before, const JobOp& op) {
  if (before.phase == JobPhase::unknown && op.kind != JobOpKind::schedule) {
    return {deferred(Reason::unknown_job), before};
  }
  HOLDFAST_ASSERT(before.phase == JobPhase::unknown || before.schedule.has_value());
  HOLDFAST_ASSERT((before.phase == JobPhase::claimed) == before.deadline_ms.has_value());
  switch (op.kind) {
    case JobOpKind::schedule:
      return schedule(before, op);
    case JobOpKind::claim:
      return claim(before, op);
    case JobOpKind::complete:
      return complete(before, op);
    case JobOpKind::yield:
      return yield(before, op);
    case JobOpKind::expire:
      return expire(before, op);
  }
  return {noop(), before};
}

}  // namespace holdfast::mesh
