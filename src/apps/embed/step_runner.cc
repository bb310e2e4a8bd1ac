#include "apps/embed/step_runner.h"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace holdfast {

// Where a claim arrives. Held by the callbacks too, so that it outlives whoever gave up.
struct StepRunner::Slot {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Result<Assignment>> given;
  std::stop_source stop;

  void give(Result<Assignment> assignment) {
    const std::scoped_lock lock(mutex);
    given.emplace(std::move(assignment));
    changed.notify_all();
  }
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, time, [this] { return given.has_value(); });
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return given.has_value(); });
  }
};

ClaimRequestPtr StepRunner::wish(const std::shared_ptr<Slot>& slot) const {
  auto worker = std::make_shared<ClaimRequest>();
  worker->skills = hands_.skills;
  worker->applicant = loop_.new_applicant(*hands_.skills);
  worker->assigned = [slot](Result<Assignment> given) { slot->give(std::move(given)); };
  worker->lost = [slot](const SharedText&, const Error&) { slot->stop.request_stop(); };
  return worker;
}

bool StepRunner::take_back(const ClaimRequestPtr& worker) {
  Loop::Waiter waiter;
  bool taken = false;
  loop_.enqueue({.other = [&](Core& core) {
    taken = core.withdraw_request(worker);
    waiter.wake();
  }});
  loop_.drive_until(waiter);
  return taken;
}

Result<std::optional<ClaimedStep>> StepRunner::next(const std::optional<StepReport>& report,
                                                    std::chrono::milliseconds wait_up_to) {
  const auto slot = std::make_shared<Slot>();
  const ClaimRequestPtr worker = wish(slot);
  Loop::Waiter waiter;
  Result<Done> asked = Done{};
  std::vector<Loop::Request> requests;
  if (report.has_value()) {
    requests.push_back({.command = std::make_shared<FunctionCommand<Done>>(
                            [report = *report](Turn& turn) {
                              return report_outcome(turn, report.proof, *report.outcome);
                            },
                            [](const Result<Done>&) {}, Patience::unbounded),
                        .other = [id = report->proof.claim_id](Core& core) { core.drop(id); }});
  }
  // The question after the wish is answered when the loop has looked for a step.
  requests.push_back({.claim = worker, .other = [](Core& core) { core.check_for_changes(); }});
  requests.push_back({.command = std::make_shared<FunctionCommand<Done>>(
                          [](Turn&) -> Result<Done> { return Done{}; },
                          [&](Result<Done> answer) {
                            asked = std::move(answer);
                            waiter.wake();
                          })});
  loop_.enqueue(std::move(requests));
  loop_.drive_until(waiter);
  if (!asked.ok()) {
    return std::move(asked).error();
  }
  if (!slot->wait_for(wait_up_to)) {
    if (take_back(worker)) {
      return std::optional<ClaimedStep>();
    }
    slot->wait();
  }
  if (!slot->given->ok()) {
    return slot->given->error();
  }
  return std::optional(ClaimedStep{slot->given->value(), slot->stop});
}

StepReport StepRunner::execute(const ClaimedStep& step) const {
  return StepReport{proof_of(step.assignment),
                    std::make_shared<const AttemptOutcome>(
                        call_handler(*hands_.handlers, step.assignment, step.stop.get_token()))};
}

Result<ReportedStep> StepRunner::store(const StepReport& report) {
  Loop::Waiter waiter;
  Result<ReportedStep> stored = ReportedStep{};
  loop_.enqueue({.command = std::make_shared<FunctionCommand<ReportedStep>>(
                     [report](Turn& turn) -> Result<ReportedStep> {
                       HOLDFAST_CHECK(report_outcome(turn, report.proof, *report.outcome));
                       HOLDFAST_TRY(const RunProjection* run,
                                    turn.state().runs().get(report.proof.run_id));
                       return ReportedStep{true, std::string(to_text(run->status()))};
                     },
                     [&](Result<ReportedStep> answer) {
                       stored = std::move(answer);
                       waiter.wake();
                     },
                     Patience::unbounded),
                 .other = [id = report.proof.claim_id](Core& core) { core.drop(id); }});
  loop_.drive_until(waiter);
  if (stored.ok() || stored.error().code() == ErrorCode::engine_stopped) {
    return stored;
  }
  // The claim was lost: somebody else has it, or the run has ended.
  return loop_.execute<ReportedStep>(
      [id = report.proof.run_id](Turn& turn) -> Result<ReportedStep> {
        HOLDFAST_TRY(const RunProjection* run, turn.state().runs().get(id));
        return ReportedStep{false, std::string(to_text(run->status()))};
      });
}

namespace {

class Drain {
 public:
  Drain(Loop& loop, const Hands& hands, const DrainPlan& plan)
      : loop_(loop), hands_(hands), plan_(plan) {}

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
    StepRunner runner(loop_, hands_);
    std::optional<StepReport> report;
    Lock lock(mutex_);
    while (!done_) {
      const bool out_of_budget = plan_.max_steps > 0 && steps_ >= plan_.max_steps;
      if (out_of_budget) {
        store(runner, report, lock);
        end_when_idle();
        // Somebody who finds nothing gives his part back.
        changed_.wait(lock, [this] { return done_ || steps_ < plan_.max_steps; });
      } else {
        step(runner, report, lock);
      }
    }
    store(runner, report, lock);
  }

  // Stores the report, claims the next step and executes it; waits when there is none.
  void step(StepRunner& runner, std::optional<StepReport>& report, Lock& lock) {
    const std::uint64_t known = news_ + (report.has_value() ? 1 : 0);
    ++busy_;
    ++steps_;
    lock.unlock();
    const bool reported = report.has_value();
    auto claimed = runner.next(std::exchange(report, std::nullopt), plan_.idle_for);
    lock.lock();
    news_ += reported ? 1 : 0;
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
    } else if (!found && news_ == known) {
      end_when_idle();
      // Others are at steps that may bring more.
      changed_.wait(lock, [this, known] { return done_ || news_ != known; });
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
    ++news_;
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
  Hands hands_;
  DrainPlan plan_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t busy_ = 0;     // threads that claim, execute or report
  std::uint64_t news_ = 0;   // reports that are stored
  std::uint64_t steps_ = 0;  // executed, or being looked for
  bool done_ = false;
  std::optional<Error> failure_;
};

}  // namespace

Result<std::uint64_t> drain_steps(Loop& loop, const Hands& hands, const DrainPlan& plan) {
  return Drain(loop, hands, plan).run();
}

}  // namespace holdfast
