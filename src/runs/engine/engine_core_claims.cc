// Claims in the core: requests that wait for attempts, and claims that are held and kept alive.
#include <algorithm>
#include <set>

#include "runs/engine/engine_core.h"

namespace holdfast {

namespace {

// A handler that reports often costs one commit in this time.
constexpr std::int64_t kBetweenProgressMs = 1000;

std::int64_t heartbeat_interval(std::uint64_t lease_ms) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(lease_ms / 3));
}

}  // namespace

void Core::request_claim(const ClaimRequestPtr& request) {
  if (request->state == ClaimRequest::State::withdrawn) {
    return;
  }
  HOLDFAST_ASSERT(request->state == ClaimRequest::State::created && request->used == 0 &&
                  !request->applicants.empty());  // E8
  request->state = ClaimRequest::State::waiting;
  if (stopped_.has_value()) {
    refuse(request);
    return;
  }
  line_of(*request).push_back(request);
  serve_again_ = true;
}

std::size_t Core::withdraw_request(const ClaimRequestPtr& request,
                                   std::function<void(std::size_t)> undone) {
  request->undone = std::move(undone);
  if (request->state == ClaimRequest::State::waiting) {
    std::erase(line_of(*request), request);
  } else if (request->state != ClaimRequest::State::created) {
    return 0;
  }
  return request->withdraw_open();
}

// There will be no more attempts.
void Core::refuse(const ClaimRequestPtr& request) {
  request->state = ClaimRequest::State::complete;
  effects_.emplace_back([request, why = *stopped_] {
    request->assigned(std::vector<Result<Assignment>>(request->open(), Result<Assignment>(why)));
  });
}

std::deque<ClaimRequestPtr>& Core::line_of(const ClaimRequest& request) {
  for (Line& line : lines_) {
    if (line.skills == request.skills) {
      return line.requests;
    }
  }
  // Lines of pools that have stopped are dropped.
  std::erase_if(lines_, [](const Line& line) { return line.requests.empty(); });
  lines_.push_back(Line{request.skills, {}});
  return lines_.back().requests;
}

bool Core::has_claim_request() const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [](const Line& line) { return !line.requests.empty(); });
}

void Core::serve_waiting(Turn& turn) {
  if (!std::exchange(serve_again_, false) && !timer_for_workers_due(turn.now())) {
    return;
  }
  for (Line& line : lines_) {
    while (!line.requests.empty() && serve(turn, line.requests.front())) {
      line.requests.pop_front();
    }
  }
}

// Claims as much as there is for the request. True: it is complete.
bool Core::serve(Turn& turn, const ClaimRequestPtr& request) {
  HOLDFAST_ASSERT(request->state == ClaimRequest::State::waiting && request->open() > 0);  // E8
  std::vector<Assignment> assignments;
  while (request->open() > 0 && building_->facts.commit.bytes() < options_.max_group_bytes) {
    const Turn::Mark mark = turn.mark();
    auto claimed = claim_next(turn, *request->skills, request->applicants[request->used]);
    if (!claimed.ok() || !claimed.value().has_value()) {
      turn.roll_back_to(mark);
      break;
    }
    assignments.push_back(*std::move(claimed).value());
    ++request->used;
  }
  if (assignments.empty()) {
    return false;
  }
  stats_.claims += assignments.size();
  building_->claimed.push_back({request, std::move(assignments)});
  if (request->completes == ClaimRequest::Completes::with_all && request->open() > 0) {
    return false;
  }
  request->state = ClaimRequest::State::complete;
  return true;
}

// Claims that were undone: their requests wait again, before those that came later, unless they
// were withdrawn meanwhile.
void Core::put_back(std::vector<Group::Claimed>& claimed) {
  for (auto one = claimed.rbegin(); one != claimed.rend(); ++one) {
    ClaimRequest& request = *one->request;
    HOLDFAST_ASSERT(request.used >= one->assignments.size());  // E8
    request.used -= one->assignments.size();
    if (request.undone != nullptr) {
      effects_.emplace_back(
          [undone = request.undone, count = request.withdraw_open()] { undone(count); });
    } else if (request.state == ClaimRequest::State::complete) {
      request.state = ClaimRequest::State::waiting;
      line_of(request).push_front(one->request);
    }
  }
}

