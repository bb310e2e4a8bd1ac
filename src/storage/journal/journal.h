// Journal: threads of entries inside the batches of one log.
//
// - append and commit are durable when they return success. A commit over several threads is
//   stored whole or not at all, as one batch; commits are written one after the other. A caller
//   that has many entries puts them into one commit.
// - An expected revision that no longer holds is conflict; nothing of that commit is written.
//   This also holds against other processes on the same store.
// - load and revision show durable entries only, and never wait for a commit.
// - After an I/O error the journal is stopped until recover() has read back the outcome of the
//   open batch, or until it is opened again (see storage/log/log.h).
// - Entries never change. Sealing moves them into segments and loses nothing.
//
// All members are safe to call from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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
  // Seal batches below this position; the newest batch always stays. Empty: as many as possible.
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

// What recover() found.
struct JournalRecovery {
  // Of the batch whose outcome was unknown, if there was one: committed; conflict when it is not
  // stored and never will be.
  std::optional<Result<Committed>> open;
  // Batches that this process had read are gone: state folded from them must be rebuilt.
  bool rewound = false;
};

class Journal {
 public:
  // Start-up reads the newest directory and the batches after it. unfinished_copy when the
  // store is the target of a copy that did not end.
  static Result<std::unique_ptr<Journal>> open(std::unique_ptr<Log> log);
  ~Journal();

  Result<Revision> append(const ThreadId& thread, std::vector<NewEntry> entries,
                          std::optional<Revision> expected_rev = std::nullopt);
  Result<Committed> commit(const Commit& commit);

  // commit() for a caller that decided on the whole log up to expected_head: conflict when any
  // batch came after it, whatever threads it touches. Entries are stored in the order in which
  // they were added.
  Result<Committed> commit_at(Position expected_head, CommitBuffer&& commit);

  [[nodiscard]] bool can_recover() const { return log_->can_recover(); }
  // After a failure of the store: reconnects, reads back the outcome of the open batch, and
  // continues. Not while commits are in progress. Errors as those of Log::recover: diverged and
  // log_stopped are final; after others it may be called again.
  Result<JournalRecovery> recover();

  // 0 for a thread without entries.
  Result<Revision> revision(const ThreadId& thread);
  // Entries with seq >= from, in order, at most limit of them.
  // `cache`, if there is one, remembers batches for the next thread that is loaded with it.
  Result<std::vector<Entry>> load(const ThreadId& thread, Revision from = {},
                                  std::size_t limit = SIZE_MAX, BatchCache* cache = nullptr);
  // How much of a thread is sealed, and which batches hold the rest of it.
  Result<ThreadState> state_of(const ThreadId& thread);
  Result<void> put_checkpoint(const ThreadId& thread, const Checkpoint& checkpoint);
  // All of them in one update of the store.
  Result<void> put_checkpoints(std::span<const NamedCheckpoint> checkpoints);
  // Empty when there is none, or it is of another version, newer than the thread, or damaged.
  Result<std::optional<Checkpoint>> find_checkpoint(const ThreadId& thread, std::uint8_t version);
  // One (or none) for each thread, read from the store at once: those that cover all current
  // entries of their thread.
  Result<std::vector<std::optional<Checkpoint>>> find_current_checkpoints(
      std::span<const ThreadId> threads, std::uint8_t version);
  Result<void> delete_checkpoint(const ThreadId& thread);

  // Moves old batches into compressed segments per thread and trims the log. Safe at any time, also
  // while other processes append; conflict if another process seals at the same time.
  Result<SealReport> seal(const SealOptions& options = {});
  // Writes the directory, so that the next open reads only what comes after it.
  Result<void> save_directory();
  // Folds the batches that other processes have appended; returns the newest position. Never waits
  // for a batch that is being written.
  Result<Position> catch_up();

  Result<JournalStat> stat();
  [[nodiscard]] std::string name() const { return log_->name(); }
  [[nodiscard]] Log& log() { return *log_; }

 private:
  explicit Journal(std::unique_ptr<Log> log);

  // Numbers the entries and appends them as one batch. If another process was first, the commit is
  // checked and numbered again.
  Result<Committed> write(CommitBuffer&& commit, std::optional<Position> expected_head);

  // The members below are called with mutex_ held.

  // Rebuilds the directory from the store.
  Result<void> reload();
  // Folds the batches that came after the directory; reloads when they were trimmed.
  Result<void> fold_new_batches();
  // Returns the result. A directory that found damage cannot be used any more: the journal stops.
  Result<void> stop_on_damage(Result<void> folded);
  void stop(const Error& error);

  Result<ThreadState> thread_state(std::string_view thread);
  Result<Revision> durable_revision(std::string_view thread);
  // Checks the expected head and revisions, and numbers the entries.
  Result<void> number(std::vector<CommitPart>& parts, std::optional<Position> expected_head);
  // Adds a durable batch of this process to the directory, unless a reader has folded it already.
  Result<void> add_to_directory(const std::vector<CommitPart>& parts, const LogHead& written);
  static Committed committed_at(Position position, const std::vector<CommitPart>& parts);
  // Whether sealed history has this batch.
  Result<bool> was_sealed(const LogHead& at);
  Result<JournalRecovery> end_recovery(const LogRecovery& newly_found);

  Result<std::vector<Entry>> load_once(std::string_view thread, Revision from, std::size_t limit,
                                       BatchCache* cache);
  Result<void> load_sealed(std::string_view thread, Revision from, Revision to,
                           std::vector<Entry>& out);
  Result<void> load_unsealed(std::string_view thread, const ThreadState& state, Revision from,
                             Revision to, std::vector<Entry>& out);
  Result<void> load_cached(std::string_view thread, const ThreadState& state, Revision from,
                           Revision to, BatchCache& cache, std::vector<Entry>& out);

  std::unique_ptr<Log> log_;
  std::mutex seal_mutex_;   // one seal at a time
  std::mutex write_mutex_;  // one write or recovery at a time; taken before mutex_
  std::mutex mutex_;        // guards everything below; never held during an append
  Directory directory_;
  bool ever_sealed_ = false;  // threads that the directory does not know may have sealed entries
  std::uint64_t opened_from_batches_ = 0;
  std::optional<Error> stopped_;
  std::optional<LogRecovery> found_;             // by a recovery that failed before its end
  std::optional<std::vector<CommitPart>> open_;  // the batch whose outcome is unknown
};

}  // namespace holdfast
