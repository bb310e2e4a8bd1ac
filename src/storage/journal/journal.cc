#include "storage/journal/journal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/packed.h"
#include "storage/journal/journal_keys.h"
#include "storage/journal/open_journal.h"
#include "storage/journal/pending_commit.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxBatchBytes = 16U << 20U;
constexpr std::uint8_t kDirectoryVersion = 1;

Error revision_conflict(const PendingCommit::Part& part, Revision actual) {
  return Error{ErrorCode::conflict,
               fmt::format("thread {} is at revision {}, not at the expected {}", part.thread,
                           actual.value, part.expected_rev->value)}
      .with("thread", part.thread)
      .with("expected_rev", part.expected_rev->value)
      .with("revision", actual.value);
}

Error head_conflict(Position expected, Position head) {
  return Error{ErrorCode::conflict,
               fmt::format("the log is at position {}, or moving on, and not at the expected {}",
                           head.value, expected.value)}
      .with("expected_head", expected.value)
      .with("head", head.value);
}

Error follows_failed(const PendingCommit::Part& part) {
  return Error{ErrorCode::conflict,
               "thread " + part.thread + ": an earlier commit this one builds on was not written"}
      .with("thread", part.thread);
}

// The stored directory, if it is whole and belongs to this log as it is now.
std::optional<Directory> usable_directory(Log& log, const StoreState& state,
                                          const std::optional<std::string>& bytes) {
  if (!bytes.has_value()) {
    return std::nullopt;
  }
  auto unpacked = unpack(PackedType::directory, *bytes);
  if (!unpacked.ok() || unpacked.value().version != kDirectoryVersion) {
    return std::nullopt;
  }
  auto directory = Directory::decode(unpacked.value().text);
  if (!directory.ok() || directory.value().at().next() < state.start ||
      state.head < directory.value().at()) {
    return std::nullopt;
  }
  const auto chain = log.chain_at(directory.value().at());
  if (!chain.ok() || chain.value() != directory.value().chain()) {
    return std::nullopt;
  }
  return std::move(directory).value();
}

}  // namespace

Journal::Journal(std::unique_ptr<Log> log) : log_(std::move(log)) {}

Journal::~Journal() = default;

Result<std::unique_ptr<Journal>> Journal::open(std::unique_ptr<Log> log) {
  HOLDFAST_CHECK(check_copy_finished(*log));
  std::unique_ptr<Journal> journal(new Journal(std::move(log)));
  const std::scoped_lock lock(journal->mutex_);
  HOLDFAST_CHECK(journal->reload());
  return journal;
}

Result<void> Journal::reload() {
  HOLDFAST_TRY(const auto state, log_->refresh());
  HOLDFAST_TRY(const auto stored, log_->get(std::string(kDirectoryKey)));
  auto directory = usable_directory(*log_, state, stored);
  directory_ = directory.has_value() ? *std::move(directory)
                                     : Directory(Position{state.start.value - 1}, state.anchor);
  directory_.forget_below(state.start);
  ever_sealed_ = state.start > Position{1};
  opened_from_batches_ = state.head.value - directory_.at().value;
  return fold_new_batches();
}

Result<void> Journal::fold_new_batches() {
  auto reader = log_->read(directory_.at().next());
  while (reader.ok()) {
    auto batches = reader.value().next();
    if (!batches.ok()) {
      reader = std::move(batches).error();
      break;
    }
    if (batches.value().empty()) {
      return {};
    }
    for (const Batch& batch : batches.value()) {
      HOLDFAST_CHECK(directory_.fold(batch.position, batch.body, batch.chain));
    }
  }
  // Another process has sealed what this one had not read yet: begin again after the seal.
  if (reader.error().code() == ErrorCode::not_found) {
    return reload();
  }
  return std::move(reader).error();
}

Journal::Lock Journal::lock_quiet() {
  Lock lock(mutex_);
  quiet_.wait(lock, [this] { return !leading_; });
  return lock;
}

Result<Position> Journal::catch_up() {
  Lock lock(mutex_);
  const Position before = directory_.at();
  Result<void> folded = fold_new_batches();
  const bool moved = !folded.ok() || directory_.at() != before;
  HOLDFAST_CHECK(settle(lock, std::move(folded), moved));
  const std::scoped_lock again(mutex_);
  return directory_.at();
}

Result<void> Journal::begin_again() {
  Lock lock(mutex_);
  return settle(lock, reload(), true);
}

// Also after a failure: it may have come when batches were folded already, and a number that is
// taken must never be written. A directory that met damage is of no more use.
Result<void> Journal::settle(Lock& lock, Result<void> folded, bool moved) {
  if (!folded.ok() && is_damage(folded.error().code())) {
    stop({}, folded.error());
  }
  if (leading_) {
    overtaken_ = overtaken_ || moved;
  } else if (moved) {
    assign_again({});
  }
  release(lock);
  return folded;
}

