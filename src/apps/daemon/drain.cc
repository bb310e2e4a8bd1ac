#include "apps/daemon/drain.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace holdfast::delivery {

namespace {

constexpr std::int64_t kLeaseMs = 60'000;  // well above the timeout of a call
constexpr std::int64_t kSuccessCounts = 60'000;
constexpr std::int64_t kLongestSleepMs = 15'000;
constexpr std::int64_t kStoreRetryMs = 1'000;
constexpr int kFirstServerError = 500;

}  // namespace

Drain::Drain(Outbox& outbox, DrainOptions options, Clock& clock, Random& random, ServerLog& log)
    : outbox_(outbox),
      options_(std::move(options)),
      clock_(clock),
      random_(random),
      log_(log),
      backoff_(options_.backoff) {}

Result<void> Drain::start() {
  HOLDFAST_TRY(const std::vector<Lane> lanes, outbox_.lanes());
  {
    const std::lock_guard lock(mutex_);  // the daemon listens already, and a send may wake a lane
    for (const Lane& lane : lanes) {
      board_.wake(lane, now());
    }
  }
  std::vector<std::function<void()>> bodies{[this] { keep_connection(); }};
  for (std::size_t i = 0; i < options_.senders; ++i) {
    bodies.emplace_back([this] { send_rows(); });
  }
  return threads_.start(bodies);
}

void Drain::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_.request_stop();
  }
  changed_.notify_all();
  lost_.notify_all();
  threads_.join();
}

void Drain::wake(const Lane& lane) {
  {
    const std::lock_guard lock(mutex_);
    board_.wake(lane, now());
  }
  changed_.notify_one();
}

DrainStatus Drain::status() {
  const std::lock_guard lock(mutex_);
  DrainStatus status;
  status.connected = session_ != nullptr;
  status.paused = board_.paused(now());
  status.trouble = trouble_;
  status.inflight = board_.busy();
  if (session_ != nullptr) {
    status.broker = session_->url;
    status.max_age_ms = session_->max_age_ms;
    status.inline_bytes = session_->inline_bytes;
  }
  return status;
}

void Drain::set_backoff(const BackoffSettings& backoff) {
  const std::lock_guard lock(mutex_);
  backoff_ = backoff;
}

BackoffSettings Drain::current_backoff() {
  const std::lock_guard lock(mutex_);
  return backoff_;
}

Drain::Session Drain::current_session() {
  const std::lock_guard lock(mutex_);
  return session_;
}

Result<std::string> Drain::call(const BrokerRequest& request) {
  const Session session = current_session();
  if (session == nullptr) {
    constexpr std::string_view kWhy = "the daemon is not connected to a broker";
    return Error{ErrorCode::unavailable, std::string(kWhy)}.with("detail", kWhy);
  }
  return call_broker(*session, request);
}

BrokerKnowledge Drain::query(const OutboxEntry& entry) {
  const Session session = current_session();
  return session == nullptr ? BrokerKnowledge{}
                            : query_broker(*session, entry, terms(*session).broker_now);
}

// Until the time, a change, or the end; a bounded time, because clocks are adjusted.
void Drain::wait(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                 std::int64_t until) {
  const std::int64_t left = std::clamp<std::int64_t>(until - now(), 0, kLongestSleepMs);
  if (left > 0 && !stop_.stop_requested()) {
    condition.wait_for(lock, std::chrono::milliseconds(left));
  }
}

void Drain::keep_connection() {
  while (!stop_.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      if (now() < next_connect_) {
        wait(lost_, lock, next_connect_);
        continue;
      }
    }
    release_leases();
    connect();
  }
}

void Drain::release_leases() {
  const auto released = outbox_.release_expired_leases();
  if (released.ok() && released.value() > 0) {
    log_.write(LogLevel::warning, "transmissions without an end were taken back",
               {{"messages", std::to_string(released.value())}});
  }
}

