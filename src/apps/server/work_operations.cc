// Operations of remote workers: claim, heartbeat, report, start a child.
#include <algorithm>

#include "apps/server/server_call.h"
#include "apps/server/server_operations.h"
#include "apps/server/work_responses.h"
#include "base/hash.h"
#include "base/names.h"
#include "runs/engine/worker_pool.h"
#include "runs/inspect/stored_run.h"
#include "runs/language/data/path.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxIdBytes = 200;
constexpr std::size_t kMinSecretBytes = 32;
constexpr std::uint64_t kMostAtOnce = 1000;

Error bad_field(std::string_view field, const std::string& message) {
  return Error{ErrorCode::invalid_argument, message}.with("field", field);
}

Result<void> check_worker(const WorkerIdentity& worker) {
  const bool printable =
      std::all_of(worker.id.begin(), worker.id.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (worker.id.size() > kMaxIdBytes || !printable) {
    return bad_field("worker.id", "worker.id must be at most 200 printable characters");
  }
  return {};
}

ClaimProof proof_of(const ClaimReference& claim) {
  return ClaimProof{claim.run_id, claim.runnable_key, claim.claim_id, sha256(claim.token.view())};
}

// The requested queues, or all that the caller may use.
Result<std::vector<SharedText>> queues_of(const Caller& caller,
                                          const std::vector<SharedText>& requested) {
  if (requested.empty()) {
    return caller.queues;
  }
  for (const SharedText& queue : requested) {
    HOLDFAST_CHECK(check_name("queue", queue.view()));
    const bool allowed =
        caller.queues.empty() ||
        std::find(caller.queues.begin(), caller.queues.end(), queue) != caller.queues.end();
    if (!allowed) {
      return Error{ErrorCode::permission_denied,
                   "token \"" + caller.name + "\" may not claim from queue \"" + queue.str() + "\""}
          .with("queue", queue.view());
    }
  }
  return requested;
}

Result<PollRequest> poll_request(const Call& call, const WorkerIdentity& worker,
                                 const AttemptsRequest& claim) {
  if (worker.secret.size() < kMinSecretBytes) {
    return bad_field("worker.secret", "worker.secret must be 32 random bytes in base64url");
  }
  if (claim.handlers.empty()) {
    return bad_field("handlers", "handlers must name at least one handler");
  }
  if (claim.max == 0 || claim.max > kMostAtOnce) {
    return bad_field("max", "max must be a number from 1 to 1000");
  }
  HOLDFAST_TRY(auto queues, queues_of(call.caller, claim.queues));
  PollRequest request;
  request.worker = worker;
  request.id = claim.request;
  request.max = static_cast<std::size_t>(claim.max);
  request.skills = call.service.polls.skills(std::move(queues), claim.handlers);
  return request;
}

// A call of a worker that waits for its response. The response is sent when the reports in the
// call, if any, are decided and the claim request is fulfilled or withdrawn, in either order.
class Waiting {
 public:
  Waiting(CallPtr of, PollRequest requested, std::chrono::milliseconds how_long)
      : call(std::move(of)), request(std::move(requested)), patience(how_long) {}

  const CallPtr call;
  const PollRequest request;
  const std::chrono::milliseconds patience;

  // The response waits for the reports from now on.
  void expect_reports() {
    const std::scoped_lock lock(mutex_);
    judged_ = false;
    reported_ = true;
  }
  // The result of each report, or why none is stored.
  void reports_judged(Result<std::vector<ReportResult>> results) {
    std::unique_lock lock(mutex_);
    results_ = std::move(results);
    judged_ = true;
    answer_if_complete(lock);
  }
  void attempts_given(Result<std::vector<Assignment>> attempts) {
    std::unique_lock lock(mutex_);
    attempts_ = std::move(attempts);
    answer_if_complete(lock);
  }

 private:
  void answer_if_complete(std::unique_lock<std::mutex>& lock) {
    if (!judged_ || !attempts_.has_value()) {
      return;
    }
    lock.unlock();
    if (!results_.ok() || !attempts_->ok()) {
      return call->fail(results_.ok() ? attempts_->error() : results_.error());
    }
    ReportResponse response;
    response.attempts = claimed_attempts(attempts_->value());
    response.draining = call->service.draining;
    if (!reported_) {
      return call->answer_json(response_json<ClaimResponse>(response));
    }
    response.results = std::move(results_).value();
    call->answer_json(response_json(response));
  }

  std::mutex mutex_;
  bool reported_ = false;  // the call has reports
  bool judged_ = true;
  Result<std::vector<ReportResult>> results_ = std::vector<ReportResult>();
  std::optional<Result<std::vector<Assignment>>> attempts_;
};
using WaitingPtr = std::shared_ptr<Waiting>;

// The poll behind a call; it can be found by its worker and request until it ends.
PollPtr poll_for(const WaitingPtr& waiting) {
  Service& service = waiting->call->service;
  struct Ends {
    std::weak_ptr<Poll> poll;
    std::optional<Alarm::Ticket> alarm;
    std::mutex mutex;
  };
  const auto ends = std::make_shared<Ends>();
  const auto poll = std::make_shared<Poll>(
      service.loop, waiting->request,
      [waiting, ends, &service](Result<std::vector<Assignment>> given) {
        if (const PollPtr self = ends->poll.lock()) {
          service.polls.remove(waiting->request, self);
        }
        {
          const std::scoped_lock lock(ends->mutex);
          if (ends->alarm.has_value()) {
            service.alarm.cancel(*ends->alarm);
          }
        }
        service.workers.polled(waiting->request.worker.id, service.clock.now());
        waiting->attempts_given(std::move(given));
      });
  ends->poll = poll;
  const Skills& skills = *waiting->request.skills;
  service.workers.polls(waiting->request.worker, skills.queues.value_or(std::vector<SharedText>()),
                        skills.handlers, service.clock.now());
  if (waiting->patience.count() > 0) {
    const auto end = [weak = std::weak_ptr(poll)] {
      if (const PollPtr known = weak.lock()) {
        known->end();
      }
    };
    {
      const std::scoped_lock lock(ends->mutex);
      ends->alarm = service.alarm.after(waiting->patience, end);
    }
    // May call it immediately.
    waiting->call->exchange->when_gone(end);
  }
  return poll;
}

void submit_poll(const WaitingPtr& waiting, const PollPtr& poll,
                 std::vector<LoopRequest> requests) {
  Service& service = waiting->call->service;
  const bool may_wait = service.polls.add(waiting->request, poll);
  service.loop.submit(std::move(requests));
  if (!may_wait) {
    poll->end();
  }
}

// Waits for attempts. Without patience it takes those that are ready.
void wait_for_attempts(const WaitingPtr& waiting) {
  const PollPtr poll = poll_for(waiting);
  std::vector<LoopRequest> requests{poll->request()};
  if (waiting->patience.count() == 0) {
    // Decided after the claim request before it.
    requests.emplace_back(
        std::make_shared<FunctionCommand<Done>>([](Turn&) -> Result<Done> { return Done{}; },
                                                [poll](const Result<Done>&) { poll->end(); }));
  }
  submit_poll(waiting, poll, std::move(requests));
}

Result<std::vector<Assignment>> with_inputs(Journal& journal, std::vector<Assignment> given) {
  for (Assignment& one : given) {
    HOLDFAST_CHECK(read_input(journal, one));
  }
  return given;
}

// The response of an earlier call with the same request id, else that of a new call.
void claim_again(const WaitingPtr& waiting) {
  const auto find_or_claim = [waiting] {
    submit<std::vector<Assignment>>(
        waiting->call,
        [request = waiting->request](Turn& turn) { return find_given(turn, request); },
        [waiting](const std::vector<Assignment>& given) {
          if (given.empty()) {
            wait_for_attempts(waiting);
          } else {
            waiting->attempts_given(with_inputs(waiting->call->service.loop.journal(), given));
          }
        });
  };
  const PollPtr before = waiting->call->service.polls.find(waiting->request);
  if (before == nullptr) {
    find_or_claim();
    return;
  }
  before->when_ended(find_or_claim);
  before->end();
}

// The error per report, in the same order; empty: it counted.
using Judgements = std::vector<std::optional<Error>>;

// The attempt is no longer in memory.
bool is_forgotten(const std::optional<Error>& judged) {
  return judged.has_value() && (judged->code() == ErrorCode::terminal_run ||
                                judged->code() == ErrorCode::unknown_runnable_intent);
}

bool ended_with(const Attempt& attempt, const Completion& completion) {
  return attempt.status == AttemptStatus::completed && attempt.outcome->result == completion.result;
}
bool ended_with(const Attempt& attempt, const Failure& failure) {
  return attempt.status == AttemptStatus::failed && attempt.outcome->error == failure.error;
}

// The same claim reported the same outcome before.
bool is_repetition(const Attempt& attempt, const Report& report) {
  if (!attempt.ended() || !attempt.claim ||
      !attempt.holds(report.claim_id, sha256(report.token.view()))) {
    return false;
  }
  return std::visit([&](const auto& outcome) { return ended_with(attempt, outcome); },
                    outcome_of(report));
}

Result<bool> counted_before(Journal& journal, const Report& report) {
  HOLDFAST_TRY(const Position head, journal.catch_up());
  HOLDFAST_TRY(const StoredRun stored, read_stored_run(journal, report.run_id, head));
  return std::any_of(stored.queues.begin(), stored.queues.end(), [&](const auto& queue) {
    const Attempt* attempt = queue.second->find(report.runnable_key.view());
    return attempt != nullptr && is_repetition(*attempt, report);
  });
}

// Calls `then` with the results, corrected for repeated reports whose run has ended and left
// memory: the journal records whether the first report counted. At once when nothing must be looked
// up.
void with_late_reports(const CallPtr& call,
                       const std::shared_ptr<const std::vector<Report>>& reports, Judgements judged,
                       std::function<void(const Judgements&)> then) {
  if (std::none_of(judged.begin(), judged.end(), is_forgotten)) {
    then(judged);
    return;
  }
  const auto look_up = [call, reports, judged, then] {
    Judgements corrected = judged;
    for (std::size_t i = 0; i < corrected.size(); ++i) {
      if (is_forgotten(corrected[i])) {
        const auto counted = counted_before(call->service.loop.journal(), (*reports)[i]);
        if (counted.ok() && counted.value()) {
          corrected[i].reset();
        }
      }
    }
    then(corrected);
  };
  if (!call->service.readers.run(look_up).ok()) {
    then(judged);
  }
}

TurnFunction<Judgements> judgement_of(std::vector<Report> reports) {
  auto outcomes = std::make_shared<std::vector<std::pair<ClaimProof, AttemptOutcome>>>();
  for (const Report& report : reports) {
    outcomes->emplace_back(proof_of(report), outcome_of(report));
  }
  return [outcomes](Turn& turn) -> Result<Judgements> {
    Judgements judgements;
    for (const auto& [proof, outcome] : *outcomes) {
      const Turn::Mark mark = turn.mark();
      const auto stored = report_outcome(turn, proof, outcome);
      if (stored.ok()) {
        judgements.emplace_back();
      } else {
        turn.roll_back_to(mark);
        judgements.emplace_back(stored.error());
      }
    }
    return judgements;
  };
}

// Stores the reports and claims more attempts in one commit.
void report_and_claim(const CallPtr& call, const ReportWorkRequest& body, PollRequest request) {
  const auto waiting =
      std::make_shared<Waiting>(call, std::move(request), std::chrono::milliseconds(0));
  waiting->expect_reports();
  const auto reports = std::make_shared<const std::vector<Report>>(body.reports);
  if (body.claim->again) {
    submit<Judgements>(
        call, judgement_of(*reports), [call, waiting, reports](const Judgements& judged) {
          with_late_reports(call, reports, judged, [waiting, reports](const Judgements& corrected) {
            waiting->reports_judged(report_results(*reports, corrected));
            claim_again(waiting);
          });
        });
    return;
  }
  const PollPtr poll = poll_for(waiting);
  std::vector<LoopRequest> requests;
  requests.emplace_back(std::make_shared<FunctionCommand<Judgements>>(
      judgement_of(*reports), [call, waiting, reports, poll](const auto& judged) {
        // Only attempts that are ready now are claimed.
        poll->end();
        if (!judged.ok()) {
          return waiting->reports_judged(judged.error());
        }
        with_late_reports(call, reports, judged.value(),
                          [waiting, reports](const Judgements& corrected) {
                            waiting->reports_judged(report_results(*reports, corrected));
                          });
      }));
  requests.emplace_back(poll->request());
  submit_poll(waiting, poll, std::move(requests));
}

}  // namespace

