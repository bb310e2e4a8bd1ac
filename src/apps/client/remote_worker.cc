#include "apps/client/remote_worker.h"

#include <algorithm>

#include "apps/client/client_views.h"
#include "apps/client/operation_call.h"
#include "base/json_value.h"
#include "base/threads.h"
#include "runs/steps/step_outcome.h"

namespace holdfast::client {

namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr double kWeight = 0.1;  // of a new measurement

void measure(double& average, SteadyClock::duration taken) {
  average += kWeight * (std::chrono::duration<double, std::micro>(taken).count() - average);
}

std::vector<SharedText> names_of(const AttemptHandlers& handlers) {
  std::vector<SharedText> names;
  for (const auto& [name, handler] : handlers) {
    names.push_back(name);
  }
  return names;
}

std::string message_of(const AttemptOutcome& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  if (failure == nullptr) {
    return "";
  }
  std::string message;
  JsonSlicer slicer(failure->error.view());
  while (const auto member = slicer.next()) {
    if (member->name == "code" || member->name == "message") {
      message += message.empty() ? "" : ": ";
      message += json_string_value(member->value).value_or("");
    }
  }
  return message;
}

}  // namespace

RemoteWorker::RemoteWorker(Api& api, const WorkerIdentity& worker,
                           std::shared_ptr<const AttemptHandlers> handlers, WorkPlan plan)
    : api_(api),
      handlers_(std::move(handlers)),
      plan_(std::move(plan)),
      worker_(worker),
      batch_limit_(plan_.max_claimed) {
  offer_.queues.assign(plan_.queues.begin(), plan_.queues.end());
  offer_.handlers = names_of(*handlers_);
}

Result<void> RemoteWorker::run(const std::stop_token& stop) {
  constexpr std::size_t kMostThreads = 10'000;
  if (plan_.threads > kMostThreads) {
    return Error{ErrorCode::invalid_argument, "a worker has at most 10000 threads"}.with("field",
                                                                                         "threads");
  }
  executors_ = plan_.threads;
  const std::stop_callback when_stopped(stop, [this] { request_stop(); });
  std::vector<std::function<void()>> bodies(plan_.threads - 1, [this] { execute_all(); });
  bodies.emplace_back([this] { claim_all(); });
  bodies.emplace_back([this] { report_all(); });
  bodies.emplace_back([this] { keep_alive(); });
  ThreadGroup threads;
  HOLDFAST_CHECK(threads.start(bodies));
  execute_all();
  threads.join();
  return failure_.has_value() ? Result<void>(*failure_) : Result<void>();
}

void RemoteWorker::request_stop() {
  {
    const Lock lock(mutex_);
    if (!stopping_) {
      stopping_ = true;
      stopped_at_ = SteadyClock::now();
    }
  }
  claiming_.request_stop();
  claimable_changed_.notify_all();
  ready_changed_.notify_all();
}

void RemoteWorker::fail(Lock& lock, const Error& error) {
  if (!failure_.has_value()) {
    failure_ = error;
  }
  stopping_ = true;
  // None of these can be reported any more.
  std::vector<HeldPtr> lost;
  for (const auto& [claim_id, held] : held_) {
    held->lost = true;
    lost.push_back(held);
  }
  held_.clear();
  ready_.clear();
  finished_.clear();
  lock.unlock();
  claiming_.request_stop();
  calling_.request_stop();
  for (const HeldPtr& held : lost) {
    held->stop.request_stop();
  }
  lock.lock();
  claimable_changed_.notify_all();
  ready_changed_.notify_all();
}

bool RemoteWorker::may_retry(Lock& lock, const Error& error, Instant since) {
  if (failure_.has_value()) {
    return false;
  }
  const bool out_of_patience =
      stopping_ && SteadyClock::now() - std::max(since, stopped_at_) > plan_.patience;
  if (!Api::may_return(error) || out_of_patience) {
    fail(lock, error);
    return false;
  }
  set_reachable(lock, false, error.text());
  return true;
}

void RemoteWorker::set_reachable(Lock& lock, bool reachable, const std::string& why) {
  if (std::exchange(reachable_, reachable) != reachable) {
    WorkEvent event;
    event.kind = reachable ? WorkEvent::Kind::reachable : WorkEvent::Kind::unreachable;
    event.message = why;
    notify(lock, event);
  }
}