void Drain::connect() {
  std::optional<Error> failure;
  for (const std::string& url : options_.broker.urls) {
    auto session = negotiate(options_.broker, url, stop_.get_token(), clock_.now());
    if (stop_.stop_requested()) {
      return;
    }
    if (session.ok()) {
      connected(std::move(session).value());
      return;
    }
    failure = session.error();
  }
  HOLDFAST_ASSERT(failure.has_value());
  not_connected(*failure);
}

void Drain::connected(BrokerSession session) {
  outbox_.set_inline_bytes(session.inline_bytes);
  const std::lock_guard lock(mutex_);
  if (session_ == nullptr) {
    ++counters_.connects;
    log_.write(LogLevel::info, "connected",
               {{"broker", session.url},
                {"max_age_hours", std::to_string(session.max_age_ms / 3'600'000)}});
    for (const std::string& warning : session.warnings) {
      log_.write(LogLevel::warning, warning, {});
    }
  }
  session_ = std::make_shared<const BrokerSession>(std::move(session));
  trouble_.clear();
  failed_connects_ = 0;
  next_connect_ = now() + options_.renegotiate_ms;
  board_.open();
  changed_.notify_all();
}

void Drain::not_connected(const Error& error) {
  const std::lock_guard lock(mutex_);
  const std::string why = error.text();
  if (session_ != nullptr || why != trouble_) {
    log_.write(LogLevel::warning, "not connected; messages are kept", {{"reason", why}});
    if (const std::string_view negotiation = error.field("log"); !negotiation.empty()) {
      log_.write(LogLevel::warning, "the negotiation that failed",
                 {{"negotiation", std::string(negotiation)}});
    }
  }
  session_.reset();
  trouble_ = why;
  board_.close();
  BackoffSettings pace = backoff_;
  pace.most_ms = options_.longest_probe_ms * 100 / (100 + pace.jitter_percent);
  next_connect_ = now() + backoff_ms(pace, ++failed_connects_, random_.next_u64());
}

// Reported by a sender; another one may have done so before.
void Drain::lose(const Session& session, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (session_ != session) {
    return;
  }
  log_.write(LogLevel::warning, "connection lost; messages are kept", {{"reason", why}});
  session_.reset();
  trouble_ = why;
  board_.close();
  next_connect_ = now() + backoff_ms(backoff_, 1, random_.next_u64());
  lost_.notify_all();
}

ClaimTerms Drain::terms(const BrokerSession& session) {
  return {TimeMs{now() + session.ahead_ms}, session.max_age_ms, kLeaseMs};
}

void Drain::send_rows() {
  std::unique_lock lock(mutex_);
  while (!stop_.stop_requested()) {
    const auto lane = board_.take(now());
    if (!lane.has_value()) {
      wait(changed_, lock, board_.next_time().value_or(INT64_MAX));
      continue;
    }
    const Session session = session_;
    lock.unlock();
    work_on(*lane, session);
    lock.lock();
    changed_.notify_all();
  }
}

// Sends from the lane until it is empty or must wait, and gives it back.
void Drain::work_on(const Lane& lane, const Session& session) {
  auto claimed = outbox_.claim(lane, terms(*session));
  std::optional<Claim> next;
  if (claimed.ok()) {
    counters_.expired += claimed.value().expired;
    next = std::move(claimed).value();
  }
  while (next.has_value() && next->entry.has_value()) {
    OutboxEntry entry = *std::move(next->entry);
    next.reset();
    if (!step(lane, session, std::move(entry), next)) {
      break;
    }
  }
  if (!next.has_value()) {
    // The outbox does not answer: it is tried again.
    const std::lock_guard lock(mutex_);
    board_.wait_until(lane, now() + kStoreRetryMs);
    return;
  }
  settle(lane, *next);
}

