#include "lab/sim/sim_leases.h"

#include "base/json_writer.h"
#include "lab/sim/sim_lease_carrier.h"
#include "lab/sim/sim_words.h"
#include "lab/sim/simulation.h"
#include "runs/lease_backends/lease_messages.h"
#include "runs/service/work_outcomes.h"

namespace holdfast::sim {

namespace {

constexpr std::int64_t kAnswerUs = 10 * kSecond;
constexpr LeaseBackendOptions kOptions{.redeliver_ms = 8000, .max_deliveries = 6};

// Some calls fail, before or after they took effect, and some messages are lost or repeated.
class LossyHandle final : public LeaseBackend {
 public:
  LossyHandle(Leases& leases, std::unique_ptr<LeaseBackend> whole)
      : leases_(leases), whole_(std::move(whole)) {}

  Result<std::string> epoch(std::string_view queue) override {
    return call([&] { return whole_->epoch(queue); });
  }
  Result<std::vector<Enqueued>> enqueue(std::string_view queue, std::span<const WorkItem> items,
                                        EnqueueMode mode, std::int64_t now_ms) override {
    return call([&]() -> Result<std::vector<Enqueued>> {
      if (loses("enqueue")) {
        return std::vector<Enqueued>(items.size(), Enqueued::added);
      }
      return whole_->enqueue(queue, items, mode, now_ms);
    });
  }
  Result<void> remove(std::string_view queue, std::span<const std::string> ids) override {
    return call([&] { return whole_->remove(queue, ids); });
  }
  Result<LeaseTick> tick(std::string_view queue, std::int64_t now_ms) override {
    return call([&] { return whole_->tick(queue, now_ms); });
  }
  // Some at a time, so that several processes share them.
  Result<std::vector<LeaseSignal>> receive(std::string_view queue, std::size_t /*most*/,
                                           std::chrono::milliseconds /*wait*/) override {
    HOLDFAST_TRY(auto signals, call([&] {
                   return whole_->receive(queue, 1 + leases_.next_dice("most").below(4, "most"),
                                          std::chrono::milliseconds(0));
                 }));
    std::vector<LeaseSignal> arrived;
    for (const LeaseSignal& signal : signals) {
      if (loses("signal")) {
        HOLDFAST_CHECK(whole_->acknowledge(queue, std::vector<std::string>{signal.reference}));
        continue;
      }
      arrived.push_back(signal);
      if (loses("once only")) {
        arrived.push_back(signal);
      }
      received_[signal.reference] = signal;
    }
    return arrived;
  }
  Result<void> acknowledge(std::string_view queue,
                           std::span<const std::string> references) override {
    for (const std::string& reference : references) {
      leases_.simulation().acknowledged(received_[reference]);
    }
    return call([&] { return whole_->acknowledge(queue, references); });
  }
  Result<void> answer(std::string_view queue, std::span<const LeaseAnswer> answers) override {
    std::vector<LeaseAnswer> kept;
    for (const LeaseAnswer& answer : answers) {
      leases_.simulation().lease_answered(answer);
      if (!loses("answer")) {
        kept.push_back(answer);
      }
    }
    return call([&] { return whole_->answer(queue, kept); });
  }
  Result<std::optional<Delivery>> claim(std::string_view queue, std::string_view worker,
                                        std::string_view claim_id, std::string_view token,
                                        std::chrono::milliseconds wait) override {
    return whole_->claim(queue, worker, claim_id, token, wait);
  }
  Result<std::optional<LeaseAnswer>> await_answer(std::string_view queue, const LeaseClaim& claim,
                                                  std::chrono::milliseconds wait) override {
    return whole_->await_answer(queue, claim, wait);
  }
  Result<std::optional<LeaseAnswer>> heartbeat(std::string_view queue, const LeaseClaim& claim,
                                               std::string_view progress) override {
    return call([&] { return whole_->heartbeat(queue, claim, progress); });
  }
  Result<void> end(std::string_view queue, const LeaseClaim& claim, SignalKind how,
                   std::string_view body, std::int64_t delay_ms) override {
    return call([&] { return whole_->end(queue, claim, how, body, delay_ms); });
  }
  [[nodiscard]] std::string name() const override { return whole_->name(); }