Result<ThreadState> Journal::thread_state(std::string_view thread) {
  if (const ThreadState* known = directory_.find(thread)) {
    return *known;
  }
  Revision sealed;
  if (ever_sealed_) {
    HOLDFAST_TRY(const auto stored, log_->get(thread_key(thread)));
    if (stored.has_value()) {
      HOLDFAST_TRY(sealed, unpack_sealed_revision(thread, *stored));
    }
  }
  return ThreadState{sealed, sealed, sealed, {}};
}

Result<Revision> Journal::revision(const ThreadId& thread) {
  const std::scoped_lock lock(mutex_);
  HOLDFAST_TRY(const auto state, thread_state(thread.text()));
  return state.durable;
}

Result<ThreadState> Journal::places(const ThreadId& thread) {
  const std::scoped_lock lock(mutex_);
  return thread_state(thread.text());
}

Result<Revision> Journal::append(const ThreadId& thread, std::vector<NewEntry> entries,
                                 std::optional<Revision> expected_rev) {
  Commit one;
  one.push_back(ThreadAppend{thread, expected_rev, std::move(entries)});
  HOLDFAST_TRY(const auto committed, commit(one));
  return committed.revisions.front();
}

Result<Committed> Journal::commit(const Commit& commit) {
  HOLDFAST_TRY(const Ticket ticket, stage(commit));
  return wait(ticket);
}

Result<Committed> Journal::commit_at(Position expected_head, CommitBuffer&& commit) {
  HOLDFAST_TRY(Ticket ticket, prepare_commit_at(expected_head, std::move(commit)));
  HOLDFAST_CHECK(stage(ticket));
  return wait(ticket);
}

Result<Ticket> Journal::stage(const Commit& commit) {
  HOLDFAST_TRY(Ticket ticket, prepare_commit(commit));
  HOLDFAST_CHECK(stage(ticket));
  return ticket;
}

Result<void> Journal::stage(const Ticket& ticket) {
  const std::scoped_lock lock(mutex_);
  if (stopped_.has_value()) {
    return *stopped_;
  }
  HOLDFAST_CHECK(assign(*ticket));
  pending_.push_back(ticket);
  return {};
}

Result<void> Journal::make_known(const PendingCommit& commit) {
  for (const PendingCommit::Part& part : commit.parts) {
    if (directory_.find(part.thread) == nullptr) {
      HOLDFAST_TRY(const auto state, thread_state(part.thread));
      directory_.admit(part.thread, state.sealed);
    }
  }
  return {};
}

Result<void> Journal::assign(PendingCommit& commit) {
  // What is staged but not written comes before it too.
  const bool moved = commit.expected_head.has_value() &&
                     (*commit.expected_head != directory_.at() || leading_ || !pending_.empty());
  Result<void> checked =
      moved ? head_conflict(*commit.expected_head, directory_.at()) : make_known(commit);
  for (const PendingCommit::Part& part : commit.parts) {
    if (checked.ok() && part.expected_rev.has_value()) {
      const Revision staged = directory_.find(part.thread)->staged;
      if (staged != *part.expected_rev) {
        checked = revision_conflict(part, staged);
      }
    }
  }
  if (!checked.ok()) {
    for (const PendingCommit::Part& part : commit.parts) {
      directory_.release(part.thread);
    }
    return checked;
  }
  for (PendingCommit::Part& part : commit.parts) {
    part.first = directory_.stage(part.thread, part.count);
  }
  return {};
}

Result<Committed> Journal::wait(const Ticket& ticket) {
  using Signal = PendingCommit::Signal;
  while (ticket->signal.load(std::memory_order_acquire) != Signal::done) {
    {
      Lock lock(mutex_);
      ticket->waited_for = true;
      if (!leading_ && !ticket->result.has_value()) {
        lead(lock);
        release(lock);
        continue;
      }
      // Whoever writes now wakes this ticket later; an older call to lead is out of date.
      Signal old = Signal::lead;
      ticket->signal.compare_exchange_strong(old, Signal::none);
    }
    ticket->signal.wait(Signal::none, std::memory_order_acquire);
  }
  return *ticket->result;
}

void Journal::finish(const Ticket& ticket, Result<Committed> outcome) {
  ticket->result.emplace(std::move(outcome));
  finished_.push_back(ticket);
}

void Journal::release(Lock& lock) {
  const std::vector<Ticket> finished = std::exchange(finished_, {});
  Ticket next;
  if (!leading_) {
    const auto waiting = std::find_if(pending_.begin(), pending_.end(),
                                      [](const Ticket& ticket) { return ticket->waited_for; });
    next = waiting == pending_.end() ? nullptr : *waiting;
  }
  // Under the lock: afterwards somebody else may lead and finish it.
  if (next != nullptr) {
    next->wake(PendingCommit::Signal::lead);
  }
  lock.unlock();
  for (const Ticket& ticket : finished) {
    ticket->wake(PendingCommit::Signal::done);
  }
}

