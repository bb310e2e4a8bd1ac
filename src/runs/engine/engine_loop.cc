#include "runs/engine/engine_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/encoding.h"
#include "base/hash.h"

namespace holdfast {

namespace {

constexpr std::size_t kClaimIdBytes = 16;
constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kWorthDeciding = 64;
constexpr std::size_t kMaxNotifications = 10'000;
// While this process writes itself it learns of others by conflicts; the watch may rest.
constexpr std::chrono::milliseconds kWatchRests{20};
constexpr std::chrono::milliseconds kWatchLooks{60'000};
// The clock may be set, or the machine may have slept: a thread that waits for a time checks the
// clock this often.
constexpr std::chrono::milliseconds kClockLooks{1000};
// Nothing was written for this long: a good time to seal.
constexpr std::chrono::milliseconds kQuiet{1000};
constexpr std::uint64_t kSealAnyway = 16;
constexpr std::size_t kSealStep = 1U << 20U;
// A process that opens the store to look at it should not have to read much more than this first.
constexpr std::uint64_t kDirectoryBytes = 8U << 20U;

// Host and process are in the name already: this distinguishes their incarnations.
constexpr std::size_t kOwnerBytes = 6;

std::string random_text(Random& random, std::size_t bytes) {
  std::vector<std::byte> buffer(bytes);
  random.fill(buffer);
  return to_base64url(buffer);
}

}  // namespace

Result<std::unique_ptr<Loop>> Loop::open(std::unique_ptr<Journal> journal, Clock& clock,
                                         Random& random, const LoopOptions& options) {
  std::unique_ptr<Loop> loop(new Loop(std::move(journal), clock, random, options));
  HOLDFAST_CHECK(loop->core_.open());
  loop->tokens_ = std::make_shared<const Tokens>(loop->core_.state().registry().tokens());
  loop->reached_ = loop->core_.position();
  loop->reported_position_ = loop->reached_;
  std::vector<std::function<void()>> bodies;
  if (options.drive == LoopOptions::Drive::threads) {
    bodies = {[raw = loop.get()] { raw->run_loop(); }, [raw = loop.get()] { raw->run_watch(); },
              [raw = loop.get()] { raw->run_keeper(); }};
  }
  if (loop->journal_->can_recover()) {
    bodies.emplace_back([raw = loop.get()] { raw->run_recovery(); });
  }
  if (options.notifier != nullptr) {
    bodies.emplace_back([raw = loop.get()] { raw->run_notifier(); });
  }
  HOLDFAST_CHECK(loop->threads_.start(bodies));
  return loop;
}

Loop::Loop(std::unique_ptr<Journal> journal, Clock& clock, Random& random,
           const LoopOptions& options)
    : journal_(std::move(journal)),
      clock_(clock),
      random_(random),
      options_(options),
      owner_id_(fmt::format("{}-{}", options.owner, random_text(random, kOwnerBytes))),
      definitions_(*journal_),
      core_(*journal_, definitions_, core_options(options)) {}

CoreOptions Loop::core_options(const LoopOptions& options) {
  CoreOptions core = options.core;
  core.applicant = [this] { return new_applicant(Skills{}); };
  return core;
}

Loop::~Loop() { close(); }

Applicant Loop::new_applicant(const Skills& skills) {
  std::array<std::byte, kClaimIdBytes + kTokenBytes> secret{};
  {
    const std::scoped_lock lock(random_mutex_);
    // One system call per claim would cost more than the claim itself.
    if (randomness_.size() < secret.size()) {
      randomness_.resize(secret.size() * 64);
      random_.fill(randomness_);
    }
    std::copy(randomness_.end() - secret.size(), randomness_.end(), secret.begin());
    randomness_.resize(randomness_.size() - secret.size());
  }
  const std::span<const std::byte> bytes(secret);
  const std::string token = to_base64url(bytes.subspan(kClaimIdBytes));
  const SharedText claim_id(to_base64url(bytes.first(kClaimIdBytes)));
  return Applicant{Claimant{claim_id, sha256(token), owner_id_, skills.handlers},
                   SharedText(token)};
}

void Loop::add_definition(std::shared_ptr<const Definition> definition) {
  Waiter waiter;
  enqueue(AddDefinition{std::move(definition), [&] { waiter.wake(); }});
  drive_until(waiter);
}

Result<void> Loop::register_definition(const std::shared_ptr<const Definition>& definition) {
  add_definition(definition);
  HOLDFAST_TRY(const Done done, execute<Done>([definition](Turn& turn) -> Result<Done> {
                 HOLDFAST_CHECK(turn.emit_registration(*definition));
                 return Done{};
               }));
  static_cast<void>(done);
  return {};
}

CoreStats Loop::stats() {
  CoreStats stats;
  Waiter waiter;
  enqueue(ReadStats{[&](const CoreStats& now) {
    stats = now;
    waiter.wake();
  }});
  drive_until(waiter);
  return stats;
}

std::shared_ptr<const Tokens> Loop::tokens() {
  const std::scoped_lock lock(mutex_);
  return tokens_;
}

void Loop::keep_watching() { submit(WatchChanges{}); }

std::optional<Error> Loop::failure() {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

void Loop::enqueue(LoopRequest request) {
  const std::scoped_lock lock(mutex_);
  requests_.push_back(std::move(request));
}

void Loop::enqueue(std::vector<LoopRequest> requests) {
  const std::scoped_lock lock(mutex_);
  for (LoopRequest& request : requests) {
    requests_.push_back(std::move(request));
  }
}

void Loop::submit(LoopRequest request) {
  std::vector<LoopRequest> one;
  one.push_back(std::move(request));
  submit(std::move(one));
}

void Loop::submit(std::vector<LoopRequest> requests) {
  Lock lock(mutex_);
  for (LoopRequest& request : requests) {
    requests_.push_back(std::move(request));
  }
  // After the close no other thread replies.
  while (closed_ && step(lock)) {
  }
  // While the last group is written, the caller whose request makes the next one large enough
  // decides it.
  if (writing_ && !deciding_ && requests_.size() >= kWorthDeciding) {
    decide(lock);
  }
  nudge();
}

// A thread that holds a role looks for more work before it gives the role up, so only an idle loop
// must be woken.
void Loop::nudge() {
  if (!deciding_ && loop_asleep_ && !nudged_) {
    nudged_ = true;
    loop_wakes_.notify_one();
  }
}

bool Loop::has_step() {
  if (deciding_) {
    return false;
  }
  return !requests_.empty() || written_.has_value() || recovered_.has_value() || rows_requested_ ||
         core_.has_work(clock_.now()) || (!writing_ && core_.can_write());
}

bool Loop::step(Lock& lock) {
  if (deciding_) {
    return false;
  }
  if (!requests_.empty() || written_.has_value() || recovered_.has_value() || rows_requested_ ||
      core_.has_work(clock_.now())) {
    decide(lock);
    return true;
  }
  if (!writing_ && core_.can_write()) {
    write(lock);
    return true;
  }
  return false;
}

void Loop::decide(Lock& lock) {
  HOLDFAST_ASSERT(!deciding_);  // E1
  deciding_ = true;
  std::vector<LoopRequest> requests = std::exchange(requests_, {});
  std::optional<Result<Committed>> written = std::exchange(written_, std::nullopt);
  const std::optional<Result<JournalRecovery>> recovered = std::exchange(recovered_, std::nullopt);
  const bool rows_requested = std::exchange(rows_requested_, false);
  const std::uint64_t write_us = write_us_;
  lock.unlock();
  const TimeMs now = clock_.now();
  if (written.has_value()) {
    core_.end_write(*written, now);
  }
  if (recovered.has_value()) {
    end_recovery(*recovered, now);
  }
  // Before the next decision: a run that takes one step after the other is durable now.
  if (rows_requested) {
    core_.request_rows();
  }
  core_.handle(std::move(requests));
  core_.decide(now);
  const auto effects = core_.take_effects();
  auto reports = core_.take_reports();
  auto checkpoint = core_.take_checkpoint();
  std::shared_ptr<const Tokens> tokens;
  // After a recovery the state may be another one, which counts anew.
  const std::uint64_t recoveries =
      core_.outage().has_value() ? recoveries_ : core_.stats().recoveries;
  if (core_.state().registry().tokens().changes() != tokens_->changes() ||
      recoveries != recoveries_) {
    tokens = std::make_shared<const Tokens>(core_.state().registry().tokens());
  }
  lock.lock();
  deciding_ = false;
  reached_ = core_.position();
  failure_ = core_.stopped();
  recoveries_ = recoveries;
  note_outage();
  if (!writing_ && !core_.can_write()) {
    write_pending_since_.reset();
  }
  if (tokens != nullptr) {
    tokens_ = std::move(tokens);
  }
  hand_to_keeper(std::move(checkpoint), core_.take_rows());
  const bool had_no_waiters = !std::exchange(has_waiters_, core_.has_waiters());
  if (had_no_waiters && has_waiters_) {
    watch_changed_.notify_one();
  }
  for (CommitReport& report : reports) {
    report.write_us = write_us;
    unsealed_bytes_ += report.bytes;
    unlisted_bytes_ += report.bytes;
    reports_.push_back(std::move(report));
  }
  if (seal_due() || rows_requested) {
    keeper_wakes_.notify_one();
  }
  wake_for_timer(now);
  deliver_reports(lock);
  idle_.notify_all();
  lock.unlock();
  for (const auto& effect : effects) {
    effect();
  }
  lock.lock();
}

// When a timer is due before the loop's thread would look.
void Loop::wake_for_timer(TimeMs now) {
  const auto timer = core_.next_timer(now);
  if (loop_asleep_ && timer.has_value() &&
      (!loop_wakes_at_.has_value() || *timer < *loop_wakes_at_)) {
    nudged_ = true;
    loop_wakes_.notify_one();
  }
}

void Loop::write(Lock& lock) {
  HOLDFAST_ASSERT(!writing_ && !deciding_);  // E1
  writing_ = true;
  const Core::Write what = core_.begin_write();
  const Instant began = std::chrono::steady_clock::now();
  write_pending_since_ = write_pending_since_.value_or(began);
  lock.unlock();
  Result<Committed> outcome = journal_->commit_at(what.expected_head, std::move(*what.commit));
  lock.lock();
  const auto taken = std::chrono::steady_clock::now() - began;
  write_us_ = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(taken).count());
  writing_ = false;
  // A store that stays locked is tried again.
  if (outcome.ok() || outcome.error().code() != ErrorCode::busy) {
    write_pending_since_.reset();
  }
  written_.emplace(std::move(outcome));
}

// One thread at a time, so that reports arrive in the order of their commits, whichever thread
// drives the loop.
void Loop::deliver_reports(Lock& lock) {
  if (reporting_) {
    return;
  }
  reporting_ = true;
  while (!reports_.empty() || reached_ != reported_position_) {
    const std::vector<CommitReport> reports = std::exchange(reports_, {});
    const Position reached = reached_;
    lock.unlock();
    for (const CommitReport& report : reports) {
      deliver(report);
    }
    if (options_.observer != nullptr && reached != reported_position_) {
      options_.observer->reached(reached);
    }
    lock.lock();
    reported_position_ = reached;
  }
  deliver_store_changes(lock);
  if (failure_.has_value() && !closing_ && !reported_stopped_ && options_.observer != nullptr) {
    reported_stopped_ = true;
    const Error why = *failure_;
    lock.unlock();
    options_.observer->stopped(why);
    lock.lock();
  }
  reporting_ = false;
}

void Loop::deliver(const CommitReport& report) {
  if (options_.observer != nullptr) {
    options_.observer->committed(report);
  }
  if (options_.notifier == nullptr || report.wakeups.empty()) {
    return;
  }
  const std::scoped_lock lock(notify_mutex_);
  for (const Wakeup& wakeup : report.wakeups) {
    // Only hints: when the queue is full, the oldest is dropped.
    if (to_notify_.size() == kMaxNotifications) {
      to_notify_.pop_front();
    }
    to_notify_.push_back(wakeup);
  }
  notify_wakes_.notify_one();
}

void Loop::drive_until(Waiter& waiter) {
  Lock lock(mutex_);
  while (!waiter.done()) {
    if (!step(lock)) {
      lock.unlock();
      waiter.wait();
      lock.lock();
      break;
    }
  }
  // What is left is for the engine's own thread, or for us when that is gone.
  while (closed_ && step(lock)) {
  }
  if (loop_asleep_ && has_step()) {
    nudged_ = true;
    loop_wakes_.notify_one();
  }
}

void Loop::run_loop() {
  Lock lock(mutex_);
  for (;;) {
    while (step(lock)) {
    }
    if (closed_) {
      return;
    }
    loop_asleep_ = true;
    nudged_ = false;
    loop_wakes_at_ = deciding_ ? std::nullopt : core_.next_timer(clock_.now());
    const auto awake = [this] { return nudged_ || closed_; };
    if (loop_wakes_at_.has_value()) {
      const std::chrono::milliseconds left(loop_wakes_at_->value - clock_.now().value);
      const std::chrono::milliseconds none(0);
      loop_wakes_.wait_for(lock, std::clamp(left, none, kClockLooks), awake);
    } else {
      loop_wakes_.wait(lock, awake);
    }
    loop_asleep_ = false;
  }
}

// Reads the commits of other processes while a caller in this process waits for them.
void Loop::run_watch() {
  Lock lock(mutex_);
  for (;;) {
    watch_changed_.wait(lock, [this] { return closing_ || has_waiters_; });
    if (closing_) {
      return;
    }
    if (deciding_ || writing_) {
      watch_changed_.wait_for(lock, kWatchRests);
      continue;
    }
    const Position known = core_.position();
    lock.unlock();
    const Result<void> changed = journal_->log().wait_for_change(known, kWatchLooks);
    lock.lock();
    if (closing_) {
      return;
    }
    if (!changed.ok()) {
      watch_changed_.wait_for(lock, std::chrono::seconds(1));
    }
    // When this process has moved on itself it has seen what there was.
    requests_.emplace_back(CheckForChanges{known});
    nudge();
    watch_changed_.wait_for(lock, kWatchRests);
  }
}

void Loop::run_notifier() {
  std::unique_lock lock(notify_mutex_);
  for (;;) {
    notify_wakes_.wait(lock, [this] { return notify_closing_ || !to_notify_.empty(); });
    if (notify_closing_) {
      return;
    }
    const Wakeup wakeup = std::move(to_notify_.front());
    to_notify_.pop_front();
    lock.unlock();
    const bool notified = options_.notifier->notify(wakeup).ok();
    if (notified && options_.record_wakeups) {
      submit<Done>(
          [wakeup](Turn& turn) -> Result<Done> {
            HOLDFAST_TRY(const auto fact, decide_wakeup(turn.state().queues().get(wakeup.queue),
                                                        wakeup.runnable_key.view(), turn.now()));
            HOLDFAST_CHECK(turn.emit(wakeup.queue, fact));
            return Done{};
          },
          [](const Result<Done>&) {});
    }
    lock.lock();
  }
}

// Puts checkpoints away and seals old batches, so that the next start and every load stay short.
// Sealing waits for a quiet moment, unless there is very much to seal. Rows of lists are made and
// stored once in that time.
void Loop::run_keeper() {
  Lock lock(mutex_);
  for (;;) {
    keeper_wakes_.wait(
        lock, [&] { return closing_ || checkpoint_.has_value() || seal_due() || has_rows(); });
    const auto checkpoint = std::exchange(checkpoint_, std::nullopt);
    if (checkpoint.has_value()) {
      lock.unlock();
      put_away(*checkpoint);
      lock.lock();
      continue;
    }
    if (closing_) {
      put_rows(lock);
      return;
    }
    const std::uint64_t before = unsealed_bytes_;
    keeper_wakes_.wait_for(lock, kQuiet, [this] { return closing_ || checkpoint_.has_value(); });
    if (closing_ || checkpoint_.has_value()) {
      continue;
    }
    const bool quiet = unsealed_bytes_ == before;
    collect_rows(lock);
    put_rows(lock);
    if (!seal_due() || (!quiet && unsealed_bytes_ < kSealAnyway * options_.seal_every_bytes)) {
      continue;
    }
    unsealed_bytes_ = 0;
    unlisted_bytes_ = 0;
    lock.unlock();
    // A conflict means that another process does the same; a failure of the store stops the log,
    // and with it the next commit.
    static_cast<void>(journal_->seal({.below = std::nullopt, .step_bytes = kSealStep}).ok());
    lock.lock();
  }
}

bool Loop::seal_due() const {
  return options_.seal_every_bytes > 0 && unsealed_bytes_ >= options_.seal_every_bytes;
}

// Only caches: an engine that opens the journal without them reads more.
void Loop::put_away(const Checkpoint& checkpoint) {
  if (!checkpoint.data.empty()) {
    static_cast<void>(Core::save(*journal_, checkpoint).ok());
    static_cast<void>(journal_->save_directory().ok());
  }
}

void Loop::hand_to_keeper(std::optional<Checkpoint> checkpoint, std::vector<NamedCheckpoint> rows) {
  const bool had_rows = has_rows();
  if (checkpoint.has_value()) {
    checkpoint_ = std::move(checkpoint);
  }
  for (NamedCheckpoint& row : rows) {
    rows_.insert_or_assign(std::move(row.thread), std::move(row.checkpoint));
  }
  rows_changed_ = core_.has_changed_rows();
  if (checkpoint_.has_value() || (has_rows() && !had_rows)) {
    keeper_wakes_.notify_one();
  }
}

// Has the core make the rows of what has changed, and waits for them.
void Loop::collect_rows(Lock& lock) {
  if (!rows_changed_) {
    return;
  }
  rows_requested_ = true;
  nudge();
  keeper_wakes_.wait(lock,
                     [this] { return closing_ || checkpoint_.has_value() || !rows_requested_; });
}

// Only caches too. What a store does not accept because it is busy or unavailable is tried
// again later.
void Loop::put_rows(Lock& lock) {
  if (rows_.empty()) {
    return;
  }
  std::vector<NamedCheckpoint> rows;
  for (auto& [thread, checkpoint] : std::exchange(rows_, {})) {
    rows.push_back({thread, std::move(checkpoint)});
  }
  const bool directory_due = unlisted_bytes_ >= kDirectoryBytes;
  unlisted_bytes_ = directory_due ? 0 : unlisted_bytes_;
  lock.unlock();
  const Result<void> put = journal_->put_checkpoints(rows);
  if (put.ok() && directory_due) {
    static_cast<void>(journal_->save_directory().ok());
  }
  lock.lock();
  const bool again = !put.ok() && !failure_.has_value() &&
                     (put.error().code() == ErrorCode::busy ||
                      (journal_->can_recover() && may_return(put.error())));
  if (again) {
    for (NamedCheckpoint& row : rows) {
      rows_.emplace(std::move(row.thread), std::move(row.checkpoint));
    }
  }
}

void Loop::close() {
  const std::scoped_lock once(close_mutex_);
  {
    Lock lock(mutex_);
    if (closed_) {
      return;
    }
    // Requests that arrived before the close are carried out.
    while (step(lock)) {
    }
    idle_.wait(lock, [this] { return !deciding_ && !writing_ && !reporting_ && !has_step(); });
    HOLDFAST_ASSERT(!deciding_ && !writing_);  // E1
    core_.request_checkpoint();
    core_.decide(clock_.now());
    core_.request_rows();
    hand_to_keeper(core_.take_checkpoint(), core_.take_rows());
    core_.stop(Error{ErrorCode::engine_stopped, "it was closed"});
    failure_ = core_.stopped();
    closing_ = true;
    closed_ = true;
    const auto effects = core_.take_effects();
    loop_wakes_.notify_all();
    watch_changed_.notify_all();
    keeper_wakes_.notify_all();
    recovery_wakes_.notify_all();
    lock.unlock();
    for (const auto& effect : effects) {
      effect();
    }
  }
  journal_->log().interrupt_waits();
  {
    const std::scoped_lock lock(notify_mutex_);
    notify_closing_ = true;
    notify_wakes_.notify_all();
  }
  threads_.join();
}

}  // namespace holdfast