 private:
  [[nodiscard]] bool loses(const char* what) {
    const bool lost =
        leases_.simulation().has(Fault::backend) && leases_.next_dice(what).chance(6, "lost");
    if (lost) {
      leases_.simulation().count(std::string("lease:lost_") + what);
    }
    return lost;
  }
  template <typename Call>
  auto call(Call call) -> decltype(call()) {
    const bool fails =
        leases_.simulation().has(Fault::backend) && leases_.next_dice("call").chance(3, "fails");
    if (fails && leases_.next_dice("when").chance(50, "before")) {
      return Error{ErrorCode::unavailable, "the call was lost"};
    }
    auto result = call();
    return fails ? Error{ErrorCode::unavailable, "the answer to the call was lost"}
                 : std::move(result);
  }

  Leases& leases_;
  std::unique_ptr<LeaseBackend> whole_;
  std::map<std::string, LeaseSignal> received_;  // by reference
};

Report report_of(const HandlerAnswer& answer) {
  Report report;
  if (const auto* failure = std::get_if<Failure>(&answer.outcome)) {
    report.outcome = failure->retryable ? ReportedOutcome::retry : ReportedOutcome::fail;
    report.code = Value::parse(failure->error.view())["code"].string();
    report.retry_after_ms = failure->retry_after_ms;
    return report;
  }
  const auto& done = std::get<Completion>(answer.outcome);
  report.result = done.result;
  const Value opts = Value::parse(done.execution_opts.view());
  if (opts.has("defer")) {
    report.outcome = ReportedOutcome::defer;
    report.reason = opts["defer"]["reason"].string();
    report.schedule_in_ms = static_cast<std::uint64_t>(opts["defer"]["schedule_in_ms"].integer());
  } else if (opts.has("continue_as_new")) {
    report.outcome = ReportedOutcome::continue_as_new;
    report.key = opts["continue_as_new"]["key"].string();
    report.input = Payload::trusted(opts["continue_as_new"]["input"].text());
  } else {
    report.schedule_in_ms = static_cast<std::uint64_t>(opts["schedule_in_ms"].integer());
  }
  return report;
}

Assignment assignment_of(const std::string& item_id, const std::string& payload) {
  const Value offered = Value::parse(payload);
  Assignment assignment;
  assignment.runnable_key = item_id;
  assignment.step = offered["step"].string();
  assignment.handler = offered["handler"].string();
  return assignment;
}

}  // namespace

Leases::Leases(Simulation& simulation)
    : simulation_(simulation), dice_(Dice(simulation.plan().seed).about("leases")) {
  if (!simulation.plan().carried) {
    return;
  }
  backend_ = std::make_shared<MemoryLeases>(kOptions, [&simulation] {
    return std::chrono::steady_clock::time_point(
        std::chrono::microseconds(simulation.schedule().now_us()));
  });
  for (std::uint32_t i = 0; i < 1 + simulation.plan().workers; ++i) {
    auto worker = std::make_shared<Worker>();
    worker->name = "w" + std::to_string(i + 1);
    worker->handle = open_handle();
    workers_.push_back(worker);
    after(worker, static_cast<std::int64_t>(i + 1) * 10 * kMs, &Leases::take);
  }
}

Leases::~Leases() = default;

std::unique_ptr<LeaseBackend> Leases::open_handle() {
  return std::make_unique<LossyHandle>(*this, MemoryLeases::open(backend_));
}

void Leases::process_started(Process& process) {
  if (backend_ == nullptr) {
    return;
  }
  auto& carrier = carriers_[process.number()];
  carrier = std::make_shared<LeaseCarrier>(*this, process);
  carrier->start();
}

void Leases::process_stopped(Process& process) {
  if (const auto carrier = carriers_.find(process.number()); carrier != carriers_.end()) {
    carrier->second->stop();
    carriers_.erase(carrier);
  }
}

void Leases::committed(const Process& process, const std::vector<CommitReport>& reports) {
  const auto carrier = carriers_.find(process.number());
  if (carrier == carriers_.end()) {
    return;
  }
  std::vector<SharedText> keys;
  for (const CommitReport& report : reports) {
    for (const Wakeup& wakeup : report.wakeups) {
      if (wakeup.queue == SharedText(kCarriedQueue) &&
          !(simulation_.has(Fault::backend) && next_dice("wakeup").chance(20, "lost"))) {
        keys.push_back(wakeup.runnable_key);
      }
    }
    if (report.counts.circuits_closed > 0) {
      carrier->second->exchange().request_scan();
    }
  }
  if (!keys.empty()) {
    carrier->second->exchange().wake(keys);
  }
}

bool Leases::act(Act act, const Dice& dice) {
  if (backend_ == nullptr || (act != Act::backend_outage && act != Act::backend_loss)) {
    return false;
  }
  if (act == Act::backend_loss) {
    backend_->lose_everything();
    return true;
  }
  backend_->set_reachable(MemoryLeases::Reachable::no);
  const auto length = static_cast<std::int64_t>(1 + dice.below(20, "outage")) * kSecond;
  simulation_.schedule().after(length,
                               [this] { backend_->set_reachable(MemoryLeases::Reachable::yes); });
  return true;
}

void Leases::end_faults() {
  if (backend_ != nullptr) {
    backend_->set_reachable(MemoryLeases::Reachable::yes);
  }
}

// ------------------------------------------------------------------------------------------------
// Workers

void Leases::after(const WorkerPtr& worker, std::int64_t delay_us,
                   void (Leases::*what)(const WorkerPtr&)) {
  simulation_.schedule().after(delay_us, [this, worker, what, number = worker->number] {
    if (worker->number == number) {
      (this->*what)(worker);
    }
  });
}

void Leases::next_item(const WorkerPtr& worker) {
  ++worker->number;
  worker->executing = false;
  after(worker, static_cast<std::int64_t>(1 + next_dice("pause").below(300, "ms")) * kMs,
        &Leases::take);
}

void Leases::take(const WorkerPtr& worker) {
  const Dice dice = next_dice("claim");
  SeededRandom random(dice.number("ids"));
  LeaseClaim claim;
  claim.worker = worker->name;
  claim.claim_id = to_string(make_uuid(TimeMs{SimClock::kBegin}, random));
  claim.token = to_string(make_uuid(TimeMs{SimClock::kBegin}, random));
  const auto taken = worker->handle->claim(kCarriedQueue, worker->name, claim.claim_id, claim.token,
                                           std::chrono::milliseconds(0));
  if (!taken.ok() || !taken.value().has_value()) {
    next_item(worker);
    return;
  }
  claim.item_id = taken.value()->item.id;
  claim.receipt = taken.value()->receipt;
  worker->claim = claim;
  payloads_[worker->name] = taken.value()->item.payload;
  requested_us_[worker->name] = simulation_.schedule().now_us();
  simulation_.note(worker->name + " takes " + claim.item_id + " as claim " + claim.claim_id);
  after(worker, 20 * kMs, &Leases::await_answer);
}

void Leases::await_answer(const WorkerPtr& worker) {
  const auto answer =
      worker->handle->await_answer(kCarriedQueue, worker->claim, std::chrono::milliseconds(0));
  if (answer.ok() && answer.value().has_value()) {
    const LeaseAnswer& given = *answer.value();
    if (given.verdict == LeaseAnswer::Verdict::granted) {
      worker->lease_ms = given.lease_ms;
      execute(worker);
    } else {
      next_item(worker);
    }
    return;
  }
  if (simulation_.schedule().now_us() - requested_us_[worker->name] > kAnswerUs) {
    send_end(worker, SignalKind::yield, "", 0);  // the answer may have been lost
    next_item(worker);
    return;
  }
  after(worker, 50 * kMs, &Leases::await_answer);
}

Behaviour Leases::behaviour(const Dice& dice) const {
  constexpr std::size_t kAll = std::size(kEnumNames<Behaviour>);
  const std::uint64_t luck = dice.below(2 * kAll, "habit");
  return simulation_.has(Fault::worker) && luck < kAll ? static_cast<Behaviour>(luck)
                                                       : Behaviour::good;
}

void Leases::execute(const WorkerPtr& worker) {
  const Dice dice = dice_.about(worker->claim.claim_id);
  simulation_.note(worker->name + " executes " + worker->claim.item_id);
  worker->executing = true;
  worker->answer =
      simulation_.scenario().answer(assignment_of(worker->claim.item_id, payloads_[worker->name]));
  worker->behaviour = behaviour(dice);
  const auto lease_us = static_cast<std::int64_t>(worker->lease_ms) * kMs;
  std::int64_t takes = worker->answer.takes_us;
  switch (worker->behaviour) {
    case Behaviour::good:
    case Behaviour::repeats:
    case Behaviour::contradicts:
    case Behaviour::forges:
      break;
    case Behaviour::stalls:
    case Behaviour::reports_late:
      takes = lease_us + static_cast<std::int64_t>(dice.below(20'000'000, "late"));
      break;
    case Behaviour::reports_at_expiry:
      takes = lease_us - static_cast<std::int64_t>(dice.below(100 * kMs, "early"));
      break;
    case Behaviour::dies:
    case Behaviour::hangs:  // and the worker is restarted
      after(worker, takes, &Leases::next_item);
      return;
  }
  const bool renews = worker->behaviour != Behaviour::reports_late &&
                      worker->behaviour != Behaviour::reports_at_expiry;
  if (renews) {
    after(worker, lease_us / 3, &Leases::heartbeat);
  }
  const bool gives_back = simulation_.has(Fault::worker) && dice.chance(8, "gives back");
  after(worker, takes, gives_back ? &Leases::give_back : &Leases::report);
}

void Leases::heartbeat(const WorkerPtr& worker) {
  const auto answer = worker->handle->heartbeat(kCarriedQueue, worker->claim, R"({"at":1})");
  if (answer.ok() && answer.value().has_value() &&
      answer.value()->verdict == LeaseAnswer::Verdict::lost) {
    simulation_.count("lease:worker_stopped");
    next_item(worker);
    return;
  }
  after(worker, static_cast<std::int64_t>(worker->lease_ms) * kMs / 3, &Leases::heartbeat);
}

void Leases::give_back(const WorkerPtr& worker) {
  send_end(worker, SignalKind::yield, "", 700);
  next_item(worker);
}

void Leases::report(const WorkerPtr& worker) {
  const Report report = report_of(worker->answer);
  const SignalKind kind = end_of(report);
  const std::string body = body_of(report);
  if (worker->behaviour == Behaviour::forges) {
    const LeaseClaim own = worker->claim;
    worker->claim.token = "forged";
    send_end(worker, SignalKind::complete, R"({"result":{"n":98}})", 0);
    worker->claim = own;
  }
  send_end(worker, kind, body, 0);
  if (worker->behaviour == Behaviour::repeats) {
    send_end(worker, kind, body, 0);
  }
  if (worker->behaviour == Behaviour::contradicts) {
    send_end(worker, SignalKind::complete, R"({"result":{"n":99}})", 0);
  }
  next_item(worker);
}

// A call that fails is repeated once; then the worker gives up.
void Leases::send_end(const WorkerPtr& worker, SignalKind kind, const std::string& body,
                      std::int64_t delay_ms) {
  simulation_.note(worker->name + " sends " + std::string(signal_name(kind)) + " of " +
                   worker->claim.item_id);
  if (kind == SignalKind::yield) {
    simulation_.oracle().given_back(worker->claim.claim_id, std::max<std::int64_t>(1, delay_ms));
  }
  const auto send = [&] {
    return worker->handle->end(kCarriedQueue, worker->claim, kind, body, delay_ms);
  };
  if (!send().ok()) {
    static_cast<void>(send());
  }
}

}  // namespace holdfast::sim
