// The two threads of a worker that claim attempts: one waits on the server while there is nothing
// to do, one reports results and claims more in the same call.
#include <algorithm>

#include "apps/client/client_problem.h"
#include "apps/client/operation_call.h"
#include "apps/client/remote_worker.h"

namespace holdfast::client {

namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostBatchBytes = 4U << 20U;
constexpr milliseconds kAnswerMargin{15'000};  // beyond the requested wait on the server

}  // namespace

AttemptsRequest RemoteWorker::next_request() {
  AttemptsRequest request = offer_;
  request.request = std::to_string(++requests_);
  request.max = claimable();
  return request;
}

void RemoteWorker::claim_all() {
  Lock lock(mutex_);
  RetryPause backoff(api_.random());
  for (;;) {
    claimable_changed_.wait(lock, [this] {
      return stopping_ || (claimable() > 0 && !reporting_ && finished_.empty());
    });
    if (stopping_) {
      break;
    }
    claim_once(lock, backoff);
  }
}

void RemoteWorker::claim_once(Lock& lock, RetryPause& backoff) {
  AttemptsRequest claim = next_request();
  claim.wait_ms = static_cast<std::uint64_t>(plan_.wait.count());
  requested_ += claim.max;
  const Instant since = SteadyClock::now();
  for (;;) {
    const bool last = stopping_;
    // An abandoned request may have claimed attempts: it is repeated under the same name.
    claim.wait_ms = last ? 0 : claim.wait_ms;
    const milliseconds wait(static_cast<std::int64_t>(claim.wait_ms));
    lock.unlock();
    ApiCall call = call_of(operation::kClaimWork, ClaimWorkRequest{claim, worker_});
    call.repeatable = false;
    call.timeout = wait + kAnswerMargin;
    const Instant begin = SteadyClock::now();
    auto answer = response_of<ClaimResponse>(
        api_.call_once(call, last ? calling_.get_token() : claiming_.get_token()));
    const auto taken = SteadyClock::now() - begin;
    lock.lock();
    // A draining server may not look up the attempts that were claimed before.
    const bool unknown = answer.ok() && claim.again && !last && answer.value().draining &&
                         answer.value().attempts.empty();
    if (unknown && !stopping_) {
      note_draining(lock, true);
      rest(lock, backoff.next());
      continue;
    }
    if (answer.ok()) {
      const bool too_soon = answer.value().attempts.empty() && taken < wait / 2;
      requested_ -= claim.max;
      take(std::move(answer.value().attempts));
      set_reachable(lock, true, "");
      note_draining(lock, answer.value().draining);
      if (too_soon && !stopping_) {
        rest(lock, backoff.next());
      } else {
        backoff.reset();
      }
      break;
    }
    claim.again = claim.again || answer.error().what_next() == WhatNext::in_doubt;
    const bool given_up = stopping_ && !last;
    if ((given_up && !claim.again) || (!given_up && !may_retry(lock, answer.error(), since))) {
      requested_ -= claim.max;
      break;
    }
    if (!given_up) {
      rest(lock, backoff.next());
    }
  }
  ready_changed_.notify_all();
}

void RemoteWorker::rest(Lock& lock, milliseconds time) {
  const std::stop_token stop = stopping_ ? calling_.get_token() : claiming_.get_token();
  lock.unlock();
  pause_for(time, stop);
  lock.lock();
}

void RemoteWorker::report_all() {
  constexpr double kShortUs = 500;
  constexpr milliseconds kMoment{2};
  Lock lock(mutex_);
  RetryPause backoff(api_.random());
  for (;;) {
    finished_changed_.wait(lock, [this] { return !finished_.empty() || executors_ == 0; });
    if (finished_.empty()) {
      break;
    }
    // Handlers that finish in a moment join the batch.
    if (!ready_.empty() && handler_us_ < kShortUs) {
      finished_changed_.wait_for(
          lock, kMoment, [this] { return ready_.empty() || finished_.size() >= batch_limit_; });
    }
    send_reports(lock, backoff);
  }
  reported_ = true;
  held_changed_.notify_all();
}

std::vector<RemoteWorker::Finished> RemoteWorker::next_batch() {
  std::vector<Finished> batch;
  std::size_t bytes = 0;
  while (!finished_.empty() && batch.size() < batch_limit_ &&
         (batch.empty() || bytes + bytes_of(finished_.front().report) <= kMostBatchBytes)) {
    bytes += bytes_of(finished_.front().report);
    batch.push_back(std::move(finished_.front()));
    finished_.pop_front();
  }
  batch_limit_ = std::min(batch_limit_ * 2, plan_.max_claimed);
  return batch;
}

void RemoteWorker::send_reports(Lock& lock, RetryPause& backoff) {
  std::vector<Finished> batch = next_batch();
  AttemptsRequest claim = next_request();
  requested_ += claim.max;
  reporting_ = true;
  auto answer = deliver(lock, batch, claim, backoff);
  reporting_ = false;
  requested_ -= claim.max;
  for (const Finished& finished : batch) {
    held_.erase(finished.held->attempt.claim_id);
  }
  if (answer.has_value()) {
    take(std::move(answer->attempts));
    settle(lock, batch, *answer);
    note_draining(lock, answer->draining);
  }
  ready_changed_.notify_all();
  claimable_changed_.notify_all();
}

std::optional<ReportResponse> RemoteWorker::deliver(Lock& lock, std::vector<Finished>& batch,
                                                    AttemptsRequest& claim, RetryPause& backoff) {
  const Instant since = SteadyClock::now();
  while (!batch.empty() && !failure_.has_value()) {
    lock.unlock();
    ReportWorkRequest request{worker_, {}, {}};
    for (const Finished& finished : batch) {
      request.reports.push_back(finished.report);
    }
    if (claim.max > 0) {
      request.claim = claim;
    }
    ApiCall call = call_of(operation::kReportWork, request);
    call.repeatable = claim.max == 0;
    const Instant begin = SteadyClock::now();
    auto answer = response_of<ReportResponse>(api_.call_once(call, calling_.get_token()));
    const auto taken = SteadyClock::now() - begin;
    lock.lock();
    if (answer.ok()) {
      const double us = std::chrono::duration<double, std::micro>(taken).count();
      round_trip_us_ += 0.1 * (us - round_trip_us_);
      set_reachable(lock, true, "");
      backoff.reset();
      return std::move(answer).value();
    }
    const Error& error = answer.error();
    claim.again = claim.again || error.what_next() == WhatNext::in_doubt;
    if (split_or_replace(batch, error)) {
      continue;
    }
    if (!may_retry(lock, error, since)) {
      break;
    }
    rest(lock, backoff.next());
  }
  return std::nullopt;
}

// A rejected report must not prevent the others from being stored.
bool RemoteWorker::split_or_replace(std::vector<Finished>& batch, const Error& why) {
  const bool of_content =
      why.code() == ErrorCode::too_large || why.code() == ErrorCode::invalid_argument ||
      why.code() == ErrorCode::invalid_json || why.code() == ErrorCode::missing_fields;
  if (!of_content) {
    return false;
  }
  if (batch.size() > 1) {
    const std::size_t kept = batch.size() / 2;
    while (batch.size() > kept) {
      finished_.push_front(std::move(batch.back()));
      batch.pop_back();
    }
    batch_limit_ = kept;
    return true;
  }
  Finished& finished = batch.front();
  if (finished.replaced) {
    return false;
  }
  JsonWriter json;
  json.begin_object().member("code", error_info(why.code()).name);
  json.member("message", "the server rejected the result: " + why.text()).end_object();
  finished.report =
      report_of(finished.held->attempt, Failure{Payload(std::move(json).take_text()), false, {}});
  finished.replaced = true;
  finished.kind = StepResult::Kind::fail;
  finished.message = why.text();
  return true;
}

void RemoteWorker::settle(Lock& lock, const std::vector<Finished>& batch,
                          const ReportResponse& answer) {
  if (plan_.observe == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Finished& finished = batch[i];
    WorkEvent event{WorkEvent::Kind::step_reported, info_of(finished.held->attempt), finished.kind,
                    finished.taken, finished.message};
    const auto is_it = [&](const ReportResult& one) {
      return one.claim_id == finished.held->attempt.claim_id;
    };
    // The results are in the order of the reports.
    const auto first = answer.results.begin();
    const auto same = first + static_cast<std::ptrdiff_t>(std::min(i, answer.results.size()));
    const auto result = same != answer.results.end() && is_it(*same)
                            ? same
                            : std::find_if(first, answer.results.end(), is_it);
    if (result != answer.results.end() && !result->counted) {
      event.kind = WorkEvent::Kind::step_lost;
      event.message = result->problem.empty()
                          ? std::string("the claim was lost")
                          : error_of_problem(result->problem.view(), 409).text();
    }
    notify(lock, event);
  }
}

}  // namespace holdfast::client
