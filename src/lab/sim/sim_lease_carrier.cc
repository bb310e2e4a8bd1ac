#include "lab/sim/sim_lease_carrier.h"

#include "lab/sim/sim_leases.h"
#include "lab/sim/simulation.h"

namespace holdfast::sim {

namespace {

// Rounds that wait inside each other, at most.
constexpr int kMostNested = 4;
int nested = 0;  // of the simulation that is played; simulations are played one after the other

struct Waiting {
  bool done = false;
  Reply reply = {};
};

}  // namespace

LeaseCarrier::LeaseCarrier(Leases& leases, Process& process)
    : leases_(leases),
      process_(process),
      incarnation_(process.incarnation()),
      send_{nullptr, RetryPause(process.random())},
      receive_{nullptr, RetryPause(process.random())},
      exchange_(*this, SharedText(kCarriedQueue), [this] {
        if (is_alive()) {
          schedule(send_, static_cast<std::int64_t>(leases_.next_dice("wake").below(5000, "us")));
        }
      }) {}

void LeaseCarrier::start() {
  schedule(send_, kMs);
  schedule(receive_, 2 * kMs);
}

bool LeaseCarrier::is_alive() const {
  return !stopped_ && process_.up() && process_.incarnation() == incarnation_;
}

std::chrono::milliseconds LeaseCarrier::elapsed() {
  return std::chrono::milliseconds(leases_.simulation().schedule().now_us() / kMs);
}

Result<void> LeaseCarrier::execute(std::function<Result<void>(Turn&)> decide) {
  Simulation& simulation = leases_.simulation();
  auto waiting = std::make_shared<Waiting>();
  process_.submit(std::make_shared<Request>(
      process_, Answer::What::other, R"({"of":"the lease adapter"})",
      [decide = std::move(decide)](Turn& turn) -> Result<std::string> {
        HOLDFAST_CHECK(decide(turn));
        return std::string("{}");
      },
      [waiting](const Reply& reply) {
        *waiting = {true, reply};
      }));
  ++nested;
  while (!waiting->done && !simulation.violated() && simulation.schedule().step()) {
  }
  --nested;
  if (!is_alive() || !waiting->done || simulation.violated()) {
    return Error{ErrorCode::unavailable, "the process has died"};
  }
  return waiting->reply.ok() ? Result<void>()
                             : Error{ErrorCode::unavailable, "the engine did not decide"};
}

void LeaseCarrier::schedule(Side& side, std::int64_t delay_us) {
  Schedule& schedule = leases_.simulation().schedule();
  const std::int64_t at = schedule.now_us() + delay_us;
  if (side.next_us >= schedule.now_us() && side.next_us <= at) {
    return;
  }
  side.next_us = at;
  schedule.after(delay_us, [self = shared_from_this(), &side, at] {
    if (side.next_us == at && self->is_alive()) {
      side.next_us = -1;
      self->play(side);
    }
  });
}

void LeaseCarrier::play(Side& side) {
  if (side.busy || nested >= kMostNested) {
    schedule(side, 5 * kMs);
    return;
  }
  side.busy = true;
  if (side.handle == nullptr) {
    side.handle = leases_.open_handle();
  }
  const Result<void> played =
      &side == &send_ ? exchange_.send_round(*side.handle) : exchange_.receive_round(*side.handle);
  side.busy = false;
  if (!is_alive()) {
    return;
  }
  process_.end_if_died();
  if (!is_alive()) {
    return;
  }
  if (played.ok()) {
    side.pause.reset();
    schedule(side, until_next(side));
    return;
  }
  side.handle.reset();
  const std::chrono::milliseconds pause = side.pause.next();
  leases_.simulation().count("lease:round_failed");
  exchange_.failed(played.error(), pause);
  side.next_us = -1;
  schedule(side, (pause.count() + 1) * kMs);
}

std::int64_t LeaseCarrier::until_next(const Side& side) {
  const Dice dice = leases_.next_dice("round");
  if (&side == &send_) {
    return exchange_.until_next_send().count() * kMs +
           static_cast<std::int64_t>(dice.below(2000, "us"));
  }
  return static_cast<std::int64_t>(1 + dice.below(60, "ms")) * kMs;
}

}  // namespace holdfast::sim
