#include "lab/sim/simulation.h"

#include <algorithm>

#include "lab/sim/fault_injector.h"
#include "lab/sim/sim_checks.h"
#include "lab/sim/sim_clients.h"
#include "lab/sim/sim_leases.h"
#include "lab/sim/sim_workers.h"
#include "runs/inspect/inspector.h"

namespace holdfast::sim {

namespace {

// Limits on what may happen after the faults until all runs have ended, and after that.
constexpr std::uint64_t kMaxFinalEvents = 4000;
// With foreign facts, some runs may never end.
constexpr std::uint64_t kMaxFinalEventsWithForeignFacts = 1000;
constexpr std::uint64_t kMaxEvents = 400'000;
constexpr std::int64_t kLastCommandsUs = 120 * kSecond;
constexpr std::int64_t kLastAnswersUs = 400'000'000;

std::int64_t some_us(const Dice& dice, std::string_view what, std::int64_t below_us,
                     std::uint64_t which = 0) {
  return static_cast<std::int64_t>(dice.below(static_cast<std::uint64_t>(below_us), what, which));
}

}  // namespace

Simulation::Simulation(const Plan& plan, const Scenario& scenario, Trace& trace, Coverage& coverage)
    : plan_(plan),
      scenario_(scenario),
      trace_(trace),
      coverage_(coverage),
      dice_(Dice(plan.seed).about("world")),
      disk_(std::make_shared<MemoryDisk>()),
      workers_(std::make_unique<Workers>(*this)),
      clients_(std::make_unique<Clients>(*this)),
      fault_injector_(std::make_unique<FaultInjector>(*this)),
      leases_(std::make_unique<Leases>(*this)),
      checks_(std::make_unique<Checks>(*this)),
      observer_(scenario.observer(*this)) {
  for (std::uint32_t i = 0; i < plan.processes; ++i) {
    processes_.push_back(
        std::make_unique<Process>(Process::Environment{schedule_, *this, disk_, dice_}, i + 1));
    if (has(Fault::clock)) {
      processes_.back()->clock().set(some_us(dice_, "skew", 4000, i) - 2000,
                                     some_us(dice_, "drift", 400, i) - 200);
    }
  }
}

Simulation::~Simulation() = default;

void Simulation::note(const std::string& line) { trace_.add(schedule_.now_us(), line); }

void Simulation::report_violation(const std::string& what) {
  if (!violation_.has_value()) {
    note("VIOLATION " + what);
    violation_ = Violation{trace_.events(), schedule_.now_us(), what};
  }
}

void Simulation::report_invariant(const std::string& invariant, const std::string& run,
                                  const std::string& what) {
  if (!violation_.has_value()) {
    report_violation(invariant + ": " + what);
    violation_->what = what;
    violation_->invariant = invariant;
    violation_->run = run;
  }
}

Result<Explanation> Simulation::explain(const RunId& run) {
  Process* process = some_process(dice_);
  if (process == nullptr) {
    return Error{ErrorCode::unavailable, "no process is up"};
  }
  return Inspector(process->journal(), process->clock()).explain(run);
}

Process* Simulation::some_process(const Dice& dice) {
  std::vector<Process*> up;
  for (const auto& process : processes_) {
    if (process->up()) {
      up.push_back(process.get());
    }
  }
  return up.empty() ? nullptr : up[dice.below(up.size(), "process")];
}

// ------------------------------------------------------------------------------------------------
// The course of a simulation

std::optional<Violation> Simulation::play() {
  for (const auto& process : processes_) {
    process->open();
  }
  clients_->register_workflows(false);
  if (plan_.carried) {
    oracle_.carry(std::string(kCarriedQueue));
  }
  for (const Item& item : plan_.items) {
    schedule_.after(item.at_us, [this, item] {
      if (!faults_ended_) {
        act(item);
      }
    });
  }
  if (play_until(plan_.horizon_us)) {
    finish();
  }
  if (!violated()) {
    checks_->check_end();
  }
  return violation_;
}

bool Simulation::play_until(std::int64_t end_us) {
  schedule_.after(end_us - schedule_.now_us(), [] {});
  while (!violated() && schedule_.now_us() < end_us && schedule_.step()) {
    if (trace_.events() > kMaxEvents) {
      report_violation("the simulation does not end: " + std::to_string(kMaxEvents) + " events");
    }
  }
  return !violated();
}

void Simulation::act(const Item& item) {
  const Dice dice = dice_.about(to_text(item.act), item.number);
  note("#" + std::to_string(item.number) + " " + std::string(to_text(item.act)));
  if (observer_ != nullptr) {
    observer_->fault_injected(item);
  }
  if (clients_->act(item.act, dice) || leases_->act(item.act, dice) ||
      fault_injector_->act(item.act, dice)) {
    coverage_.add("act:" + std::string(to_text(item.act)));
  }
}

// The faults have ended and operators no longer hesitate: every run must end by the advice of its
// explanation.
void Simulation::finish() {
  note("faults end");
  faults_ended_ = true;
  fault_injector_->end();
  leases_->end_faults();
  for (const auto& process : processes_) {
    process->clock().set(0, 0);
    if (!process->up()) {
      process->open();
    } else {
      process->core().check_for_changes();
      process->wake();
    }
  }
  if (violated()) {
    return;
  }
  // Commands that were submitted earlier, perhaps to a slow disk, come first.
  if (observer_ == nullptr && !play_until(schedule_.now_us() + kLastCommandsUs)) {
    return;
  }
  clients_->register_workflows(true);
  // A command that was submitted earlier may take effect only now.
  do {
    finish_runs();
  } while (!violated() && play_until(schedule_.now_us() + kLastAnswersUs) && observer_ != nullptr &&
           clients_->has_live_runs() && !observer_->is_idle());
  if (violated()) {
    return;
  }
  if (observer_ != nullptr) {
    observer_->simulation_ended();
  } else if (oracle_enabled() && clients_->has_live_runs()) {
    report_violation("a run does not end: " + checks_->why_not_ended());
  }
}

void Simulation::finish_runs() {
  const std::int64_t end_us = schedule_.now_us() + scenario_.longest_end_us();
  const std::uint64_t last_event =
      trace_.events() + (oracle_enabled() ? kMaxFinalEvents : kMaxFinalEventsWithForeignFacts);
  if (observer_ == nullptr) {
    clients_->follow_all_advice();
  }
  // Workers may still execute attempts that no run waits for; an observer must see those too.
  const auto in_progress = [this] {
    return observer_ == nullptr
               ? clients_->has_live_runs()
               : (clients_->has_live_runs() && !observer_->is_idle()) || workers_->is_executing();
  };
  while (!violated() && in_progress() && schedule_.now_us() < end_us &&
         trace_.events() < last_event && schedule_.step()) {
  }
}

// ------------------------------------------------------------------------------------------------
// Facts and answers

void Simulation::store(const EntryView& entry, const RowView& row, std::uint32_t index) {
  coverage_.add("fact:" + std::string(entry.kind));
  auditor_.fold(entry);
  if (observer_ != nullptr) {
    observer_->stored(entry);
  }
  if (entry.kind == "run_cataloged") {
    const auto listed = from_json<RunCataloged>(entry.data);
    if (listed.ok()) {
      runs_.push_back(listed.value().run_id);
    }
  }
  if (!oracle_disabled_) {
    oracle_.stored(StoredFact{row.position.value, index, std::string(entry.thread), entry.seq.value,
                              std::string(entry.kind), entry.at, std::string(entry.data)});
  }
}

void Simulation::check_answer(const RequestPtr& request) {
  request->set_checked();
  if (!oracle_disabled_) {
    oracle_.answered(request->answer());
  }
  if (!request->answer().code.starts_with("ok")) {
    coverage_.add("refusal:" + request->answer().code);
  }
}

void Simulation::collect_violations() {
  for (const std::string& violation : oracle_.take_violations()) {
    report_violation("oracle: " + violation);
  }
}

// Facts and answers are passed on in their true order: an answer precedes the first fact it caused.
void Simulation::batch_landed(Process& process, const RowView& row, bool whole) {
  ++batches_;
  const std::vector<RequestPtr> requests =
      whole ? process.requests_of_write() : std::vector<RequestPtr>();
  auto next = requests.begin();
  std::string kinds;
  BodyScanner scanner(row.position, row.body);
  for (std::uint32_t index = 0;; ++index) {
    const auto entry = scanner.next();
    const bool there = entry.ok() && entry.value().has_value();
    while (next != requests.end() && (!there || (*next)->first_fact() <= index)) {
      check_answer(*next++);
    }
    if (!there) {
      break;
    }
    kinds += (kinds.empty() ? "" : " ") + std::string(entry.value()->kind);
    store(*entry.value(), row, index);
  }
  note(process.name() + " commits batch " + std::to_string(row.position.value) +
       (whole ? ": " : " partially: ") + kinds);
  if (!oracle_disabled_) {
    oracle_.batch_ends(row.position.value, whole);
    collect_violations();
  }
  checks_->batch_landed();
  notify_others(process);
}

void Simulation::add_foreign_batch(const RowView& row) {
  ++batches_;
  BodyScanner scanner(row.position, row.body);
  for (std::uint32_t index = 0;; ++index) {
    const auto entry = scanner.next();
    if (!entry.ok() || !entry.value().has_value()) {
      break;
    }
    store(*entry.value(), row, index);
  }
}

// As a notification from the store would.
void Simulation::notify_others(const Process& writer) {
  for (const auto& process : processes_) {
    if (process.get() == &writer || !process->up()) {
      continue;
    }
    const std::int64_t delay = some_us(dice_, "watch", 40 * kMs, batches_ * 8 + process->number());
    schedule_.after(delay, [&process = *process, alive = process->incarnation()] {
      if (process.up() && process.incarnation() == alive && process.core().has_waiters()) {
        process.core().check_for_changes();
        process.wake();
      }
    });
  }
}

void Simulation::answered_without_write(Process& process, const RequestPtr& request) {
  // The facts on which the answer is based may still be lost.
  if (process.groups_landed() != process.groups_begun() || request->end_fact() != 0) {
    report_violation(process.name() + " answers \"" + request->answer().code + "\" to " +
                     request->answer().params + " before the facts it is based on are durable");
    return;
  }
  check_answer(request);
  collect_violations();
}

void Simulation::claimed(Process& process, const Assignment& assignment, std::string text) {
  if (oracle_disabled_) {
    return;
  }
  Answer answer;
  answer.what = Answer::What::claim;
  answer.at = process.now();
  answer.params = R"({"queues":[],"handlers":[],"claim_id":")" + assignment.claim_id.str() + "\"}";
  answer.code = "ok";
  answer.result = std::move(text);
  oracle_.answered(answer);
  collect_violations();
}

