#include "runs/engine/worker_pool.h"

#include <algorithm>

#include "base/json_writer.h"

namespace holdfast {

namespace {

// How much a new measurement counts.
constexpr double kWeight = 0.1;

void measure(double& average, std::chrono::steady_clock::duration taken) {
  const double us = std::chrono::duration<double, std::micro>(taken).count();
  average += kWeight * (us - average);
}

// Another attempt would end the same way.
bool is_fault_of_result(ErrorCode code) {
  return code == ErrorCode::too_large || code == ErrorCode::invalid_argument ||
         code == ErrorCode::missing_fields || code == ErrorCode::invalid_transition ||
         code == ErrorCode::unsafe_continuation || code == ErrorCode::conflicting_continuation;
}

Failure result_failure(const Error& error) {
  Failure failure;
  failure.retryable = false;
  JsonWriter json;
  json.begin_object()
      .member("code", error_info(error.code()).name)
      .member("message", "the result cannot become part of the run: " + error.text())
      .member("retryable", false)
      .end_object();
  failure.error = std::move(json).take_text();
  return failure;
}

}  // namespace

AttemptOutcome call_handler(const HandlerTable& handlers, const Assignment& assignment,
                            const std::stop_token& stop) {
  const auto handler = handlers.find(assignment.handler);
  HOLDFAST_ASSERT(handler != handlers.end());
  try {
    return handler->second(assignment, stop);
  } catch (...) {
    return failure_of_exception();
  }
}

namespace {

Result<Done> report(Turn& turn, const ClaimProof& proof, const Failure& failure) {
  HOLDFAST_CHECK(fail_attempt(turn, proof, failure));
  return Done{};
}

// A result that breaks a rule is the failure of its step.
Result<Done> report(Turn& turn, const ClaimProof& proof, const Completion& completion) {
  const Turn::Mark mark = turn.mark();
  const Result<void> completed = complete_attempt(turn, proof, completion);
  if (completed.ok()) {
    return Done{};
  }
  if (!is_fault_of_result(completed.error().code())) {
    return completed.error();
  }
  turn.roll_back_to(mark);
  return report(turn, proof, result_failure(completed.error()));
}

}  // namespace

Result<Done> report_outcome(Turn& turn, const ClaimProof& proof, const AttemptOutcome& outcome) {
  return std::visit([&](const auto& ended) { return report(turn, proof, ended); }, outcome);
}

std::shared_ptr<WorkerPool> WorkerPool::create(Loop& loop,
                                               std::shared_ptr<const HandlerTable> handlers,
                                               ServedQueues queues, const PoolOptions& options) {
  return std::shared_ptr<WorkerPool>(
      new WorkerPool(loop, std::move(handlers), std::move(queues), options));
}

WorkerPool::WorkerPool(Loop& loop, std::shared_ptr<const HandlerTable> handlers,
                       ServedQueues queues, const PoolOptions& options)
    : loop_(loop), handlers_(std::move(handlers)), options_(options) {
  Skills skills{std::move(queues), {}};
  for (const auto& [name, handler] : *handlers_) {
    skills.handlers.push_back(name);
  }
  skills_ = std::make_shared<const Skills>(std::move(skills));
}

Result<void> WorkerPool::run(const std::stop_token& stop, const std::function<void()>& ready) {
  // Before anything is claimed: without its threads the pool does nothing.
  ThreadGroup others;
  HOLDFAST_CHECK(others.start(options_.threads - 1, [this] { work(); }));
  if (ready != nullptr) {
    ready();
  }
  std::vector<LoopRequest> requests;
  {
    const Lock lock(mutex_);
    request_claims(requests);
  }
  loop_.enqueue(std::move(requests));
  const std::stop_callback when_stopped(stop, [this] { request_stop(); });
  work();
  others.join();
  // The last results are durable when this is answered.
  const auto reported = loop_.execute<Done>([](Turn&) { return Done{}; }, Patience::unbounded);
  const Lock lock(mutex_);
  if (failure_.has_value()) {
    return *failure_;
  }
  return reported.ok() ? Result<void>() : Result<void>(reported.error());
}

bool WorkerPool::finished() const { return stopping_ && requested_ == 0 && ready_.empty(); }

void WorkerPool::work() {
  Lock lock(mutex_);
  while (!finished()) {
    if (ready_.empty()) {
      wait_for_task(lock);
      continue;
    }
    Task task = std::move(ready_.front());
    ready_.pop_front();
    execute(lock, std::move(task));
  }
  // Others may be waiting for tasks that will not come.
  wake_all();
}

// A thread without an attempt to execute drives the loop.
void WorkerPool::wait_for_task(Lock& lock) {
  Loop::Waiter waiter;
  idle_.push_back(&waiter);
  // Attempts that were lost before they ran are replaced.
  std::vector<LoopRequest> requests;
  request_claims(requests);
  // A request may have been on its way to the loop when the others were withdrawn.
  if (stopping_) {
    withdraw_requests(requests);
  }
  lock.unlock();
  loop_.enqueue(std::move(requests));
  loop_.drive_until(waiter);
  lock.lock();
  std::erase(idle_, &waiter);
}

void WorkerPool::execute(Lock& lock, Task task) {
  const SharedText claim_id = task.assignment.claim_id;
  running_.emplace(claim_id, task.stop);
  lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  auto outcome = std::make_shared<AttemptOutcome>(
      call_handler(*handlers_, task.assignment, task.stop.get_token()));
  const auto taken = std::chrono::steady_clock::now() - begin;
  lock.lock();
  running_.erase(claim_id);
  measure(handler_us_, taken);
  std::vector<LoopRequest> requests;
  // A refusal means that the claim is not ours any more: the result does not count.
  requests.emplace_back(DropClaim{claim_id});
  requests.emplace_back(std::make_shared<FunctionCommand<Done>>(
      [proof = proof_of(task.assignment), outcome](Turn& turn) {
        return report_outcome(turn, proof, *outcome);
      },
      [](const Result<Done>&) {}, Patience::unbounded));
  request_claims(requests);
  const bool more = !ready_.empty();
  lock.unlock();
  if (more) {
    loop_.submit(std::move(requests));
  } else {
    loop_.enqueue(std::move(requests));
  }
  lock.lock();
  // Something came meanwhile: this thread executes it before it could drive the loop.
  if (!more && !ready_.empty()) {
    lock.unlock();
    loop_.submit(std::vector<LoopRequest>());
    lock.lock();
  }
}

std::size_t WorkerPool::target() const {
  const double ahead = std::clamp(commit_us_ / std::max(handler_us_, 0.1), 0.0, 1e6);
  const auto wanted = options_.threads * (1 + static_cast<std::size_t>(ahead));
  return std::clamp(wanted, options_.threads, std::max(options_.max_claimed, options_.threads));
}

void WorkerPool::request_claims(std::vector<LoopRequest>& requests) {
  const std::size_t wanted = stopping_ ? 0 : target();
  const std::size_t known = requested_ + ready_.size() + running_.size();
  if (known >= wanted) {
    return;
  }
  auto request = std::make_shared<ClaimRequest>();
  request->skills = skills_;
  request->completes = ClaimRequest::Completes::with_all;
  request->applicants.reserve(wanted - known);
  for (std::size_t i = known; i < wanted; ++i) {
    request->applicants.push_back(loop_.new_applicant(*skills_));
  }
  request->assigned =
      [self = shared_from_this(), raw = std::weak_ptr(request),
       submitted = std::chrono::steady_clock::now()](std::vector<Result<Assignment>> results) {
        self->assigned(raw.lock(), std::move(results), submitted);
      };
  request->lost = [self = shared_from_this()](const SharedText& claim_id, const Error& why) {
    self->lost(claim_id, why);
  };
  requests_.emplace(request, wanted - known);
  requested_ += wanted - known;
  requests.emplace_back(std::move(request));
}

void WorkerPool::settle(const ClaimRequestPtr& request, std::size_t count) {
  const auto known = requests_.find(request);
  HOLDFAST_ASSERT(known != requests_.end() && known->second >= count && requested_ >= count);
  requested_ -= count;
  known->second -= count;
  if (known->second == 0) {
    requests_.erase(known);
  }
}

void WorkerPool::assigned(const ClaimRequestPtr& request, std::vector<Result<Assignment>> results,
                          Instant submitted) {
  Lock lock(mutex_);
  settle(request, results.size());
  // A request that waited for work to appear says nothing about commits.
  const auto waited = std::chrono::steady_clock::now() - submitted;
  if (waited < std::chrono::milliseconds(50)) {
    measure(commit_us_, waited);
  }
  bool failed = false;
  for (Result<Assignment>& result : results) {
    if (result.ok()) {
      ready_.push_back(Task{std::move(result).value(), std::stop_source()});
      wake_one();
      continue;
    }
    failed = true;
    if (result.error().code() == ErrorCode::engine_stopped) {
      failure_ = result.error();
      stopping_ = true;
      wake_all();
    }
  }
  // Claims whose input could not be read are left to their leases; others are requested.
  std::vector<LoopRequest> requests;
  if (failed) {
    request_claims(requests);
  }
  lock.unlock();
  if (!requests.empty()) {
    loop_.submit(std::move(requests));
  }
}

void WorkerPool::lost(const SharedText& claim_id, const Error& why) {
  const Lock lock(mutex_);
  const auto running = running_.find(claim_id);
  if (running != running_.end()) {
    running->second.request_stop();
    return;
  }
  // The run is compensating and needs the outcome of this attempt.
  if (why.code() == ErrorCode::invalid_transition) {
    return;
  }
  std::erase_if(ready_, [&](const Task& task) { return task.assignment.claim_id == claim_id; });
  wake_all();
}

void WorkerPool::request_stop() {
  std::vector<LoopRequest> requests;
  {
    const Lock lock(mutex_);
    stopping_ = true;
    withdraw_requests(requests);
  }
  loop_.submit(std::move(requests));
}

void WorkerPool::withdraw_requests(std::vector<LoopRequest>& requests) {
  for (const auto& [request, open] : requests_) {
    requests.emplace_back(WithdrawClaim{
        request, [self = shared_from_this(), raw = std::weak_ptr(request)](std::size_t count) {
          self->withdrawn(raw.lock(), count);
        }});
  }
}

void WorkerPool::withdrawn(const ClaimRequestPtr& request, std::size_t count) {
  const Lock lock(mutex_);
  if (count > 0) {
    settle(request, count);
  }
  wake_all();
}

void WorkerPool::wake_one() {
  if (!idle_.empty()) {
    idle_.front()->wake();
    idle_.pop_front();
  }
}

void WorkerPool::wake_all() {
  while (!idle_.empty()) {
    wake_one();
  }
}

}  // namespace holdfast
