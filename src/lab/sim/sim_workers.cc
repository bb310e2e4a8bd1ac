#include "lab/sim/sim_workers.h"

#include <algorithm>

#include "base/json_writer.h"
#include "lab/sim/sim_words.h"
#include "lab/sim/simulation.h"
#include "runs/engine/step_chain.h"
#include "runs/engine/worker_pool.h"

namespace holdfast::sim {

namespace {

const std::shared_ptr<const Skills>& any_skills() {
  static const auto skills = std::make_shared<const Skills>();
  return skills;
}

std::string proof_params(const Assignment& given, const std::string& token,
                         const HandlerAnswer* answer) {
  JsonWriter json;
  json.begin_object()
      .member("run_id", to_string(given.run_id))
      .member("runnable_key", given.runnable_key.view())
      .member("claim_id", given.claim_id.view())
      .member("token_hash", to_hex(sha256(token)));
  if (answer != nullptr) {
    if (const auto* failure = std::get_if<Failure>(&answer->outcome)) {
      json.member("error", payload_text(failure->error)).member("retryable", failure->retryable);
      if (failure->retry_after_ms.has_value()) {
        json.member("retry_after_ms", *failure->retry_after_ms);
      }
    } else {
      const auto& done = std::get<Completion>(answer->outcome);
      json.member("result", payload_text(done.result));
      json.member("execution_opts", payload_text(done.execution_opts));
    }
  }
  return std::move(json.end_object()).take();
}

std::string assignment_text(const Assignment& given) {
  JsonWriter json;
  json.begin_object()
      .member("run_id", to_string(given.run_id))
      .member("runnable_key", given.runnable_key.view())
      .member("step", given.step.view())
      .member("handler", given.handler.view())
      .member("queue", given.queue.view())
      .member("idempotency_key", given.idempotency_key.view())
      .member("attempt_number", std::uint64_t{given.attempt_number})
      .member("input", payload_text(given.input))
      .member("claim_id", given.claim_id.view())
      .member("lease_until", given.lease_until.value)
      .end_object();
  return std::move(json).take();
}

}  // namespace

void Workers::start_workers(Process& process) {
  for (std::uint32_t i = 0; i < simulation_.plan().workers; ++i) {
    request_claim(process);
  }
}

// Workers inside the process die in the middle of their work.
void Workers::process_stopped(Process& process) {
  const std::map<std::string, TaskPtr> tasks = tasks_;
  for (const auto& [claim, task] : tasks) {
    if (!task->remote && task->process == process.number()) {
      executed(task, Execution::killed_with_process);
      task->finished = true;
      tasks_.erase(claim);
    }
  }
}

bool Workers::is_executing() const {
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [](const auto& task) { return !task.second->answer.never; });
}

void Workers::executed(const TaskPtr& task, Execution how) {
  if (simulation_.observer() == nullptr) {
    return;
  }
  const Dice dice = simulation_.dice().about(task->assignment.claim_id.view());
  const bool done = task->answer.done && (how == Execution::reports || dice.chance(50, "did it"));
  simulation_.observer()->executed(task->assignment, task->answer, how, done);
}

void Workers::request_claim(Process& process) {
  if (!process.up()) {
    return;
  }
  const Dice dice = simulation_.dice().about("worker", ++claims_);
  const bool remote = dice.chance(30, "remote");
  auto request = std::make_shared<ClaimRequest>();
  request->skills = any_skills();
  const std::string claim = to_string(make_uuid(process.now(), process.random()));
  const std::string token = to_string(make_uuid(process.now(), process.random()));
  request->applicants = {Applicant{
      {SharedText(claim), sha256(token), SharedText(process.name()), {}}, SharedText(token)}};
  request->assigned = [this, &process, remote](const std::vector<Result<Assignment>>& results) {
    if (results.front().ok()) {
      assigned(process, results.front().value(), remote);
    }
  };
  if (!remote) {
    request->lost = [this](const SharedText& claim_id, const Error& why) {
      simulation_.note("claim " + claim_id.str() + " lost: " + why.text());
      const auto task = tasks_.find(claim_id.str());
      if (task != tasks_.end() && task->second->answer.never) {
        finish(TaskPtr(task->second));
      }
    };
  }
  process.request_claim(request);
}

