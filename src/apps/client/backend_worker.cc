#include "apps/client/backend_worker.h"

#include <algorithm>

#include "base/encoding.h"
#include "base/threads.h"
#include "runs/lease_backends/lease_messages.h"
#include "runs/steps/step_outcome.h"

namespace holdfast::client {

namespace {

using std::chrono::milliseconds;
using Verdict = LeaseAnswer::Verdict;

constexpr std::size_t kClaimIdBytes = 16;
constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kNameBytes = 6;
// How long a stop may take while the worker waits for items.
constexpr milliseconds kClaimWait{500};
constexpr milliseconds kAnswerWait{250};
// An item that this worker has no handler for: another worker may have one.
constexpr std::int64_t kOtherWorkerMs = 1000;
constexpr milliseconds kShortestInterval{50};
constexpr milliseconds kNoPause{1};

std::string message_of(const Report& report) {
  return report.code.empty() ? report.message : report.code + ": " + report.message;
}

StepResult::Kind kind_of_report(const Report& report) {
  switch (report.outcome) {
    case ReportedOutcome::ok:
    case ReportedOutcome::defer:
    case ReportedOutcome::continue_as_new:
      break;
    case ReportedOutcome::retry:
      return StepResult::Kind::retry;
    case ReportedOutcome::fail:
      return StepResult::Kind::fail;
  }
  return StepResult::Kind::ok;
}

}  // namespace

BackendWorker::BackendWorker(OpenLeaseBackend open, std::shared_ptr<const AttemptHandlers> handlers,
                             BackendWorkPlan plan)
    : open_(std::move(open)), handlers_(std::move(handlers)), plan_(std::move(plan)) {
  plan_.name += "-" + random_text(kNameBytes);
}

std::string BackendWorker::random_text(std::size_t bytes) {
  std::vector<std::byte> buffer(bytes);
  random_.fill(buffer);
  return to_base64url(buffer);
}

Result<void> BackendWorker::run(const std::stop_token& stop) {
  if (plan_.queues.empty()) {
    return Error{ErrorCode::invalid_argument, "a worker of a backend needs a queue: --queue NAME"}
        .with("field", "queue");
  }
  const std::stop_callback when_stopped(stop, [this] {
    const Lock lock(mutex_);
    stopping_ = true;
    stopped_at_ = SteadyClock::now();
    changed_.notify_all();
  });
  ThreadGroup heartbeats;
  HOLDFAST_CHECK(heartbeats.start([this] { keep_alive(); }));
  ThreadGroup others;
  const Result<void> started = others.start(plan_.threads - 1, [this] { work(); });
  if (started.ok()) {
    work();
  }
  others.join();
  {
    const Lock lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }
  heartbeats.join();
  return started;
}

bool BackendWorker::pause(milliseconds time) {
  Lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return stopping_; });
  return !stopping_;
}

void BackendWorker::notify(const WorkEvent& event) {
  if (plan_.observe == nullptr) {
    return;
  }
  try {
    plan_.observe(event);
  } catch (...) {
    // An exception of the observer does not affect the work.
  }
}

// nullptr: the backend can be reached.
void BackendWorker::set_reachable(const Error* why) {
  {
    const Lock lock(mutex_);
    if (std::exchange(reachable_, why == nullptr) == (why == nullptr)) {
      return;
    }
  }
  WorkEvent event;
  event.kind = why == nullptr ? WorkEvent::Kind::reachable : WorkEvent::Kind::unreachable;
  event.message = why == nullptr ? "" : why->text();
  notify(event);
}

void BackendWorker::work() {
  RetryPause backoff(random_);
  std::unique_ptr<LeaseBackend> backend;
  const milliseconds wait = kClaimWait / static_cast<int>(plan_.queues.size());
  while (pause(milliseconds(0))) {
    Result<void> worked;
    if (backend == nullptr) {
      auto opened = open_();
      worked = opened.ok() ? Result<void>() : Result<void>(opened.error());
      backend = opened.ok() ? std::move(opened).value() : nullptr;
    }
    for (const std::string& queue : plan_.queues) {
      if (worked.ok()) {
        const auto claimed = claim_once(*backend, queue, wait);
        worked = claimed.ok() ? Result<void>() : Result<void>(claimed.error());
      }
    }
    set_reachable(worked.ok() ? nullptr : &worked.error());
    if (worked.ok()) {
      backoff.reset();
      continue;
    }
    pause(std::max(backoff.next(), kNoPause));
  }
}

