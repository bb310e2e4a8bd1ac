// Process: one engine process on the shared disk. The real core, journal and log are driven one
// step at a time in virtual time; between any two steps other parts of the simulation act, and the
// process may die.
//
//   decide -> begin the write -> the batch is durable -> the core learns it -> replies are sent
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/sim/sim_dice.h"
#include "lab/sim/sim_request.h"
#include "lab/sim/sim_schedule.h"
#include "lab/sim/sim_store.h"
#include "runs/engine/engine_core.h"

namespace holdfast::sim {

class Simulation;

class Process final : private StoreEvents {
 public:
  struct Environment {
    Schedule& schedule;
    Simulation& simulation;
    std::shared_ptr<MemoryDisk> disk;
    Dice dice;
  };
  Process(const Environment& env, std::uint32_t number);
  ~Process() override;

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::string name() const { return "p" + std::to_string(number_); }
  [[nodiscard]] bool up() const { return core_ != nullptr; }
  // Changes with every start; callers compare it to notice a restart.
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }
  void open();
  void kill(const std::string& why);
  // Ends the process if it died during maintenance of its store.
  void end_if_died();

  Core& core() { return *core_; }
  Journal& journal() { return *journal_; }
  SimClock& clock() { return clock_; }
  TimeMs now() { return clock_.now(); }
  Random& random() { return random_; }
  // Who the engine is when it claims something itself.
  Applicant applicant();
  // Nothing is being written or waits to be written.
  [[nodiscard]] bool quiet() const {
    return up() && !writing_ && !core_->can_write() && !core_->outage().has_value();
  }
  [[nodiscard]] std::uint64_t groups_begun() const { return groups_begun_; }
  [[nodiscard]] std::uint64_t groups_landed() const { return groups_landed_; }

  void submit(const RequestPtr& request);
  void request_claim(const ClaimRequestPtr& request);
  // Schedules a turn, because something may have changed.
  void wake();
  // Sends a reply after a short delay, if the process is still alive then.
  void send_later(std::function<void()> what);
  void decided(const RequestPtr& request) { decided_.push_back(request); }
  // The requests whose latest decision is in the group that is being written, in order.
  std::vector<RequestPtr> requests_of_write();
  Simulation& simulation() { return env_.simulation; }
  // The requests that were submitted before a time and have no answer yet.
  [[nodiscard]] std::vector<RequestPtr> unanswered(std::int64_t submitted_before_us) const;

  // Faults.
  void next_write(WriteFate fate) { next_write_ = fate; }
  void next_side_write(WriteFate fate) { next_side_write_ = fate; }
  void next_read_fails() { next_read_fails_ = true; }
  void stall_for(std::int64_t us) { stalled_until_us_ = env_.schedule.now_us() + us; }
  void write_slowly(std::int64_t us) { extra_write_us_ = us; }
  void end_faults();

 private:
  WriteFate fate_of_write(bool side) override;
  bool read_fails() override { return std::exchange(next_read_fails_, false); }
  bool can_reconnect() override { return recovers_; }
  std::size_t split_after(std::string_view body) override;
  void landed(const RowView& row, bool whole) override;
  void died() override { dying_ = true; }

  Result<void> try_open();
  void schedule_turn(std::int64_t delay_us);
  void turn();
  void decide();
  void begin_write();
  void write(const Core::Write& what);
  void end_write(const Result<Committed>& outcome);
  void forget_write();
  // While the store is unavailable: schedules the next attempt to recover.
  void plan_recovery();
  void recover();
  void execute_effects();
  void save_checkpoint();
  void plan_next_turn();
  bool check_stopped();
  std::int64_t delay(std::string_view what, std::int64_t at_most_us);
  // Calls `what` only if the process is still in this incarnation.
  void after(std::int64_t delay_us, std::function<void()> what);

  Environment env_;
  std::uint32_t number_;
  Dice dice_;
  SimClock clock_;
  SeededRandom random_;
  std::uint64_t incarnation_ = 0;
  std::uint64_t draws_ = 0;

  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Definitions> definitions_;
  std::unique_ptr<Core> core_;
  std::vector<RequestPtr> requests_;  // not settled yet
  std::vector<RequestPtr> decided_;   // since the last write began, some of them perhaps twice
  std::vector<RequestPtr> in_write_;
  bool writing_ = false;
  bool dying_ = false;
  bool recovers_ = false;    // continues after a failure of its store
  bool recovering_ = false;  // an attempt to recover is scheduled
  std::uint64_t groups_begun_ = 0;
  std::uint64_t groups_landed_ = 0;
  std::int64_t next_turn_us_ = -1;
  std::int64_t last_reply_us_ = 0;
  std::int64_t stalled_until_us_ = 0;
  std::int64_t extra_write_us_ = 0;
  WriteFate next_write_ = WriteFate::good;
  WriteFate next_side_write_ = WriteFate::good;
  bool next_read_fails_ = false;
};

}  // namespace holdfast::sim
