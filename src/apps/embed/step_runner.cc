#include "apps/embed/step_runner.h"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace holdfast {

// Receives a claim. Shared with the callbacks, so that it outlives a caller that gave up.
struct StepRunner::Slot {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Result<Assignment>> given;
  bool withdrawn = false;
  Loop::Waiter withdrawal;  // was answered
  std::stop_source stop;

  void give(Result<Assignment> assignment) {
    const std::scoped_lock lock(mutex);
    given.emplace(std::move(assignment));
    changed.notify_all();
  }
  void withdraw(std::size_t count) {
    {
      const std::scoped_lock lock(mutex);
      withdrawn = withdrawn || count > 0;
      changed.notify_all();
    }
    withdrawal.wake();
  }
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, time, [this] { return given.has_value(); });
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return given.has_value() || withdrawn; });
  }
};

ClaimRequestPtr StepRunner::claim_request(const std::shared_ptr<Slot>& slot) const {
  auto request = std::make_shared<ClaimRequest>();
  request->skills = skills_.skills;
  request->applicants.push_back(loop_.new_applicant(*skills_.skills));
  request->assigned = [slot](std::vector<Result<Assignment>> results) {
    slot->give(std::move(results.front()));
  };
  request->lost = [slot](const SharedText&, const Error&) { slot->stop.request_stop(); };
  return request;
}

Result<std::optional<ClaimedStep>> StepRunner::next(const std::optional<StepReport>& report,
                                                    std::chrono::milliseconds wait_up_to) {
  const auto slot = std::make_shared<Slot>();
  const ClaimRequestPtr request = claim_request(slot);
  Loop::Waiter waiter;
  Result<Done> submitted = Done{};
  std::vector<LoopRequest> requests;
  if (report.has_value()) {
    requests.emplace_back(DropClaim{report->proof.claim_id});
    requests.emplace_back(std::make_shared<FunctionCommand<Done>>(
        [report = *report](Turn& turn) {
          return report_outcome(turn, report.proof, *report.outcome);
        },
        [](const Result<Done>&) {}, Patience::unbounded));
  }
  // The command after the claim request is settled when the loop has tried to claim a step.
  requests.emplace_back(CheckForChanges{});
  requests.emplace_back(request);
  requests.emplace_back(
      std::make_shared<FunctionCommand<Done>>([](Turn&) -> Result<Done> { return Done{}; },
                                              [&](Result<Done> result) {
                                                submitted = std::move(result);
                                                waiter.wake();
                                              }));
  loop_.enqueue(std::move(requests));
  loop_.drive_until(waiter);
  if (!submitted.ok()) {
    return std::move(submitted).error();
  }
  if (!slot->wait_for(wait_up_to)) {
    loop_.enqueue(WithdrawClaim{request, [slot](std::size_t count) { slot->withdraw(count); }});
    loop_.drive_until(slot->withdrawal);
    slot->wait();
    if (!slot->given.has_value()) {
      return std::optional<ClaimedStep>();
    }
  }
  if (!slot->given->ok()) {
    return slot->given->error();
  }
  return std::optional(ClaimedStep{slot->given->value(), slot->stop});
}

StepReport StepRunner::execute(const ClaimedStep& step) const {
  return StepReport{proof_of(step.assignment),
                    std::make_shared<const AttemptOutcome>(
                        call_handler(*skills_.handlers, step.assignment, step.stop.get_token()))};
}

