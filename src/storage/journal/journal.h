// Journal: threads of entries inside the batches of one log.
//
// - append and commit are durable when they return success; a commit over several threads is
//   there whole or not at all. Many threads of the program may call at once: calls that come
//   while a batch is being written share the next batch (group commit). There is no thread of
//   the journal's own: one of the callers writes for all.
// - An expected revision that is no longer true is conflict; nothing of that commit is written.
//   This also holds against other processes on the same store.
// - load and revision show durable entries only.
// - After an I/O error the journal is stopped until recover() has found out what became of the
//   open batch, or it is opened again (see log/log.h).
// - Entries never change. Sealing moves them to another address and loses nothing.
//
// All members are safe to call from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "holdfast/result.h"
#include "storage/entry/entry.h"
#include "storage/entry/thread_id.h"
#include "storage/journal/batch_cache.h"
#include "storage/journal/commit_buffer.h"
#include "storage/journal/journal_directory.h"
#include "storage/log/log.h"

namespace holdfast {

inline constexpr std::size_t kMaxCommitBytes = 64U << 20U;

struct ThreadAppend {
  ThreadId thread;
  std::optional<Revision> expected_rev;  // empty: after whatever is there
  std::vector<NewEntry> entries;
};

using Commit = std::vector<ThreadAppend>;

struct Committed {
  Position position;
  std::vector<Revision> revisions;  // after the commit, in the order of its threads
};

// A disposable cache of a fold: the bytes mean what `version` of the caller's code says.
struct Checkpoint {
  std::uint8_t version = 0;
  Revision revision;  // exactly the entries before this one are in it
  std::string data;
};

struct NamedCheckpoint {
  ThreadId thread;
  Checkpoint checkpoint;
};

struct SealOptions {
  // Seal batches below this position; the newest batch always stays. Empty: all that can be.
  std::optional<Position> below;
  // How much is sealed in one step; appends wait for a step.
  std::size_t step_bytes = 16U << 20U;
};

struct SealReport {
  std::uint64_t batches = 0;
  std::uint64_t entries = 0;
  std::uint64_t segments = 0;
  std::uint64_t bytes_before = 0;  // of the bodies
  std::uint64_t bytes_after = 0;   // of the segments
};

struct JournalStat {
  Uuid log_id;
  Position start;
  Position head;
  Digest head_chain;
  std::uint64_t unsealed_threads = 0;
  std::uint64_t size_bytes = 0;
  // Batches that were read to open the journal: the tail after the newest directory.
  std::uint64_t opened_from_batches = 0;
};

// What recover() found out.
struct JournalRecovery {
  // Of the batch that was open, if there was one: committed; conflict when it is not there and
  // never will be.
  std::optional<Result<Committed>> open;
  // Batches are gone that this process had read: what was folded from them must be folded again.
  bool rewound = false;
};

struct PendingCommit;

// A commit on its way; see stage().
using Ticket = std::shared_ptr<PendingCommit>;

class Journal {
 public:
  // Start-up reads the newest directory and the batches after it. unfinished_copy when the
  // store is the target of a copy that did not end.
  static Result<std::unique_ptr<Journal>> open(std::unique_ptr<Log> log);
  ~Journal();

  Result<Revision> append(const ThreadId& thread, std::vector<NewEntry> entries,
                          std::optional<Revision> expected_rev = std::nullopt);
  Result<Committed> commit(const Commit& commit);

  // commit() in two halves: stage checks the revisions, against everything staged before, and
  // numbers the entries; wait returns when they are durable. A commit that was staged on top of
  // one that then failed fails with conflict. A ticket nobody waits for is written with the
  // next batch.
  Result<Ticket> stage(const Commit& commit);
  Result<Committed> wait(const Ticket& ticket);

  // commit() for whoever decided on the whole log up to expected_head: conflict when any batch
  // came after it, whatever threads it touches. Entries are stored in the order they were
  // added.
  Result<Committed> commit_at(Position expected_head, CommitBuffer&& commit);

  [[nodiscard]] bool can_recover() const { return log_->can_recover(); }
  // After a failure of the store: connects again, determines by reading what became of the batch
  // whose outcome was open, and goes on. Not while commits are under way. Errors as those of
  // Log::recover: diverged and log_stopped are final, after others it may be called again.
  Result<JournalRecovery> recover();