Result<bool> BackendWorker::claim_once(LeaseBackend& backend, const std::string& queue,
                                       milliseconds wait) {
  const std::string claim_id = random_text(kClaimIdBytes);
  const std::string token = random_text(kTokenBytes);
  HOLDFAST_TRY(const auto delivery, backend.claim(queue, plan_.name, claim_id, token, wait));
  if (!delivery.has_value()) {
    return false;
  }
  const LeaseClaim claim{delivery->item.id, delivery->receipt, plan_.name, claim_id, token};
  HOLDFAST_TRY(const auto answer, await_grant(backend, queue, claim));
  const auto offered = from_json<OfferedAttempt>(delivery->item.payload);
  const bool known = offered.ok() && handlers_->contains(offered.value().handler);
  if (!answer.has_value() || (answer->verdict == Verdict::granted && !known)) {
    HOLDFAST_CHECK(backend.end(queue, claim, SignalKind::yield, "", known ? 0 : kOtherWorkerMs));
    return false;
  }
  if (answer->verdict != Verdict::granted) {
    return false;
  }
  const auto held = std::make_shared<Held>();
  held->queue = queue;
  held->claim = claim;
  held->attempt = claimed_attempt(offered.value(), claim, *answer);
  const milliseconds lease(static_cast<std::int64_t>(answer->lease_ms));
  held->interval = std::max(lease / 3, kShortestInterval);
  hold(held);
  execute(held);
  return true;
}

// Empty: there was no answer in time, or the worker is stopped.
Result<std::optional<LeaseAnswer>> BackendWorker::await_grant(LeaseBackend& backend,
                                                              const std::string& queue,
                                                              const LeaseClaim& claim) {
  const auto end = SteadyClock::now() + plan_.grant_patience;
  for (;;) {
    HOLDFAST_TRY(auto answer, backend.await_answer(queue, claim, kAnswerWait));
    if (answer.has_value() || SteadyClock::now() >= end || !pause(milliseconds(0))) {
      return answer;
    }
  }
}

void BackendWorker::hold(const HeldPtr& held) {
  const Lock lock(mutex_);
  held->next_heartbeat = SteadyClock::now() + held->interval;
  held_.emplace(held->claim.claim_id, held);
  changed_.notify_all();
}

void BackendWorker::release(const HeldPtr& held) {
  const Lock lock(mutex_);
  held_.erase(held->claim.claim_id);
}

AttemptOutcome BackendWorker::call(const HeldPtr& held) {
  const AttemptCall call{
      held->attempt, held->stop.get_token(),
      [this, &held](const std::string& json) {
        const Lock lock(mutex_);
        held->progress = json;
      },
      [](std::string_view, std::string_view, std::string_view,
         const ChildOptions&) -> Result<StartedRun> {
        return Error{ErrorCode::invalid_argument,
                     "a worker of a backend cannot start child runs; use a child step, or a worker "
                     "of a server"};
      }};
  return call_handler(handlers_->find(held->attempt.handler)->second, call);
}

void BackendWorker::execute(const HeldPtr& held) {
  const auto begin = SteadyClock::now();
  const Report report = report_of(held->attempt, call(held));
  WorkEvent event;
  event.taken = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - begin);
  event.step = info_of(held->attempt);
  event.result = kind_of_report(report);
  event.message = message_of(report);
  bool lost = false;
  {
    const Lock lock(mutex_);
    lost = held->lost;
  }
  if (lost || !deliver(held, report)) {
    event.kind = WorkEvent::Kind::step_lost;
  }
  release(held);
  notify(event);
}

bool BackendWorker::deliver(const HeldPtr& held, const Report& report) {
  RetryPause backoff(random_);
  for (;;) {
    auto opened = open_();
    const Result<void> sent = opened.ok() ? opened.value()->end(held->queue, held->claim,
                                                                end_of(report), body_of(report), 0)
                                          : Result<void>(opened.error());
    set_reachable(sent.ok() ? nullptr : &sent.error());
    if (sent.ok()) {
      return true;
    }
    Lock lock(mutex_);
    const bool out_of_patience = stopping_ && SteadyClock::now() - stopped_at_ > plan_.patience;
    if (held->lost || out_of_patience) {
      return false;
    }
    changed_.wait_for(lock, std::max(backoff.next(), kNoPause));
  }
}

void BackendWorker::keep_alive() {
  std::unique_ptr<LeaseBackend> backend;
  Lock lock(mutex_);
  while (!finished_) {
    HeldPtr due;
    for (const auto& [claim_id, held] : held_) {
      if (due == nullptr || held->next_heartbeat < due->next_heartbeat) {
        due = held;
      }
    }
    if (due == nullptr || due->next_heartbeat > SteadyClock::now()) {
      const auto until =
          due == nullptr ? SteadyClock::now() + std::chrono::seconds(60) : due->next_heartbeat;
      changed_.wait_until(lock, until);
      continue;
    }
    due->next_heartbeat = SteadyClock::now() + due->interval;
    lock.unlock();
    const Result<void> sent = send_heartbeat(backend, due);
    if (!sent.ok()) {
      backend.reset();
      set_reachable(&sent.error());
    }
    lock.lock();
  }
}

Result<void> BackendWorker::send_heartbeat(std::unique_ptr<LeaseBackend>& backend,
                                           const HeldPtr& held) {
  if (backend == nullptr) {
    HOLDFAST_TRY(backend, open_());
  }
  std::string progress;
  {
    const Lock lock(mutex_);
    progress = held->progress;
  }
  HOLDFAST_TRY(const auto answer, backend->heartbeat(held->queue, held->claim, progress));
  if (answer.has_value() && answer->verdict != Verdict::granted) {
    {
      const Lock lock(mutex_);
      held->lost = answer->verdict != Verdict::stop;
    }
    held->stop.request_stop();
  }
  return {};
}

}  // namespace holdfast::client
