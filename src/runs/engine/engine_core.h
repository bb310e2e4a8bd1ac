// Core: the loop of one partition, without threads. It is driven by one caller at a time, the one
// that holds the role.
//
//   post(command)            a command joins the line
//   decide(now)              decides everything in line, ahead of the disk, into one group
//   begin_write()            closes the group and hands it out to be written
//   end_write(outcome)       durable: replies, claims and effects are released;
//                            conflict: everything not durable is taken back, what others wrote is
//                            folded in, the same commands are decided again;
//                            a store that can be reached again: the core waits, outage() says why;
//                            any other failure: the core stops and says why.
//   store_returned(found)    after outage(): the outcome of the open write is known
//
// While one group is written the next one is decided. Nothing that is not durable is ever seen
// outside: a reply waits for every group it was decided upon.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "runs/engine/engine_command.h"
#include "runs/engine/live_state.h"
#include "runs/engine/loop_request.h"
#include "runs/engine/row_collector.h"
#include "runs/engine/run_waits.h"
#include "runs/engine/schedules.h"
#include "runs/engine/step_chain.h"
#include "runs/engine/stored_payloads.h"
#include "storage/journal/journal.h"

namespace holdfast {

struct CoreOptions {
  MemoryLimits memory = {};
  // Reading one payload back means reading its whole batch.
  std::size_t max_group_bytes = 2U << 20U;
  // A checkpoint is due after this many entries, and at least four for each live attempt.
  std::uint64_t checkpoint_every = 100'000;
  // While the store is unavailable: how long unwritten commands wait, and how many may wait.
  std::int64_t store_patience_ms = 5000;
  std::size_t max_waiting_commands = 10'000;
  // Queues whose attempts another program carries to workers: LiveQueues::set_carried.
  std::vector<SharedText> carried_queues = {};
  // Who the engine is when it claims something itself, each time with a new token.
  EngineApplicant applicant = [] {
    return Applicant{{"engine", sha256("engine"), "engine", {}}, "engine"};
  };
};

struct CoreStats {
  std::uint64_t commits = 0;
  std::uint64_t facts = 0;
  std::uint64_t bytes = 0;  // of the facts
  std::uint64_t conflicts = 0;
  std::uint64_t recovered = 0;  // unfinished work of other writers that was continued
  std::uint64_t claims = 0;
  std::uint64_t recoveries = 0;  // of an unavailable store
};

// Why the core waits for its store, and since when.
struct StoreOutage {
  Error why;
  TimeMs since;
};

// Whether an attempt to recover may work later. Damage, another history and the like stay.
bool may_return(const Error& failure);

// What others may want to know about a batch, after it is durable.
struct CommitReport {
  Position position;
  std::size_t entries = 0;
  std::size_t bytes = 0;
  std::vector<Wakeup> wakeups;  // new attempts that no worker of this process has claimed at once
  std::vector<LogLine> lines;   // of log steps
  std::size_t commands = 0;     // that were decided in it
  FactCounts counts = {};
  std::uint64_t write_us = 0;  // how long it took to make it durable; the loop measures it
};

// When time alone brings something to do; empty: never.
struct TimesAhead {
  std::optional<TimeMs> work;      // of a run: a timer, a retry, a timeout, the end of a lease
  std::optional<TimeMs> schedule;  // a cron trigger
};

// A claim this process holds and keeps alive.
struct HeldClaim {
  ClaimProof proof;
  std::uint64_t lease_ms = 0;
  TimeMs last_heartbeat;  // or when it was claimed
  TimeMs next_heartbeat;
  Payload progress;  // what the holder said last; goes with each heartbeat
  std::function<void(const SharedText& claim_id, const Error&)> lost;
};

class Core {
 public:
  // The journal and the definitions must outlive the core.
  Core(Journal& journal, Definitions& definitions, const CoreOptions& options);

  // Reads the newest checkpoint and what came after it.
  Result<void> open();