void Core::hold(const ClaimRequest& request, const Assignment& assignment, TimeMs now) {
  if (request.lost == nullptr) {
    return;
  }
  const SharedText& claim_id = assignment.claim_id;
  HeldClaim& claim = held_[claim_id];
  claim.proof = proof_of(assignment);
  claim.lease_ms = assignment.lease_ms;
  claim.lost = request.lost;
  claim.last_heartbeat = now;
  schedule_heartbeat(claim_id, claim, TimeMs{now.value + heartbeat_interval(claim.lease_ms)});
}

void Core::schedule_heartbeat(const SharedText& claim_id, HeldClaim& claim, TimeMs at) {
  heartbeats_.erase({claim.next_heartbeat, claim_id});
  claim.next_heartbeat = at;
  heartbeats_.emplace(at, claim_id);
  HOLDFAST_ASSERT(heartbeats_.size() == held_.size());  // E7
}

void Core::set_progress(const SharedText& claim_id, const Payload& progress) {
  const auto found = held_.find(claim_id);
  if (found == held_.end()) {
    return;
  }
  HeldClaim& claim = found->second;
  claim.progress = progress;
  const TimeMs soon{claim.last_heartbeat.value + kBetweenProgressMs};
  if (soon < claim.next_heartbeat) {
    schedule_heartbeat(claim_id, claim, soon);
  }
}

void Core::drop(const SharedText& claim_id) {
  const auto claim = held_.find(claim_id);
  if (claim != held_.end()) {
    heartbeats_.erase({claim->second.next_heartbeat, claim_id});
    held_.erase(claim);
    HOLDFAST_ASSERT(heartbeats_.size() == held_.size());  // E7
  }
}

void Core::send_heartbeats(Turn& turn) {
  while (!heartbeats_.empty() && heartbeats_.begin()->first <= turn.now()) {
    const SharedText claim_id = heartbeats_.begin()->second;
    const auto held = held_.find(claim_id);
    HOLDFAST_ASSERT(held != held_.end());  // E7
    HeldClaim& claim = held->second;
    claim.last_heartbeat = turn.now();
    schedule_heartbeat(claim_id, claim,
                       TimeMs{turn.now().value + heartbeat_interval(claim.lease_ms)});
    const Turn::Mark mark = turn.mark();
    building_->heartbeats.push_back(claim_id);
    const auto sent = heartbeat(turn, claim.proof, claim.progress);
    if (!sent.ok()) {
      turn.roll_back_to(mark);
      building_->lost.emplace_back(claim_id, sent.error());
    }
  }
}

// Their holders learn at once that the result is no longer needed.
void Core::drop_claims_of_ended_runs() {
  std::vector<SharedText> dropped;
  for (const auto& [claim_id, claim] : held_) {
    if (!state_->runs().is_live(claim.proof.run_id)) {
      dropped.push_back(claim_id);
      effects_.emplace_back([lost = claim.lost, id = claim_id] {
        lost(id, Error{ErrorCode::terminal_run, "the run has ended"});
      });
    }
  }
  for (const SharedText& claim_id : dropped) {
    drop(claim_id);
  }
}

// Stops the handlers of withdrawn attempts and of compensating runs. The latter still report, so
// that their effects can be compensated.
void Core::stop_handlers(const GroupFacts& facts) {
  if (facts.withdrawn.empty() && facts.compensating.empty()) {
    return;
  }
  const std::set<SharedText> withdrawn(facts.withdrawn.begin(), facts.withdrawn.end());
  std::vector<SharedText> dropped;
  for (const auto& [claim_id, claim] : held_) {
    if (withdrawn.contains(claim.proof.runnable_key)) {
      dropped.push_back(claim_id);
      effects_.emplace_back([lost = claim.lost, id = claim_id] {
        lost(id, Error{ErrorCode::stale_claim, "the attempt was withdrawn"});
      });
    } else if (std::find(facts.compensating.begin(), facts.compensating.end(),
                         claim.proof.run_id) != facts.compensating.end()) {
      effects_.emplace_back([lost = claim.lost, id = claim_id] {
        lost(id, Error{ErrorCode::invalid_transition, "the run is compensating"});
      });
    }
  }
  for (const SharedText& claim_id : dropped) {
    drop(claim_id);
  }
}

}  // namespace holdfast