void Simulation::lease_answered(const LeaseAnswer& answer) {
  const bool granted = answer.verdict == LeaseAnswer::Verdict::granted;
  coverage_.add(granted                                           ? "lease:granted"
                : answer.verdict == LeaseAnswer::Verdict::refused ? "lease:refused"
                : answer.verdict == LeaseAnswer::Verdict::lost    ? "lease:lost"
                                                                  : "lease:stop");
  if (granted && !oracle_disabled_) {
    oracle_.lease_granted(answer.claim_id);
    collect_violations();
  }
}

void Simulation::acknowledged(const LeaseSignal& signal) {
  const bool report = signal.kind == SignalKind::complete || signal.kind == SignalKind::fail ||
                      signal.kind == SignalKind::retry;
  if (signal.kind == SignalKind::dead_letter) {
    coverage_.add("lease:dead_letter");
  }
  if (report && !oracle_disabled_) {
    oracle_.lease_report_acknowledged(signal.item_id, signal.claim_id,
                                      to_hex(sha256(signal.token)));
    collect_violations();
  }
}

void Simulation::check_unanswered() { checks_->check_unanswered(); }

void Simulation::write_ended(Process& process) { checks_->write_ended(process); }

void Simulation::process_started(Process& process) {
  checks_->process_started(process);
  if (observer_ != nullptr) {
    observer_->process_changed(process.name(), true, "");
  }
  workers_->start_workers(process);
  leases_->process_started(process);
}

void Simulation::committed(Process& process, const std::vector<CommitReport>& reports) {
  leases_->committed(process, reports);
}

void Simulation::process_stopped(Process& process, const std::string& why) {
  if (observer_ != nullptr) {
    observer_->process_changed(process.name(), false, why);
  }
  workers_->process_stopped(process);
  leases_->process_stopped(process);
  if (violated()) {
    return;
  }
  const std::int64_t delay =
      faults_ended_ ? kMs
                    : some_us(dice_, "restart", 20'000 * kMs, batches_ * 8 + process.number());
  schedule_.after(delay, [this, &process] {
    if (!process.up() && !violated()) {
      process.open();
    }
  });
}

}  // namespace holdfast::sim