Result<void> claim_work(const CallPtr& call) {
  HOLDFAST_TRY(const ClaimWorkRequest body, read_body<ClaimWorkRequest>(*call));
  HOLDFAST_CHECK(check_worker(body.worker));
  HOLDFAST_TRY(PollRequest request, poll_request(*call, body.worker, body));
  const auto patience = std::chrono::milliseconds(static_cast<std::int64_t>(
      std::min<std::uint64_t>(body.wait_ms, static_cast<std::uint64_t>(kLongestWait.count()))));
  const auto waiting = std::make_shared<Waiting>(call, std::move(request), patience);
  if (call->service.draining) {
    waiting->attempts_given(std::vector<Assignment>());
  } else if (body.again) {
    claim_again(waiting);
  } else {
    wait_for_attempts(waiting);
  }
  return {};
}

Result<void> report_work(const CallPtr& call) {
  HOLDFAST_TRY(ReportWorkRequest body, read_body<ReportWorkRequest>(*call));
  HOLDFAST_CHECK(check_worker(body.worker));
  if (body.reports.size() > kMostAtOnce) {
    return bad_field("reports", "a call reports at most 1000 attempts");
  }
  call->service.workers.seen(body.worker, call->service.clock.now());
  if (body.claim.has_value() && !call->service.draining) {
    HOLDFAST_TRY(PollRequest request, poll_request(*call, body.worker, *body.claim));
    report_and_claim(call, body, std::move(request));
    return {};
  }
  const auto reports = std::make_shared<const std::vector<Report>>(std::move(body.reports));
  submit<Judgements>(call, judgement_of(*reports), [call, reports](const Judgements& judged) {
    with_late_reports(call, reports, judged, [call, reports](const Judgements& corrected) {
      ReportResponse response;
      response.results = report_results(*reports, corrected);
      response.draining = call->service.draining;
      call->answer_json(response_json(response));
    });
  });
  return {};
}

