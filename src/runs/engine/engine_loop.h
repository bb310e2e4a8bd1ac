// Loop: the loop of one journal, with threads around it. A caller drives the loop
// while it waits for its reply: one thread at a time decides, one at a time writes, so the next
// group is decided while the last one is written. The engine's own thread does the work that no
// caller waits for: timers, requests without a waiting caller, changes by other processes,
// checkpoints and sealing.
//
// All members are safe to call from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/retry_pause.h"
#include "base/threads.h"
#include "runs/engine/engine_core.h"

namespace holdfast {

// Notifies programs outside the engine of new work. Called after the commit that made it durable; a
// failure loses nothing, because the journal can always find the work again.
class DispatchNotifier {
 public:
  virtual ~DispatchNotifier() = default;
  // From a thread of the engine's own.
  virtual Result<void> notify(const Wakeup& wakeup) = 0;
};

// Receives what became durable, in order and from one thread at a time. Must not block.
class CommitObserver {
 public:
  virtual ~CommitObserver() = default;
  virtual void committed(const CommitReport& report) = 0;
  // Everything up to there is durable, by whichever process it was written.
  virtual void reached(Position /*position*/) {}
  // The store cannot be reached; the engine resumes when it can. Then: the length of the outage.
  virtual void store_unavailable(const Error& /*why*/) {}
  virtual void store_returned(std::chrono::milliseconds /*outage*/) {}
  // The store failed: nothing more will be done.
  virtual void stopped(const Error& /*why*/) {}
};

// How the loop stands to its store.
struct LoopHealth {
  enum class State : std::uint8_t {
    ready,
    recovering,  // the store cannot be reached; the loop tries again and again
    stopped,     // for good
  };
  State state = State::ready;
  std::optional<Error> why;            // it is not ready; names the store and its host
  std::chrono::milliseconds since{0};  // how long the store has been unavailable
  // For how long the store has not taken a write that is waiting; 0 when none is.
  std::chrono::milliseconds write_pending{0};
};

struct LoopOptions {
  CoreOptions core;
  // Who keeps timers, reads what other processes write, and stores checkpoints. callers: only
  // threads that call the loop; nothing happens between two calls. For tests in virtual time.
  enum class Drive : std::uint8_t { threads, callers };
  Drive drive = Drive::threads;
  DispatchNotifier* notifier = nullptr;  // must outlive the engine
  CommitObserver* observer = nullptr;    // likewise
  // What claims call this process, for people; something random is added. Only read by open.
  std::string_view owner = "engine";
  // Stores live_wakeup_emitted for each notification that succeeded.
  bool record_wakeups = false;
  // Old batches are sealed after this many bytes of new ones, when nothing else happens; 0: never.
  std::uint64_t seal_every_bytes = 64U << 20U;
};

class Loop {
 public:
  // clock and random must outlive the engine.
  static Result<std::unique_ptr<Loop>> open(std::unique_ptr<Journal> journal, Clock& clock,
                                            Random& random, const LoopOptions& options = {});
  // Stops as close() does.
  ~Loop();

  // Decides in the loop and returns when everything the decision read is durable.
  template <typename T>
  Result<T> execute(std::function<Result<T>(Turn&)> decide, Patience patience = Patience::bounded) {
    Waiter waiter;
    std::optional<Result<T>> answer;
    auto command = std::make_shared<FunctionCommand<T>>(
        std::move(decide),
        [&](Result<T> result) {
          answer.emplace(std::move(result));
          waiter.wake();
        },
        patience);
    enqueue(std::move(command));
    drive_until(waiter);
    return *std::move(answer);
  }
  // The same without waiting: `done` is called from whatever thread drives the loop.
  template <typename T>
  void submit(std::function<Result<T>(Turn&)> decide, std::function<void(Result<T>)> done) {
    submit(std::make_shared<FunctionCommand<T>>(std::move(decide), std::move(done)));
  }

  // A thread that waits for something the loop will bring.
  class Waiter {
   public:
    void wake() {
      // The waiter may be gone as soon as the lock is given up.
      const std::scoped_lock lock(mutex_);
      done_ = true;
      changed_.notify_one();
    }
    [[nodiscard]] bool done() {
      const std::scoped_lock lock(mutex_);
      return done_;
    }
    void wait() {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return done_; });
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
  };
  // The parts of execute(): the requests join the line and are carried out together; the loop is
  // driven until the waiter is done.
  void enqueue(LoopRequest request);
  void enqueue(std::vector<LoopRequest> requests);
  void drive_until(Waiter& waiter);
  // Several requests at once, decided together; the engine's own thread sees to them.
  void submit(LoopRequest request);
  void submit(std::vector<LoopRequest> requests);

  // With a new claim id and token of this process.
  Applicant new_applicant(const Skills& skills);
  [[nodiscard]] const SharedText& owner_id() const { return owner_id_; }