  // 0 for a thread without entries.
  Result<Revision> revision(const ThreadId& thread);
  // Entries with seq >= from, in order, at most limit of them.
  // `cache`, if there is one, remembers batches for the next thread that is loaded with it.
  Result<std::vector<Entry>> load(const ThreadId& thread, Revision from = {},
                                  std::size_t limit = SIZE_MAX, BatchCache* cache = nullptr);
  // How much of a thread is sealed, and which batches hold the rest of it.
  Result<ThreadState> places(const ThreadId& thread);
  Result<void> put_checkpoint(const ThreadId& thread, const Checkpoint& checkpoint);
  // All of them in one update of the store.
  Result<void> put_checkpoints(std::span<const NamedCheckpoint> checkpoints);
  // Empty when there is none, or it is of another version, newer than the thread, or damaged.
  Result<std::optional<Checkpoint>> find_checkpoint(const ThreadId& thread, std::uint8_t version);
  // One (or none) for each thread, read from the store in one go: those that cover every entry
  // their thread has now.
  Result<std::vector<std::optional<Checkpoint>>> find_current_checkpoints(
      std::span<const ThreadId> threads, std::uint8_t version);
  Result<void> delete_checkpoint(const ThreadId& thread);

  // Moves old batches into compressed segments per thread and trims the log. Safe at any time,
  // also while other processes append; conflict when another process seals too.
  Result<SealReport> seal(const SealOptions& options = {});
  // Writes the directory, so that the next open reads only what comes after it.
  Result<void> save_directory();
  // Takes in what other processes have appended; returns the newest position. Never waits for a
  // batch that is being written.
  Result<Position> catch_up();

  Result<JournalStat> stat();
  [[nodiscard]] std::string name() const { return log_->name(); }
  [[nodiscard]] Log& log() { return *log_; }

 private:
  using Lock = std::unique_lock<std::mutex>;

  explicit Journal(std::unique_ptr<Log> log);

  // The mutex, at a moment when nobody is writing a batch.
  Lock lock_quiet();
  // Rebuilds the directory, after another process has sealed batches this one knew.
  Result<void> begin_again();

  // Ends what has folded batches of other processes: the commits that wait are checked again,
  // because their numbers may be taken; while a batch is being written, by whoever writes it. Gives
  // the lock up.
  Result<void> settle(Lock& lock, Result<void> folded, bool moved);

  // Numbers a commit and puts it in line.
  Result<void> stage(const Ticket& ticket);

  // The members below are called with the mutex held.

  // Rebuilds the directory from the store.
  Result<void> reload();
  // Folds the batches that came after the directory; reloads when they were trimmed.
  Result<void> fold_new_batches();
  // What is known of a thread now, without making it known.
  Result<ThreadState> thread_state(std::string_view thread);

  Result<void> make_known(const PendingCommit& commit);
  // Checks the expected revisions and numbers the entries.
  Result<void> assign(PendingCommit& commit);
  // Writes one batch for all who wait. Gives the lock up while writing.
  void lead(Lock& lock);
  std::deque<Ticket> take_batch();
  void finish_batch(const std::deque<Ticket>& batch, const LogHead& written, bool overtaken);
  // Its entries become durable.
  void add_to_directory(const std::deque<Ticket>& batch, const LogHead& written);
  // Whether sealed history has this batch.
  Result<bool> was_sealed(const LogHead& at);
  Result<JournalRecovery> end_recovery(const LogRecovery& newly_found);
  void fail_batch(const std::deque<Ticket>& batch, const Error& error);
  // After another process was first: checks the batch and all that wait behind it again.
  void assign_again(std::deque<Ticket> batch);
  void assign_all(std::deque<Ticket> commits, std::set<std::string, std::less<>> failed_threads);
  void stop(const std::deque<Ticket>& batch, const Error& error);
  void finish(const Ticket& ticket, Result<Committed> outcome);
  // Gives the lock up and wakes those whose commits were finished, and the next to lead.
  void release(Lock& lock);

  Result<std::vector<Entry>> load_once(std::string_view thread, Revision from, std::size_t limit,
                                       BatchCache* cache);
  Result<void> load_sealed(std::string_view thread, Revision from, Revision to,
                           std::vector<Entry>& out);
  Result<void> load_unsealed(std::string_view thread, const ThreadState& state, Revision from,
                             Revision to, std::vector<Entry>& out);
  Result<void> load_cached(std::string_view thread, const ThreadState& state, Revision from,
                           Revision to, BatchCache& cache, std::vector<Entry>& out);

  std::unique_ptr<Log> log_;
  std::mutex seal_mutex_;  // one seal at a time
  std::mutex mutex_;       // guards everything below
  std::condition_variable quiet_;
  Directory directory_;
  std::deque<Ticket> pending_;
  std::vector<Ticket> finished_;  // to be woken at the next release
  bool leading_ = false;          // somebody is writing a batch
  bool overtaken_ = false;        // batches were folded meanwhile, perhaps that one among them
  bool ever_sealed_ = false;      // threads the directory does not know may have sealed entries
  std::uint64_t opened_from_batches_ = 0;
  std::optional<Error> stopped_;
  std::optional<LogRecovery> found_;  // by a recovery that did not come to its end
  std::deque<Ticket> open_;           // the batch whose outcome is open
  std::deque<Ticket> dropped_;  // what had its numbers and was refused when the journal stopped
};

}  // namespace holdfast