  void post(CommandPtr command);
  // Carries out the requests of the loop's callers, in this order.
  void handle(std::vector<LoopRequest> requests);
  // Each request once. One that was withdrawn before it arrived is ignored.
  void request_claim(const ClaimRequestPtr& request);
  // Returns the number of attempts that will not be claimed for the request any more. Claims that
  // are not durable yet stay; `undone` gets their number if they are taken back.
  std::size_t withdraw_request(const ClaimRequestPtr& request,
                               std::function<void(std::size_t)> undone = nullptr);
  // How far the holder of a claim is: stored with the next heartbeat, which comes within a second
  // if there was none in the last one. Ignored when the claim is not held here any more.
  void set_progress(const SharedText& claim_id, const Payload& progress);
  // No more heartbeats for a claim.
  void drop(const SharedText& claim_id);
  // What could not be done for want of a definition may be now.
  void definitions_changed();
  // Others may have written: takes that in.
  void check_for_changes() { check_changes_ = true; }

  [[nodiscard]] bool has_work(TimeMs now) const;
  void decide(TimeMs now);
  // There is a group, and nothing is being written.
  [[nodiscard]] bool can_write() const;
  struct Write {
    Position expected_head;
    CommitBuffer* commit;
  };
  Write begin_write();
  void end_write(const Result<Committed>& outcome, TimeMs now);

  // Effects of what became durable, to be carried out by the caller without any role.
  std::vector<std::function<void()>> take_effects();
  std::vector<CommitReport> take_reports();
  // Checkpoints for lists of runs, to be stored some time later; a newer one replaces an older.
  std::vector<NamedCheckpoint> take_rows() { return rows_.take(); }
  // Rows of live runs are made on request: of each run that has changed, as soon as it is durable.
  void request_rows();
  [[nodiscard]] bool has_changed_rows() const { return rows_.has_changed(); }
  // The next moment at which decide has something to do by itself.
  [[nodiscard]] std::optional<TimeMs> next_timer(TimeMs now) const;
  // The same for workers with these skills, whether or not they wait; without heartbeats.
  [[nodiscard]] TimesAhead times_ahead(const Skills& skills, TimeMs now) const;
  // A caller waits for something that another process may write.
  [[nodiscard]] bool has_waiters() const { return has_claim_request() || watchers_ > 0; }
  void add_watcher() { ++watchers_; }
  void remove_watcher() { --watchers_; }
  RunWaits& run_waits() { return run_waits_; }

  // Set while the store cannot be reached: nothing is decided or written. The caller that drives
  // the core ends a write that is in progress, calls Journal::recover() until it succeeds, then
  // store_returned(); or stop() if recover() may not be called again.
  [[nodiscard]] const std::optional<StoreOutage>& outage() const { return outage_; }
  void store_returned(const JournalRecovery& recovery, TimeMs now);
  // A write has ended, and its outcome is unknown.
  [[nodiscard]] bool has_open_write() const { return open_write_.has_value(); }

  [[nodiscard]] const std::optional<Error>& stopped() const { return stopped_; }
  // Fails every waiting command with this error. A write in progress is ended first.
  void stop(const Error& why);

  [[nodiscard]] Position position() const { return state_->position(); }
  LiveState& state() { return *state_; }
  [[nodiscard]] const CoreStats& stats() const { return stats_; }

  // Enough has happened since the last checkpoint that the next start should not read it all.
  // Then nothing new is decided until nothing is on its way to the disk, and the state is put
  // into bytes; take_checkpoint gives them once.
  std::optional<Checkpoint> take_checkpoint();
  // Makes a checkpoint due now, if anything happened since the last one.
  void request_checkpoint() { checkpoint_requested_ = since_checkpoint_ > 0; }
  static Result<void> save(Journal& journal, const Checkpoint& checkpoint);

 private:
  struct Group {
    GroupFacts facts;
    std::size_t entries = 0;  // of the facts, once they are being written
    std::size_t bytes = 0;
    std::vector<CommandPtr> commands;
    std::vector<std::optional<Error>> refusals;  // beside each command
    struct Claimed {
      ClaimRequestPtr request;
      std::vector<Assignment> assignments;
    };
    std::vector<Claimed> claimed;
    std::vector<SharedText> heartbeats;              // claims that got a heartbeat
    std::vector<Schedules::Due> due;                 // what schedules have started
    std::vector<std::pair<SharedText, Error>> lost;  // claims that a heartbeat found gone
    UndoLog::Mark begin = 0;
    UndoLog::Mark end = 0;
  };