  // Definitions are used in the loop only; a new one applies to every later request.
  void add_definition(std::shared_ptr<const Definition> definition);
  // The same, and the journal records that new runs of the workflow use it.
  Result<void> register_definition(const std::shared_ptr<const Definition>& definition);

  Clock& clock() { return clock_; }
  Random& random() { return random_; }
  Journal& journal() { return *journal_; }
  CoreStats stats();
  // The access tokens of the store, as they were when the loop last looked.
  std::shared_ptr<const Tokens> tokens();
  // From now on changes by other processes are taken in as they come.
  void keep_watching();
  // Never waits.
  LoopHealth health();
  // Why the engine stopped; empty while it runs.
  std::optional<Error> failure();

  // Carries out everything that is due now. Returns when more will be due by time alone, also for
  // workers with these skills. Drive::callers only.
  TimesAhead settle(const Skills& skills);

  // No new work; what is under way is ended; a checkpoint is left for the next start. Requests
  // that come later get engine_stopped.
  void close();

 private:
  using Lock = std::unique_lock<std::mutex>;
  Loop(std::unique_ptr<Journal> journal, Clock& clock, Random& random, const LoopOptions& options);

  CoreOptions core_options(const LoopOptions& options);
  // One step of the loop, if one is due and no other thread is doing it.
  bool step(Lock& lock);
  void decide(Lock& lock);
  void write(Lock& lock);
  void deliver_reports(Lock& lock);
  void deliver(const CommitReport& report);
  [[nodiscard]] bool has_step();
  void nudge();
  void wake_for_timer(TimeMs now);

  void run_loop();
  void run_watch();
  void run_notifier();
  void run_keeper();
  void run_recovery();
  [[nodiscard]] bool recovery_due() const;
  bool try_to_recover(Lock& lock);
  void end_recovery(const Result<JournalRecovery>& recovered, TimeMs now);
  void note_outage();
  std::chrono::milliseconds next_pause(RetryPause& backoff);
  void deliver_store_changes(Lock& lock);
  [[nodiscard]] bool seal_due() const;
  [[nodiscard]] bool has_rows() const { return rows_changed_ || !rows_.empty(); }
  void put_away(const Checkpoint& checkpoint);
  void hand_to_keeper(std::optional<Checkpoint> checkpoint, std::vector<NamedCheckpoint> rows);
  void collect_rows(Lock& lock);
  void put_rows(Lock& lock);

  std::unique_ptr<Journal> journal_;
  Clock& clock_;
  Random& random_;
  LoopOptions options_;
  SharedText owner_id_;
  std::mutex random_mutex_;
  std::vector<std::byte> randomness_;  // drawn and not used yet

  std::mutex mutex_;  // guards what follows; the core belongs to the thread that set deciding_
  Definitions definitions_;
  Core core_;
  std::vector<LoopRequest> requests_;
  bool deciding_ = false;
  bool writing_ = false;
  std::optional<Result<Committed>> written_;
  std::uint64_t write_us_ = 0;  // what that took
  using Instant = std::chrono::steady_clock::time_point;
  // Since when no write has ended that the store answered, while one was tried.
  std::optional<Instant> write_pending_since_;
  std::optional<StoreOutage> outage_;  // of the core
  Instant outage_since_;
  std::optional<Result<JournalRecovery>> recovered_;  // for the core
  std::uint64_t recoveries_ = 0;                      // that the core has gone through
  std::condition_variable recovery_wakes_;
  std::vector<CommitReport> reports_;  // not delivered yet
  Position reached_;
  Position reported_position_;
  bool reported_stopped_ = false;
  bool reported_outage_ = false;
  std::optional<Error> failure_;  // of the core
  std::shared_ptr<const Tokens> tokens_ = std::make_shared<const Tokens>();
  bool reporting_ = false;
  bool closing_ = false;
  bool closed_ = false;
  std::condition_variable loop_wakes_;
  std::condition_variable idle_;
  std::optional<TimeMs> loop_wakes_at_;  // set while the loop's thread sleeps
  bool loop_asleep_ = false;
  bool nudged_ = false;

  std::condition_variable watch_changed_;
  bool has_waiters_ = false;  // for what other processes may write
  std::condition_variable keeper_wakes_;
  std::optional<Checkpoint> checkpoint_;
  std::uint64_t unsealed_bytes_ = 0;
  std::map<ThreadId, Checkpoint> rows_;  // to be stored
  bool rows_changed_ = false;            // the core could make newer ones
  bool rows_requested_ = false;          // it is to do so now
  std::uint64_t unlisted_bytes_ = 0;     // of batches that the stored directory does not know

  std::mutex notify_mutex_;
  std::condition_variable notify_wakes_;
  std::deque<Wakeup> to_notify_;
  bool notify_closing_ = false;

  std::mutex close_mutex_;
  ThreadGroup threads_;
};

}  // namespace holdfast