// One transmission. next: the row that follows, or when it is due. False: the lane must not be
// worked on now.
bool Drain::step(const Lane& lane, const Session& session, OutboxEntry entry,
                 std::optional<Claim>& next) {
  const Transmitted sent = transmit(*session, entry, stop_.get_token());
  const Completion completion = planned(entry, sent.completion, sent.pause_ms);
  const AnswerEffect& effect = completion.effect;
  if (effect.row != RowOutcome::pending && effect.pause == PauseScope::none &&
      !stop_.stop_requested()) {
    auto finished = outbox_.complete_and_claim(entry, completion, terms(*session));
    if (!finished.ok()) {
      return false;
    }
    account(sent, finished.value().completed);
    counters_.expired += finished.value().next.expired;
    next = std::move(finished.value().next);
    return true;
  }
  const auto completed = outbox_.complete(entry, completion);
  if (!completed.ok()) {
    return false;
  }
  account(sent, completed.value());
  if (effect.answer_class == AnswerClass::connection ||
      effect.answer_class == AnswerClass::unsent) {
    lose(session, completion.error);
  } else if (effect.pause == PauseScope::workspace) {
    const std::lock_guard lock(mutex_);
    board_.pause(now() + completion.retry_after_ms);
  }
  next = Claim{};
  next->due = TimeMs{now() + completion.retry_after_ms};
  if (completion.lane == Completion::Lane::leave) {
    ++counters_.parked;
    Lane parked = lane;
    parked.parked_id = entry.id;
    const std::lock_guard lock(mutex_);
    board_.wake(parked, now() + completion.retry_after_ms);
    next->due = TimeMs{now()};  // the lane continues with the next row
  }
  return false;
}

// How long the row waits, and whether it leaves its lane.
Completion Drain::planned(const OutboxEntry& entry, Completion completion, std::int64_t pause_ms) {
  if (completion.effect.row != RowOutcome::pending ||
      completion.effect.answer_class == AnswerClass::unsent) {
    return completion;
  }
  const std::int64_t backoff =
      backoff_ms(current_backoff(), entry.attempts + 1, random_.next_u64());
  completion.retry_after_ms = std::max(backoff, pause_ms);
  const std::lock_guard lock(mutex_);
  const bool others_succeed = last_success_ > now() - kSuccessCounts;
  if (completion.http_status >= kFirstServerError && !entry.poison_suspect && others_succeed &&
      entry.deferrals + 1 >= options_.poison_after) {
    completion.lane = Completion::Lane::leave;
  }
  if (entry.poison_suspect || completion.lane == Completion::Lane::leave) {
    completion.retry_after_ms = std::max(completion.retry_after_ms, options_.poison_wait_ms);
  }
  return completion;
}

void Drain::account(const Transmitted& sent, Completed completed) {
  const AnswerEffect& effect = sent.completion.effect;
  counters_.fenced += completed == Completed::fenced ? 1 : 0;
  switch (effect.answer_class) {
    case AnswerClass::success: {
      ++counters_.sent;
      const std::lock_guard lock(mutex_);
      last_success_ = now();
      board_.succeeded();
      break;
    }
    case AnswerClass::permanent: {
      ++counters_.dead;
      log_.write(LogLevel::warning, "the broker refused a message; it is dead",
                 {{"reason", sent.completion.error}});
      // The broker answers: the pause has ended.
      const std::lock_guard lock(mutex_);
      board_.succeeded();
      break;
    }
    case AnswerClass::connection:
    case AnswerClass::transient:
      ++counters_.transient;
      break;
    case AnswerClass::ambiguous:
      ++counters_.ambiguous;
      break;
    case AnswerClass::unsent:
      ++counters_.unsent;
      break;
  }
  if (sent.history_gone) {
    ++counters_.history_pruned;
    log_.write(LogLevel::warning, "the broker had accepted a message and removed it since", {});
  }
}

void Drain::settle(const Lane& lane, const Claim& claim) {
  const std::lock_guard lock(mutex_);
  if (claim.due.has_value()) {
    board_.wait_until(lane, claim.due->value);
  } else {
    board_.drop(lane, now());
  }
}

}  // namespace holdfast::delivery