void RemoteWorker::note_draining(Lock& lock, bool draining) {
  if (std::exchange(draining_, draining) != draining && draining) {
    WorkEvent event;
    event.kind = WorkEvent::Kind::draining;
    notify(lock, event);
  }
}

void RemoteWorker::notify(Lock& lock, const WorkEvent& event) {
  if (plan_.observe == nullptr) {
    return;
  }
  lock.unlock();
  try {
    plan_.observe(event);
  } catch (...) {
    // An exception of the observer does not affect the work.
  }
  lock.lock();
}

std::size_t RemoteWorker::target() const {
  const double ahead = std::clamp(round_trip_us_ / std::max(handler_us_, 0.1), 0.0, 1e6);
  const auto useful = plan_.threads * (1 + static_cast<std::size_t>(ahead));
  return std::clamp(useful, plan_.threads, std::max(plan_.max_claimed, plan_.threads));
}

std::size_t RemoteWorker::claimable() const {
  const std::size_t has = ready_.size() + running_ + requested_;
  const std::size_t most = target();
  return stopping_ || has >= most ? 0 : std::min(most - has, plan_.max_claimed);
}

bool RemoteWorker::all_executed() const { return stopping_ && requested_ == 0 && ready_.empty(); }

void RemoteWorker::take(std::vector<ClaimedAttempt> attempts) {
  const Instant now = SteadyClock::now();
  for (ClaimedAttempt& attempt : attempts) {
    const auto known = held_.find(attempt.claim_id);
    if (known != held_.end() || failure_.has_value() || !handlers_->contains(attempt.handler)) {
      continue;
    }
    const std::uint64_t lease_ms = std::max<std::uint64_t>(attempt.lease_ms, 1);
    if (shortest_lease_ms_ == 0 || lease_ms < shortest_lease_ms_ || held_.empty()) {
      shortest_lease_ms_ =
          shortest_lease_ms_ == 0 ? lease_ms : std::min(lease_ms, shortest_lease_ms_);
      held_changed_.notify_all();
    }
    auto held = std::make_shared<Held>();
    held->attempt = std::move(attempt);
    held->confirmed = now;
    held_.emplace(held->attempt.claim_id, held);
    ready_.push_back(std::move(held));
    ready_changed_.notify_one();
  }
}

void RemoteWorker::execute_all() {
  Lock lock(mutex_);
  for (;;) {
    ready_changed_.wait(lock, [this] { return !ready_.empty() || all_executed(); });
    if (ready_.empty()) {
      break;
    }
    const HeldPtr held = std::move(ready_.front());
    ready_.pop_front();
    execute(lock, held);
  }
  --executors_;
  finished_changed_.notify_all();
  ready_changed_.notify_all();
}

void RemoteWorker::execute(Lock& lock, const HeldPtr& held) {
  held->waiting = false;
  ++running_;
  lock.unlock();
  const auto begin = SteadyClock::now();
  Finished finished;
  finished.held = held;
  {
    const AttemptOutcome outcome = call(held);
    finished.report = report_of(held->attempt, outcome);
    if (plan_.observe != nullptr) {
      finished.kind = kind_of(outcome);
      finished.message = message_of(outcome);
    }
  }
  const auto taken = SteadyClock::now() - begin;
  finished.taken = std::chrono::duration_cast<milliseconds>(taken);
  lock.lock();
  --running_;
  measure(handler_us_, taken);
  if (!held->lost) {
    finished_.push_back(std::move(finished));
    // The first report wakes the reporter; later ones join its batch.
    if (finished_.size() == 1 || ready_.empty() || finished_.size() >= batch_limit_) {
      finished_changed_.notify_one();
    }
    return;
  }
  held_.erase(held->attempt.claim_id);
  claimable_changed_.notify_all();
  WorkEvent event{WorkEvent::Kind::step_lost, info_of(held->attempt), finished.kind, finished.taken,
                  "the claim was lost"};
  notify(lock, event);
}

AttemptOutcome RemoteWorker::call(const HeldPtr& held) {
  const AttemptCall call{held->attempt, held->stop.get_token(),
                         [this, &held](const std::string& json) {
                           const auto text = JsonText::parse(json);
                           if (text.ok()) {
                             const Lock lock(mutex_);
                             held->progress = Payload(text.value());
                           }
                         },
                         [this, &held](std::string_view workflow, std::string_view key,
                                       std::string_view input, const ChildOptions& options) {
                           return start_child(held->attempt, workflow, key, input, options);
                         }};
  return call_handler(handlers_->find(held->attempt.handler)->second, call);
}