Result<void> heartbeat_work(const CallPtr& call) {
  HOLDFAST_TRY(HeartbeatWorkRequest body, read_body<HeartbeatWorkRequest>(*call));
  HOLDFAST_CHECK(check_worker(body.worker));
  if (body.claims.size() > kMostAtOnce) {
    return bad_field("claims", "a call extends at most 1000 claims");
  }
  call->service.workers.seen(body.worker, call->service.clock.now());
  const auto claims = std::make_shared<const std::vector<HeartbeatClaim>>(std::move(body.claims));
  submit<std::vector<HeartbeatResult>>(
      call,
      [claims](Turn& turn) -> Result<std::vector<HeartbeatResult>> {
        std::vector<HeartbeatResult> results;
        for (const HeartbeatClaim& claim : *claims) {
          const Turn::Mark mark = turn.mark();
          const auto kept = heartbeat(turn, proof_of(claim), claim.progress);
          if (!kept.ok()) {
            turn.roll_back_to(mark);
            results.push_back(lost_claim(claim, kept.error()));
            continue;
          }
          HeartbeatResult& result = results.emplace_back();
          result.claim_id = claim.claim_id;
          result.lease_until = kept.value();
          const auto run = turn.state().runs().get(claim.run_id);
          result.stop = run.ok() && run.value()->is_compensating();
        }
        return results;
      },
      [call](std::vector<HeartbeatResult> results) {
        call->answer_json(
            response_json(HeartbeatResponse{std::move(results), call->service.draining}));
      });
  return {};
}

