// LeaseCarrier: the exchange between one process and the backend, driven by the schedule instead of
// threads. A round that waits for the engine lets virtual time pass meanwhile; rounds of other
// processes may run in between, one inside the other.
#pragma once

#include <memory>

#include "base/retry_pause.h"
#include "lab/sim/sim_process.h"
#include "runs/lease_adapter/lease_exchange.h"

namespace holdfast::sim {

class Leases;

class LeaseCarrier final : private LeaseEngine, public std::enable_shared_from_this<LeaseCarrier> {
 public:
  LeaseCarrier(Leases& leases, Process& process);

  void start();
  // The process has died; a round that is in progress ends with an error.
  void stop() { stopped_ = true; }
  LeaseExchange& exchange() { return exchange_; }

 private:
  // What a thread of the adapter does, one round after the other.
  struct Side {
    std::unique_ptr<LeaseBackend> handle;
    RetryPause pause;
    bool busy = false;
    std::int64_t next_us = -1;
  };

  Result<void> execute(std::function<Result<void>(Turn&)> decide) override;
  TimeMs now() override { return process_.now(); }
  std::chrono::milliseconds elapsed() override;
  Journal& journal() override { return process_.journal(); }
  Applicant applicant() override { return process_.applicant(); }

  [[nodiscard]] bool is_alive() const;
  void schedule(Side& side, std::int64_t delay_us);
  void play(Side& side);
  std::int64_t until_next(const Side& side);

  Leases& leases_;
  Process& process_;
  std::uint64_t incarnation_;
  bool stopped_ = false;
  Side send_;
  Side receive_;
  LeaseExchange exchange_;
};

}  // namespace holdfast::sim