std::deque<Ticket> Journal::take_batch() {
  std::deque<Ticket> batch;
  std::size_t bytes = 0;
  while (!pending_.empty() &&
         (batch.empty() || bytes + pending_.front()->bytes <= kMaxBatchBytes)) {
    bytes += pending_.front()->bytes;
    batch.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  return batch;
}

void Journal::lead(Lock& lock) {
  leading_ = true;
  std::deque<Ticket> batch = take_batch();
  HOLDFAST_ASSERT(!batch.empty());
  const Position expected_head = directory_.at();
  lock.unlock();
  auto written = log_->append(expected_head, build_body(batch));
  lock.lock();
  const bool overtaken = std::exchange(overtaken_, false);
  if (written.ok()) {
    finish_batch(batch, written.value(), overtaken);
  } else if (written.error().code() == ErrorCode::conflict) {
    auto seen = fold_new_batches();
    if (seen.ok()) {
      assign_again(std::move(batch));
    } else {
      stop(batch, seen.error());
    }
  } else if (written.error().code() == ErrorCode::busy ||
             written.error().code() == ErrorCode::read_only) {
    fail_batch(batch, written.error());
  } else {
    stop(batch, written.error());
  }
  leading_ = false;
  quiet_.notify_all();
}

void Journal::finish_batch(const std::deque<Ticket>& batch, const LogHead& written,
                           bool overtaken) {
  if (!overtaken) {
    add_to_directory(batch, written);
  }
  for (const Ticket& ticket : batch) {
    finish(ticket, ticket->committed_at(written.position));
  }
  if (overtaken && !stopped_.has_value()) {
    // The directory is no longer as it was when the numbers were given out: it takes in the batch
    // as it would one of another process.
    if (const Result<void> folded = fold_new_batches(); folded.ok()) {
      assign_again({});
    } else {
      stop({}, folded.error());
    }
  }
}

void Journal::add_to_directory(const std::deque<Ticket>& batch, const LogHead& written) {
  directory_.advance(written.position, written.chain);
  for (const Ticket& ticket : batch) {
    for (const PendingCommit::Part& part : ticket->parts) {
      directory_.add(written.position, part.thread, part.first, part.count);
    }
  }
}

void Journal::fail_batch(const std::deque<Ticket>& batch, const Error& error) {
  std::set<std::string, std::less<>> failed_threads;
  for (const Ticket& ticket : batch) {
    for (const PendingCommit::Part& part : ticket->parts) {
      failed_threads.insert(part.thread);
    }
    finish(ticket, error);
  }
  for (const std::string& thread : failed_threads) {
    directory_.unstage(thread);
  }
  assign_all(std::exchange(pending_, {}), std::move(failed_threads));
}

void Journal::assign_again(std::deque<Ticket> batch) {
  std::move(pending_.begin(), pending_.end(), std::back_inserter(batch));
  pending_.clear();
  assign_all(std::move(batch), {});
}

// A commit that expects a revision was decided on top of everything staged before it in that
// thread. Once one of those has failed, the number alone proves nothing: another process may
// have brought the thread to the same revision by other entries.
void Journal::assign_all(std::deque<Ticket> commits,
                         std::set<std::string, std::less<>> failed_threads) {
  for (const Ticket& ticket : commits) {
    for (const PendingCommit::Part& part : ticket->parts) {
      directory_.unstage(part.thread);
    }
  }
  for (Ticket& ticket : commits) {
    const auto built_on_failed =
        std::find_if(ticket->parts.begin(), ticket->parts.end(), [&](const auto& part) {
          return part.expected_rev.has_value() && failed_threads.contains(part.thread);
        });
    Result<void> assigned = built_on_failed != ticket->parts.end()
                                ? Result<void>(follows_failed(*built_on_failed))
                                : assign(*ticket);
    if (assigned.ok()) {
      pending_.push_back(std::move(ticket));
      continue;
    }
    for (const PendingCommit::Part& part : ticket->parts) {
      failed_threads.insert(part.thread);
    }
    finish(ticket, std::move(assigned).error());
  }
}

void Journal::stop(const std::deque<Ticket>& batch, const Error& error) {
  stopped_ = Error{ErrorCode::log_stopped,
                   "the journal stopped after a failure and must be opened again: " + error.text()};
  for (const Ticket& ticket : batch) {
    finish(ticket, error);
  }
  for (const Ticket& ticket : pending_) {
    finish(ticket, *stopped_);
  }
  if (can_recover()) {
    open_.insert(open_.end(), batch.begin(), batch.end());
    dropped_.insert(dropped_.end(), pending_.begin(), pending_.end());
  }
  pending_.clear();
}

Result<void> Journal::save_directory() {
  std::string bytes;
  {
    const Lock lock = lock_quiet();
    bytes = directory_.encode();
  }
  SideUpdate update;
  update.puts.push_back(
      SidePair{std::string(kDirectoryKey), pack(PackedType::directory, kDirectoryVersion, bytes)});
  return log_->update(std::move(update));
}

Result<JournalStat> Journal::stat() {
  HOLDFAST_TRY(const auto state, log_->refresh());
  HOLDFAST_TRY(const auto size, log_->size_bytes());
  const std::scoped_lock lock(mutex_);
  return JournalStat{.log_id = state.log_id,
                     .start = state.start,
                     .head = state.head,
                     .head_chain = state.head_chain,
                     .unsealed_threads = directory_.thread_count(),
                     .size_bytes = size,
                     .opened_from_batches = opened_from_batches_};
}

}  // namespace holdfast