Result<void> start_child_run(const CallPtr& call) {
  HOLDFAST_TRY(const ChildRequest body, read_body<ChildRequest>(*call));
  HOLDFAST_CHECK(check_worker(body.worker));
  StartChild command;
  command.child_key = body.key;
  command.queue = body.queue;
  command.trigger = body.trigger;
  command.input = body.input.empty() ? Payload::trusted("{}") : Payload(body.input);
  command.metadata = body.metadata;
  command.on_parent_close = body.cancel_with_parent ? ParentClose::cancel : ParentClose::detach;
  submit<Started>(
      call,
      [command, proof = proof_of(body.parent),
       workflow = body.workflow](Turn& turn) mutable -> Result<Started> {
        DispatchProjection* queue =
            turn.state().queues().find(proof.run_id, proof.runnable_key.view());
        if (queue == nullptr) {
          return Error{ErrorCode::stale_claim, "the attempt of the parent no longer exists"};
        }
        // A worker that has lost its claim must not start anything.
        HOLDFAST_CHECK(decide_heartbeat(*queue, proof, turn.now()));
        const Attempt* attempt = queue->find(proof.runnable_key.view());
        command.origin = Origin{attempt->runnable_key, attempt->step, attempt->attempt_number};
        HOLDFAST_TRY(command.definition, current_definition(turn, workflow));
        return start_child(turn, proof.run_id, command);
      },
      [call](const Started& started) {
        call->answer_json(started_text(started), started.existed ? 200 : 201);
      });
  return {};
}

}  // namespace holdfast