Result<ReportedStep> StepRunner::store(const StepReport& report) {
  Loop::Waiter waiter;
  Result<ReportedStep> stored = ReportedStep{};
  std::vector<LoopRequest> requests{DropClaim{report.proof.claim_id}};
  requests.emplace_back(std::make_shared<FunctionCommand<ReportedStep>>(
      [report](Turn& turn) -> Result<ReportedStep> {
        HOLDFAST_CHECK(report_outcome(turn, report.proof, *report.outcome));
        HOLDFAST_TRY(const RunProjection* run, turn.state().runs().get(report.proof.run_id));
        return ReportedStep{true, std::string(to_text(run->status()))};
      },
      [&](Result<ReportedStep> result) {
        stored = std::move(result);
        waiter.wake();
      },
      Patience::unbounded));
  loop_.enqueue(std::move(requests));
  loop_.drive_until(waiter);
  if (stored.ok() || stored.error().code() == ErrorCode::engine_stopped) {
    return stored;
  }
  // The claim was lost: another worker holds it, or the run has ended.
  return loop_.execute<ReportedStep>(
      [id = report.proof.run_id](Turn& turn) -> Result<ReportedStep> {
        HOLDFAST_TRY(const RunProjection* run, turn.state().runs().get(id));
        return ReportedStep{false, std::string(to_text(run->status()))};
      });
}

namespace {

class Drain {
 public:
  Drain(Loop& loop, const WorkerSkills& skills, const DrainPlan& plan)
      : loop_(loop), skills_(skills), plan_(plan) {}

  Result<std::uint64_t> run() {
    ThreadGroup others;
    HOLDFAST_CHECK(others.start(plan_.threads - 1, [this] { work(); }));
    work();
    others.join();
    return failure_.has_value() ? Result<std::uint64_t>(*failure_) : Result<std::uint64_t>(steps_);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  void work() {
    StepRunner runner(loop_, skills_);
    std::optional<StepReport> report;
    Lock lock(mutex_);
    while (!done_) {
      const bool out_of_budget = plan_.max_steps > 0 && steps_ >= plan_.max_steps;
      if (out_of_budget) {
        store(runner, report, lock);
        end_when_idle();
        // A thread that finds no step gives its share of the budget back.
        changed_.wait(lock, [this] { return done_ || steps_ < plan_.max_steps; });
      } else {
        step(runner, report, lock);
      }
    }
    store(runner, report, lock);
  }

  // Stores the report, claims the next step and executes it; waits when there is none.
  void step(StepRunner& runner, std::optional<StepReport>& report, Lock& lock) {
    const std::uint64_t known = stored_ + (report.has_value() ? 1 : 0);
    ++busy_;
    ++steps_;
    lock.unlock();
    const bool reported = report.has_value();
    auto claimed = runner.next(std::exchange(report, std::nullopt), plan_.idle_for);
    lock.lock();
    stored_ += reported ? 1 : 0;
    changed_.notify_all();
    const bool found = claimed.ok() && claimed.value().has_value();
    if (found) {
      lock.unlock();
      report = runner.execute(*claimed.value());
      lock.lock();
    } else {
      --steps_;
    }
    --busy_;
    if (!claimed.ok()) {
      fail(claimed.error());
    } else if (!found && stored_ == known) {
      end_when_idle();
      // Other threads execute steps that may lead to more.
      changed_.wait(lock, [this, known] { return done_ || stored_ != known; });
    }
  }

  void store(StepRunner& runner, std::optional<StepReport>& report, Lock& lock) {
    if (!report.has_value()) {
      return;
    }
    ++busy_;
    lock.unlock();
    const auto stored = runner.store(*std::exchange(report, std::nullopt));
    lock.lock();
    --busy_;
    ++stored_;
    changed_.notify_all();
    if (!stored.ok()) {
      fail(stored.error());
    }
  }

  void end_when_idle() {
    if (busy_ == 0) {
      done_ = true;
      changed_.notify_all();
    }
  }

  void fail(const Error& error) {
    if (!failure_.has_value()) {
      failure_ = error;
    }
    done_ = true;
    changed_.notify_all();
  }

  Loop& loop_;
  WorkerSkills skills_;
  DrainPlan plan_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t busy_ = 0;      // threads that claim, execute or report
  std::uint64_t stored_ = 0;  // stored reports
  std::uint64_t steps_ = 0;   // executed, or being claimed
  bool done_ = false;
  std::optional<Error> failure_;
};

}  // namespace

Result<std::uint64_t> drain_steps(Loop& loop, const WorkerSkills& skills, const DrainPlan& plan) {
  return Drain(loop, skills, plan).run();
}

}  // namespace holdfast
