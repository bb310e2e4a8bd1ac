#include "mesh/roster/explain_job.h"

#include "base/quote.h"

namespace holdfast::mesh {

namespace {

constexpr Pair kClaim{Resource::job, Action::claim};

bool is_schedule(const Payload& payload) { return std::holds_alternative<ScheduleJob>(payload); }

std::string name_of(const Operation& operation) {
  return "its " + std::string(kind_name(operation.payload.index())) + " by " +
         node_name(operation.author());
}

// What an operation waits for, and what that waits for in turn; each operation once.
void add_causes(const Roster& roster, const Digest& hash, std::set<OpId>& named,
                std::string& text) {
  for (const OpId& id : roster.unmet_dependencies(hash)) {
    if (!named.insert(id).second) {
      continue;
    }
    const auto carriers = roster.verdicts(id);
    text += (named.size() == 1 ? ": operation " : "; operation ") + to_text(id) + " is " +
            (carriers.empty() ? "not known" : to_text(carriers.front().verdict));
    if (!carriers.empty() && carriers.front().verdict.outcome == Outcome::deferred) {
      add_causes(roster, carriers.front().hash, named, text);
    }
  }
}

std::string verdict_text(const Roster& roster, const OpView& op) {
  std::string text = name_of(*roster.find_bytes(op.hash)) + " is " + to_text(op.verdict);
  if (op.verdict.outcome == Outcome::deferred) {
    std::set<OpId> named;
    add_causes(roster, op.hash, named, text);
  }
  return text;
}

// Operations about the job that have not reached the roster: every ScheduleJob, and claims by the
// node.
void add_waiting(const Replica& replica, const JobId& job, NodeId node,
                 std::vector<Obstacle>& obstacles) {
  for (const auto& [operation, place] : replica.waiting_about(job)) {
    const bool schedules = is_schedule(operation->payload);
    if (!schedules &&
        !(std::holds_alternative<ClaimWork>(operation->payload) && operation->author() == node)) {
      continue;
    }
    const std::string why =
        place == Place::unknown
            ? " waits aside: no delegation by that node itself is known, so its key is not bound"
            : " waits in quarantine: its time, " + std::to_string(operation->timestamp.wall_ms) +
                  " ms, is too far ahead";
    obstacles.push_back(
        {schedules ? Obstacle::Kind::schedule : Obstacle::Kind::claim, name_of(*operation) + why});
  }
}

// Why no ScheduleJob was applied.
void add_schedules(const Roster& roster, const JobId& job, std::vector<Obstacle>& obstacles) {
  for (const OpView& op : roster.history(job)) {
    if (is_schedule(roster.find_bytes(op.hash)->payload)) {
      obstacles.push_back({Obstacle::Kind::schedule, verdict_text(roster, op)});
    }
  }
  if (obstacles.empty()) {
    obstacles.push_back({Obstacle::Kind::schedule, "no ScheduleJob for this job is known"});
  }
}

void add_lease(const JobState& state, const Timestamp& now, std::vector<Obstacle>& obstacles) {
  if (state.phase == JobPhase::claimed) {
    const std::string holder = node_name(*state.claimer) + " holds it";
    const std::string deadline = std::to_string(*state.deadline_ms) + " ms";
    obstacles.push_back({Obstacle::Kind::lease, now.wall_ms <= *state.deadline_ms
                                                    ? holder + " until " + deadline
                                                    : holder + "; its lease ended at " + deadline +
                                                          ", and an ExpireWork releases it"});
  }
}

// The newest claim by the node, if it had no effect and nothing has happened to the job since.
void add_claim(const Roster& roster, const JobView& view, NodeId node,
               std::vector<Obstacle>& obstacles) {
  const auto history = roster.history(view.job);
  for (auto op = history.rbegin(); op != history.rend(); ++op) {
    const Operation& operation = *roster.find_bytes(op->hash);
    if (op->at.node == node && std::holds_alternative<ClaimWork>(operation.payload)) {
      if (!op->verdict.is_effective() && view.state.last_transition < op->at) {
        obstacles.push_back({Obstacle::Kind::claim, verdict_text(roster, *op)});
      }
      return;
    }
  }
}

std::string fault_text(const TokenFault& fault) {
  const std::string token = "; token " + to_hex(fault.token->cid);
  const Reason reason = fault.admission.reason;
  if (fault.cause.has_value()) {
    const std::string cause = to_hex(*fault.cause);
    return reason == Reason::missing_proof
               ? token + " needs token " + cause + ", which is not known"
               : token + " ends with token " + cause + ", which is revoked";
  }
  if (reason == Reason::chain_not_yet) {
    return token + " begins at " + std::to_string(fault.token->not_before_s) + " s";
  }
  if (reason == Reason::chain_expired) {
    return token + " ended at " + std::to_string(*fault.token->expires_s) + " s";
  }
  return token;
}

void add_capability(const TokenGraph& tokens, const JobView& view, const PublicKey& node,
                    const Timestamp& now, std::vector<Obstacle>& obstacles) {
  const CaveatFacts facts{.wall_ms = now.wall_ms, .kind = view.kind};
  const Admission admission = tokens.admit(node, kClaim, facts);
  if (admission.admitted()) {
    return;
  }
  std::string text = "no token of the node admits (Job, Claim) for kind " + quote(view.kind) +
                     ": " + std::string(to_text(admission.reason));
  if (admission.failed.has_value()) {
    text += "(" + std::string(to_text(*admission.failed)) + ")";
  }
  for (const TokenFault& fault : tokens.faults(node, kClaim, facts)) {
    text += fault.admission.reason == admission.reason ? fault_text(fault) : "";
  }
  obstacles.push_back({Obstacle::Kind::capability, text});
}

}  // namespace

std::vector<Obstacle> explain_claim(const Replica& replica, const JobId& job, const PublicKey& node,
                                    const Timestamp& now) {
  const Roster& roster = replica.roster();
  const NodeId id = node_id_of(node);
  std::vector<Obstacle> obstacles;
  const auto view = roster.job(job);
  if (view.has_value() && view->state.phase == JobPhase::completed) {
    return {{Obstacle::Kind::completed, "it is completed by " + node_name(*view->state.claimer)}};
  }
  add_waiting(replica, job, id, obstacles);
  if (!view.has_value()) {
    add_schedules(roster, job, obstacles);
    return obstacles;
  }
  std::erase_if(obstacles,
                [](const Obstacle& one) { return one.kind == Obstacle::Kind::schedule; });
  add_lease(view->state, now, obstacles);
  add_claim(roster, *view, id, obstacles);
  if (!replica.key_of(id).has_value()) {
    obstacles.push_back({Obstacle::Kind::key,
                         "no delegation by the node itself is known, so its key is not bound"});
  }
  add_capability(roster.tokens(), *view, node, now, obstacles);
  const auto route = roster.route_at(view->kind, now);
  if (route.has_value() && *route != id) {
    obstacles.push_back({Obstacle::Kind::route,
                         "kind " + quote(view->kind) + " is routed to " + node_name(*route)});
  }
  return obstacles;
}

}  // namespace holdfast::mesh