Behaviour Workers::behaviour(const Dice& dice) const {
  if (!simulation_.has(Fault::worker)) {
    return Behaviour::good;
  }
  // Half of the workers are good.
  constexpr std::size_t kAll = std::size(kEnumNames<Behaviour>);
  const std::uint64_t luck = dice.below(2 * kAll, "habit");
  return luck < kAll ? static_cast<Behaviour>(luck) : Behaviour::good;
}

bool Workers::has_timeout(const Assignment& assignment) const {
  const auto queue = simulation_.audit().queues.find(assignment.queue);
  const Attempt* attempt = queue == simulation_.audit().queues.end()
                               ? nullptr
                               : queue->second->find(assignment.runnable_key.view());
  return attempt != nullptr && attempt->policy().timeout.start_to_close_ms > 0;
}

bool Workers::lease_can_be_renewed() const {
  const Faults& faults = simulation_.plan().faults;
  return !faults.contains(Fault::io) && !faults.contains(Fault::stall) &&
         !faults.contains(Fault::clock) && simulation_.oracle_enabled();
}

void Workers::assigned(Process& process, const Assignment& assignment, bool remote) {
  simulation_.note(process.name() + " assigns " + assignment.runnable_key.str() + " to claim " +
                   assignment.claim_id.str());
  simulation_.claimed(process, assignment, assignment_text(assignment));
  auto task = std::make_shared<Task>();
  task->assignment = assignment;
  task->process = process.number();
  task->incarnation = process.incarnation();
  task->remote = remote;
  const Dice dice = simulation_.dice().about(assignment.claim_id.view());
  task->answer = simulation_.scenario().answer(assignment);
  // A handler that hangs ends only when its worker learns that the claim is lost.
  const Behaviour usual = behaviour(dice);
  const bool hangs =
      usual == Behaviour::hangs && simulation_.observer() == nullptr && has_timeout(assignment);
  task->answer.never = task->answer.never || hangs;
  const Behaviour how = hangs                                            ? Behaviour::hangs
                        : usual == Behaviour::hangs                      ? Behaviour::good
                        : task->answer.never && usual != Behaviour::dies ? Behaviour::good
                                                                         : usual;
  tasks_[assignment.claim_id.str()] = task;
  const auto lease_us = static_cast<std::int64_t>(assignment.lease_ms) * kMs;
  std::int64_t takes = task->answer.takes_us;
  if (how == Behaviour::stalls || how == Behaviour::reports_late) {
    takes = lease_us + static_cast<std::int64_t>(dice.below(20'000'000, "late"));
  }
  if (how == Behaviour::reports_at_expiry) {
    // The process checks the lease shortly after the report was submitted.
    takes = lease_us - static_cast<std::int64_t>(dice.below(3 * kMs, "early"));
  }
  simulation_.count("worker:" + std::string(to_text(how)));
  // A process keeps renewing the lease of its own stalled workers; without it the lease is not
  // renewed.
  if (how == Behaviour::reports_late || how == Behaviour::reports_at_expiry ||
      how == Behaviour::dies) {
    process.core().drop(assignment.claim_id);
  } else if (remote) {
    heartbeat(task);
  }
  if (simulation_.observer() != nullptr) {
    simulation_.observer()->execution_started(assignment, task->answer,
                                              takes - task->answer.takes_us);
  }
  if (how == Behaviour::dies) {
    simulation_.schedule().after(takes, [this, task] {
      if (!task->finished) {
        executed(task, Execution::dies);
      }
      finish(task);
    });
    return;
  }
  if (task->answer.never) {
    return;  // until the claim is lost
  }
  simulation_.schedule().after(takes, [this, task, how] { report(task, how); });
}

