// BrokerMachine: broker processes on one database, in virtual time. The store, the accept path, the
// limiter and the jobs are those of the product; requests are interleaved wherever a broker waits,
// and share transactions.
//
// A process can die at any step: what it was doing is unwound, the database is opened again, and
// all tables must then be those of the oracle.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/broker/broker_service.h"
#include "delivery/broker/broker_store.h"
#include "lab/broker_sim/broker_oracle.h"
#include "lab/broker_sim/sim_task.h"
#include "lab/sim/sim_coverage.h"
#include "lab/sim/sim_dice.h"
#include "lab/sim/sim_schedule.h"
#include "lab/sim/sim_trace.h"

namespace holdfast::broker_sim {

inline constexpr const char* kAdminToken = "the token of the administrator";

// A fault that happens the next time a process reaches a point.
struct ArmedFault {
  std::size_t process = 0;
  delivery::FaultPoint point = delivery::FaultPoint::claimed;
  bool crash = false;  // otherwise the step fails
};

// What the parts of a simulation share.
struct BrokerWorld {
  sim::Schedule schedule;
  sim::Dice dice;
  BrokerOracle oracle;
  sim::Trace& trace;
  sim::Coverage& coverage;
  std::int64_t horizon_us = 0;

  [[nodiscard]] bool quiet() const { return schedule.now_us() >= horizon_us; }
  void log(const std::string& line) { trace.add(schedule.now_us(), line); }
};

class BrokerMachine {
 public:
  using OnAnswer = std::function<void(const net::Response&)>;

  BrokerMachine(BrokerWorld& world, std::uint32_t processes);
  ~BrokerMachine();
  BrokerMachine(const BrokerMachine&) = delete;
  BrokerMachine& operator=(const BrokerMachine&) = delete;

  [[nodiscard]] std::size_t processes() const { return processes_.size(); }
  [[nodiscard]] bool is_up(std::size_t process) const;
  // Starts a request; its answer is checked before it is given. Lost if the process dies.
  void send(std::size_t process, const SimMessage& message, OnAnswer on_answer);
  // A request that is not a message, as a whole.
  net::Response call(std::size_t process, const std::string& token, const std::string& method,
                     const std::string& path, const std::string& body = {});
  // A request about a queue, as a whole, under the faults that are armed. `apply` is called once it
  // is known whether the transaction was committed, before a process that died is replaced: with no
  // response when it was lost.
  using OnConsumed = std::function<void(bool committed, const net::Response* response)>;
  void consume(std::size_t process, const std::string& token, const std::string& path,
               const std::string& body, const OnConsumed& apply);
  // The job that ends what is due in queues.
  void advance_queues(std::size_t process);
  // One batch of a job.
  void sweep(std::size_t process, std::uint32_t limit);
  void prune(std::size_t process, std::uint32_t limit);
  void run_sql(const std::string& sql);

  void crash(std::size_t process);
  void arm(const ArmedFault& fault) { armed_.push_back(fault); }
  void disarm() { armed_.clear(); }
  void set_limiter_down(bool down) { limiter_down_ = down; }
  void jump_clock(std::int64_t ms);
  [[nodiscard]] std::int64_t now(std::size_t process);

  // Every row of every table against the oracle, and the orphan check of the product.
  void check_tables();

 private:
  struct Process;
  struct Request;
  class Store;
  class Limiter;

  void open_database();
  void start(std::size_t process);
  void run(Request& request);
  void resume_later(Request& request, std::int64_t delay_us);
  void finish(Request& request);
  void commit(std::size_t process);
  void settle(std::vector<Request*>& group,
              const std::vector<Result<delivery::AcceptOutcome>>& outcomes);
  std::vector<Request*> next_group(std::size_t process);
  Result<void> reached(std::size_t process, delivery::FaultPoint point);
  Result<void> reached_in_transaction(delivery::FaultPoint point);
  template <typename Job>
  void run_job(std::size_t process, const Job& job);
  std::set<std::string> stored(const std::string& sql);
  std::int64_t delay(const char* label, std::int64_t most_us);

  BrokerWorld& world_;
  std::string folder_;
  std::unique_ptr<delivery::BrokerStore> database_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<ArmedFault> armed_;
  Request* current_ = nullptr;  // whose thread runs
  std::size_t committing_ = 0;  // the process whose transaction runs
  // Of the transaction that runs: how many messages are claimed, which of them were made to fail,
  // whether all of it was made to fail, or only its answer.
  std::size_t claimed_ = 0;
  std::size_t group_size_ = 0;
  std::set<std::size_t> failed_;
  // A group with a message that failed is accepted once more, and that message fails again: after
  // so many claims, at this point.
  std::optional<std::pair<std::size_t, delivery::FaultPoint>> failing_;
  bool faulted_whole_ = false;
  bool answer_lost_ = false;  // after the commit
  bool committed_ = false;
  bool queue_committed_ = false;
  bool limiter_down_ = false;
  std::int64_t newest_time_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace holdfast::broker_sim