  [[nodiscard]] bool has_claim_request() const;
  std::deque<ClaimRequestPtr>& line_of(const ClaimRequest& request);
  void decide_commands(Turn& turn);
  void send_heartbeats(Turn& turn);
  // What time alone brings: timers, attempts that took too long, schedules.
  Result<void> keep_time(Turn& turn);
  bool start_due(Turn& turn);
  void hold(const ClaimRequest& request, const Assignment& assignment, TimeMs now);
  void schedule_heartbeat(const SharedText& claim_id, HeldClaim& claim, TimeMs at);
  void serve_waiting(Turn& turn);
  bool serve(Turn& turn, const ClaimRequestPtr& request);
  [[nodiscard]] bool timer_for_workers_due(TimeMs now) const;
  [[nodiscard]] std::optional<TimeMs> next_claimable_at(TimeMs now) const;
  void finish_write(const Result<Committed>& outcome, TimeMs now);
  void put_back(std::vector<Group::Claimed>& claimed);
  void refuse(const ClaimRequestPtr& request);
  static CommitReport report_of(Group& group, Position position);
  void release(Group& group, TimeMs now);
  void release_unwritten(TimeMs now);
  // Takes groups back; their commands and workers are first in line again.
  enum class Groups : std::uint8_t { all, building };
  void take_back(Groups which = Groups::all);
  // Waits for the store, or stops when it cannot come back.
  void store_failed(const Error& why, TimeMs now);
  void end_open_write();
  [[nodiscard]] Error unavailable() const;
  [[nodiscard]] bool patience_expired(TimeMs now) const;
  void reject_waiting();
  void drop_claims_of_ended_runs();
  void stop_handlers(const GroupFacts& facts);
  [[nodiscard]] bool quiet() const {
    return writing_ == nullptr && building_->facts.commit.empty();
  }
  [[nodiscard]] std::unique_ptr<LiveState> new_state() const;
  void make_checkpoint();
  void make_due_rows();
  Result<void> catch_up();

  Journal& journal_;
  Definitions& definitions_;
  CoreOptions options_;
  std::unique_ptr<LiveState> state_;
  std::shared_ptr<InputReader> inputs_;
  std::deque<CommandPtr> inbox_;
  // Claim requests of workers with the same skills wait in one line.
  struct Line {
    std::shared_ptr<const Skills> skills;
    std::deque<ClaimRequestPtr> requests;
  };
  std::vector<Line> lines_;
  std::map<SharedText, HeldClaim> held_;
  std::set<std::pair<TimeMs, SharedText>> heartbeats_;  // when each of them needs a heartbeat
  std::unique_ptr<Group> building_;
  std::unique_ptr<Group> writing_;
  std::vector<std::function<void()>> effects_;
  std::vector<CommitReport> reports_;
  RowCollector rows_;
  std::optional<Error> stopping_;  // as soon as the write that is under way has ended
  std::optional<Error> stopped_;
  std::optional<StoreOutage> outage_;
  std::optional<Error> open_write_;  // how writing_ ended; its outcome is unknown
  bool rejecting_ = false;           // the outage lasts longer than commands wait
  bool rebuild_ = false;             // the state may hold what is not in the log
  CoreStats stats_;
  std::size_t watchers_ = 0;
  RunWaits run_waits_;
  Schedules schedules_;
  std::uint64_t since_checkpoint_ = 0;
  std::optional<Checkpoint> checkpoint_;
  bool checkpoint_requested_ = false;
  int busy_tries_ = 0;
  bool check_changes_ = false;  // others may have written
  bool recover_ = true;         // there may be new pending recovery
  bool serve_again_ = false;    // new attempts or new workers
};

}  // namespace holdfast