Process* Workers::process_of(const Task& task, std::string_view why) {
  Process& own = *simulation_.processes()[task.process - 1];
  if (!task.remote) {
    return own.up() && own.incarnation() == task.incarnation ? &own : nullptr;
  }
  return simulation_.some_process(
      simulation_.dice().about(task.assignment.claim_id.view()).about(why));
}

// A remote worker renews its lease itself.
void Workers::heartbeat(const TaskPtr& task) {
  const auto pause = static_cast<std::int64_t>(task->assignment.lease_ms) * kMs / 3;
  simulation_.schedule().after(pause, [this, task] {
    if (task->finished || task->lost) {
      return;
    }
    if (Process* process = process_of(*task, "beat"); process != nullptr) {
      const ClaimProof proof = proof_of(task->assignment);
      process->submit(std::make_shared<Request>(
          *process, Answer::What::heartbeat,
          proof_params(task->assignment, task->assignment.token.str(), nullptr),
          [proof](Turn& turn) -> Result<std::string> {
            HOLDFAST_TRY(const TimeMs until, holdfast::heartbeat(turn, proof));
            return R"({"lease_until":)" + std::to_string(until.value) + "}";
          },
          [this, task](const Reply& reply) {
            task->lost = !reply.ok() && !reply.in_doubt();
            if (task->lost && task->answer.never) {
              finish(task);
            }
          }));
    }
    heartbeat(task);
  });
}

void Workers::report(const TaskPtr& task, Behaviour behaviour) {
  if (task->finished) {
    return;  // its worker died with the process
  }
  const HandlerAnswer& answer = task->answer;
  executed(task, Execution::reports);
  HandlerAnswer second = answer;
  // With an observer, only declared results are possible.
  if (behaviour == Behaviour::contradicts && simulation_.observer() == nullptr) {
    Completion other;
    other.result = Payload::trusted(R"({"n":99})");
    second.outcome = other;
  }
  const auto own = [this, task, answer, second, behaviour] {
    report_once(task, answer, task->assignment.token.str(), [=, this](const Reply& reply) {
      if (simulation_.observer() != nullptr) {
        simulation_.observer()->reported(task->assignment, reply);
      }
      if (reply.code == "expired_claim" && !task->remote && lease_can_be_renewed() &&
          (behaviour == Behaviour::good || behaviour == Behaviour::stalls)) {
        simulation_.report_violation("the lease of " + task->assignment.runnable_key.str() +
                                     " expired although its process could have renewed it");
      }
      const bool again = behaviour == Behaviour::repeats || behaviour == Behaviour::contradicts ||
                         (reply.in_doubt() && task->remote);
      if (again && !task->finished) {
        report_once(task, second, task->assignment.token.str(),
                    [this, task](const Reply&) { finish(task); });
        return;
      }
      finish(task);
    });
  };
  if (behaviour == Behaviour::forges) {
    report_once(task, answer, "forged", [own](const Reply&) { own(); });
    return;
  }
  own();
}

void Workers::report_once(const TaskPtr& task, const HandlerAnswer& answer,
                          const std::string& token, const std::function<void(const Reply&)>& done) {
  Process* process = process_of(*task, "report");
  if (process == nullptr) {
    finish(task);
    return;
  }
  process->core().drop(task->assignment.claim_id);
  ClaimProof proof = proof_of(task->assignment);
  proof.token_hash = sha256(token);
  const bool failed = std::holds_alternative<Failure>(answer.outcome);
  process->submit(std::make_shared<Request>(
      *process, failed ? Answer::What::fail : Answer::What::complete,
      proof_params(task->assignment, token, &answer),
      [proof, answer](Turn& turn) -> Result<std::string> {
        HOLDFAST_CHECK(report_outcome(turn, proof, answer.outcome));
        return std::string("{}");
      },
      done));
}

void Workers::finish(const TaskPtr& task) {
  if (std::exchange(task->finished, true)) {
    return;
  }
  tasks_.erase(task->assignment.claim_id.str());
  Process& process = *simulation_.processes()[task->process - 1];
  if (process.up() && process.incarnation() == task->incarnation) {
    request_claim(process);
  }
}

}  // namespace holdfast::sim
