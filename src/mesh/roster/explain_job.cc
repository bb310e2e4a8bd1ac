#include "mesh/roster/explain_job.h"

#include "base/quote.h"

namespace holdfast::mesh {

namespace {

constexpr std::size_t kScheduleJob = 10;

// Why no ScheduleJob was applied.
std::vector<Obstacle> explain_schedule(const Roster& roster, const JobId& job) {
  std::vector<Obstacle> obstacles;
  for (const OpView& op : roster.history(job)) {
    if (op.kind != kScheduleJob) {
      continue;
    }
    std::string text = "its ScheduleJob is " + to_text(op.verdict);
    std::string separator = ": it waits for operation ";
    for (const OpId& id : roster.unmet_dependencies(op.hash)) {
      text += separator + to_text(id);
      separator = ", ";
    }
    obstacles.push_back({Obstacle::Kind::schedule, text});
  }
  if (obstacles.empty()) {
    obstacles.push_back({Obstacle::Kind::schedule, "no ScheduleJob for this job is known"});
  }
  return obstacles;
}

std::string lease_text(const JobState& state, const Timestamp& now) {
  const std::string holder = node_name(*state.claimer) + " holds it";
  const std::string deadline = std::to_string(*state.deadline_ms) + " ms";
  return now.wall_ms <= *state.deadline_ms
             ? holder + " until " + deadline
             : holder + "; its lease ended at " + deadline + ", and an ExpireWork releases it";
}

}  // namespace

std::vector<Obstacle> explain_claim(const Roster& roster, const JobId& job, const PublicKey& node,
                                    const Timestamp& now) {
  const auto view = roster.job(job);
  if (!view.has_value()) {
    return explain_schedule(roster, job);
  }
  std::vector<Obstacle> obstacles;
  const JobState& state = view->state;
  if (state.phase == JobPhase::completed) {
    return {{Obstacle::Kind::completed, "it is completed by " + node_name(*state.claimer)}};
  }
  if (state.phase == JobPhase::claimed) {
    obstacles.push_back({Obstacle::Kind::lease, lease_text(state, now)});
  }
  const CaveatFacts facts{.wall_ms = now.wall_ms, .kind = view->kind};
  const Admission admission = roster.tokens().admit(node, {Resource::job, Action::claim}, facts);
  if (!admission.admitted()) {
    std::string reason(to_text(admission.reason));
    if (admission.failed.has_value()) {
      reason += "(" + std::string(to_text(*admission.failed)) + ")";
    }
    obstacles.push_back(
        {Obstacle::Kind::capability,
         "no token of the node admits (Job, Claim) for kind " + quote(view->kind) + ": " + reason});
  }
  const auto route = roster.route_at(view->kind, now);
  if (route.has_value() && *route != node_id_of(node)) {
    obstacles.push_back({Obstacle::Kind::route,
                         "kind " + quote(view->kind) + " is routed to " + node_name(*route)});
  }
  return obstacles;
}

}  // namespace holdfast::mesh