Result<StartedRun> RemoteWorker::start_child(const ClaimedAttempt& parent,
                                             std::string_view workflow, std::string_view key,
                                             std::string_view input, const ChildOptions& options) {
  ChildRequest request;
  request.worker = worker_;
  request.parent = parent.reference();
  request.workflow = workflow;
  request.key = key;
  HOLDFAST_TRY(const JsonText object, JsonText::parse(input));
  request.input = Payload(object);
  request.queue = options.queue;
  request.trigger = options.trigger;
  if (!options.metadata.empty()) {
    HOLDFAST_TRY(const JsonText metadata, JsonText::parse(options.metadata));
    request.metadata = Payload(metadata);
  }
  request.cancel_with_parent = options.cancel_with_parent;
  HOLDFAST_TRY(std::string body, request_json(request));
  HOLDFAST_TRY(
      const std::string answer,
      api_.call({"POST", path_of(operation::kStartChild), std::move(body)}, calling_.get_token()));
  return read_started(answer);
}

void RemoteWorker::keep_alive() {
  Lock lock(mutex_);
  while (!reported_) {
    if (held_.empty()) {
      held_changed_.wait(lock, [this] { return reported_ || !held_.empty(); });
    } else {
      held_changed_.wait_for(lock, heartbeat_interval());
    }
    if (!reported_) {
      send_heartbeats(lock);
    }
  }
}

// Half of the time between two heartbeats.
milliseconds RemoteWorker::heartbeat_interval() const {
  constexpr std::uint64_t kLeastMs = 5;
  constexpr std::uint64_t kMostMs = 10'000;
  return milliseconds(std::clamp(shortest_lease_ms_ / 6, kLeastMs, kMostMs));
}

void RemoteWorker::send_heartbeats(Lock& lock) {
  const Instant now = SteadyClock::now();
  std::vector<HeldPtr> due;
  HeartbeatWorkRequest request{worker_, {}};
  std::uint64_t shortest = 0;
  for (const auto& [claim_id, held] : held_) {
    const std::uint64_t lease_ms = held->attempt.lease_ms;
    shortest = shortest == 0 ? lease_ms : std::min(shortest, lease_ms);
    if (now - held->confirmed >= milliseconds(lease_ms / 4)) {
      due.push_back(held);
      request.claims.push_back({held->attempt.reference(), held->progress});
    }
  }
  shortest_lease_ms_ = shortest;
  if (due.empty()) {
    return;
  }
  lock.unlock();
  constexpr std::uint64_t kLeastMs = 1000;
  ApiCall call = call_of(operation::kHeartbeatWork, request);
  call.timeout = milliseconds(std::max(shortest / 3, kLeastMs));
  const auto answer = response_of<HeartbeatResponse>(api_.call_once(call, calling_.get_token()));
  lock.lock();
  if (!answer.ok()) {
    may_retry(lock, answer.error(), now);  // the next heartbeat follows soon
    return;
  }
  set_reachable(lock, true, "");
  for (const HeldPtr& held : due) {
    held->confirmed = now;
  }
  apply_results(lock, answer.value().results);
}

void RemoteWorker::apply_results(Lock& lock, const std::vector<HeartbeatResult>& results) {
  std::vector<HeldPtr> to_stop;
  std::vector<HeldPtr> never_begun;
  for (const HeartbeatResult& one : results) {
    const auto found = held_.find(one.claim_id);
    if (found == held_.end() || (!one.lost && !one.stop.value_or(false))) {
      continue;
    }
    const HeldPtr held = found->second;
    to_stop.push_back(held);
    held->lost = held->lost || one.lost;
    if (held->lost && held->waiting) {
      std::erase(ready_, held);
      held_.erase(found);
      never_begun.push_back(held);
    }
  }
  lock.unlock();
  for (const HeldPtr& held : to_stop) {
    held->stop.request_stop();  // runs the stop callbacks of the handler
  }
  lock.lock();
  for (const HeldPtr& held : never_begun) {
    notify(lock, {WorkEvent::Kind::step_lost, info_of(held->attempt), StepResult::Kind::ok,
                  milliseconds(0), "the claim was lost before the handler started"});
  }
  claimable_changed_.notify_all();
}

}  // namespace holdfast::client
