#include "lab/sim/simulation.h"

#include <algorithm>

#include "lab/sim/fault_injector.h"
#include "lab/sim/sim_checks.h"
#include "lab/sim/sim_clients.h"
#include "lab/sim/sim_workers.h"
#include "runs/inspect/inspector.h"

namespace holdfast::sim {

namespace {

// Limits on what may happen after the faults until all runs have ended, and after that.
constexpr std::uint64_t kEventsOfRest = 4000;
// With foreign facts, some runs may never end.
constexpr std::uint64_t kEventsOfForeignRest = 1000;
constexpr std::uint64_t kMostEvents = 400'000;
constexpr std::int64_t kLastRequestsUs = 120 * kSecond;
constexpr std::int64_t kLastAnswersUs = 400'000'000;

std::int64_t some_us(const Dice& dice, std::string_view what, std::int64_t below_us,
                     std::uint64_t which = 0) {
  return static_cast<std::int64_t>(dice.below(static_cast<std::uint64_t>(below_us), what, which));
}

}  // namespace

World::World(const Plan& plan, const Scenario& scenario, Trace& trace, Coverage& coverage)
    : plan_(plan),
      scenario_(scenario),
      trace_(trace),
      coverage_(coverage),
      dice_(Dice(plan.seed).about("world")),
      disk_(std::make_shared<MemoryDisk>()),
      workers_(std::make_unique<Workers>(*this)),
      clients_(std::make_unique<Clients>(*this)),
      faulty_(std::make_unique<Faulty>(*this)),
      watchers_(std::make_unique<Watchers>(*this)),
      witness_(scenario.witness(*this)) {
  for (std::uint32_t i = 0; i < plan.processes; ++i) {
    processes_.push_back(
        std::make_unique<Process>(Process::Surroundings{schedule_, *this, disk_, dice_}, i + 1));
    if (has(Fault::clock)) {
      processes_.back()->clock().set(some_us(dice_, "skew", 4000, i) - 2000,
                                     some_us(dice_, "drift", 400, i) - 200);
    }
  }
}

World::~World() = default;

void World::note(const std::string& line) { trace_.add(schedule_.now_us(), line); }

void World::complain(const std::string& what) {
  if (!breach_.has_value()) {
    note("VIOLATION " + what);
    breach_ = Breach{trace_.events(), schedule_.now_us(), what};
  }
}

void World::complain_of(const std::string& promise, const std::string& run,
                        const std::string& what) {
  if (!breach_.has_value()) {
    complain(promise + ": " + what);
    breach_->what = what;
    breach_->promise = promise;
    breach_->run = run;
  }
}

Result<Explanation> World::explain(const RunId& run) {
  Process* process = some_process(dice_);
  if (process == nullptr) {
    return Error{ErrorCode::unavailable, "no process is up"};
  }
  return Inspector(process->journal(), process->clock()).explain(run);
}

Process* World::some_process(const Dice& dice) {
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

std::optional<Breach> World::play() {
  for (const auto& process : processes_) {
    process->open();
  }
  clients_->register_workflows(false);
  for (const Item& item : plan_.items) {
    schedule_.after(item.at_us, [this, item] {
      if (!calm_) {
        act(item);
      }
    });
  }
  if (play_until(plan_.horizon_us)) {
    come_to_rest();
  }
  if (!broken()) {
    watchers_->look_at_the_end();
  }
  return breach_;
}

bool World::play_until(std::int64_t end_us) {
  schedule_.after(end_us - schedule_.now_us(), [] {});
  while (!broken() && schedule_.now_us() < end_us && schedule_.step()) {
    if (trace_.events() > kMostEvents) {
      complain("the simulation does not end: " + std::to_string(kMostEvents) + " events");
    }
  }
  return !broken();
}

void World::act(const Item& item) {
  const Dice dice = dice_.about(to_text(item.act), item.number);
  note("#" + std::to_string(item.number) + " " + std::string(to_text(item.act)));
  if (witness_ != nullptr) {
    witness_->strikes(item);
  }
  if (clients_->act(item.act, dice) || faulty_->act(item.act, dice)) {
    coverage_.add("act:" + std::string(to_text(item.act)));
  }
}

// The faults have ended and operators no longer hesitate: every run must end by the advice of its
// explanation.
void World::come_to_rest() {
  note("faults end");
  calm_ = true;
  faulty_->end();
  for (const auto& process : processes_) {
    process->clock().set(0, 0);
    if (!process->up()) {
      process->open();
    } else {
      process->core().check_for_changes();
      process->wake();
    }
  }
  if (broken()) {
    return;
  }
  // Commands that were submitted earlier, perhaps to a slow disk, come first.
  if (witness_ == nullptr && !play_until(schedule_.now_us() + kLastRequestsUs)) {
    return;
  }
  clients_->register_workflows(true);
  // A command that was submitted earlier may take effect only now.
  do {
    let_runs_end();
  } while (!broken() && play_until(schedule_.now_us() + kLastAnswersUs) && witness_ != nullptr &&
           clients_->somebody_lives() && !witness_->nothing_more());
  if (broken()) {
    return;
  }
  if (witness_ != nullptr) {
    witness_->at_rest();
  } else if (oracle_judges() && clients_->somebody_lives()) {
    complain("a run does not end: " + watchers_->why_not_ended());
  }
}

void World::let_runs_end() {
  const std::int64_t end_us = schedule_.now_us() + scenario_.longest_rest_us();
  const std::uint64_t last_event =
      trace_.events() + (oracle_judges() ? kEventsOfRest : kEventsOfForeignRest);
  if (witness_ == nullptr) {
    clients_->help_runs();
  }
  // Workers may still execute attempts that no run waits for; an observer must see those too.
  const auto goes_on = [this] {
    return witness_ == nullptr ? clients_->somebody_lives()
                               : (clients_->somebody_lives() && !witness_->nothing_more()) ||
                                     workers_->somebody_executes();
  };
  while (!broken() && goes_on() && schedule_.now_us() < end_us && trace_.events() < last_event &&
         schedule_.step()) {
  }
}

// ------------------------------------------------------------------------------------------------
// Facts and answers

void World::store(const EntryView& entry, const RowView& row, std::uint32_t index) {
  coverage_.add("fact:" + std::string(entry.kind));
  auditor_.fold(entry);
  if (witness_ != nullptr) {
    witness_->stored(entry);
  }
  if (entry.kind == "run_cataloged") {
    const auto listed = from_json<RunCataloged>(entry.data);
    if (listed.ok()) {
      runs_.push_back(listed.value().run_id);
    }
  }
  if (!oracle_stands_aside_) {
    oracle_.stored(StoredFact{row.position.value, index, std::string(entry.thread), entry.seq.value,
                              std::string(entry.kind), entry.at, std::string(entry.data)});
  }
}

void World::judge(const RequestPtr& request) {
  request->set_judged();
  if (!oracle_stands_aside_) {
    oracle_.answered(request->answer());
  }
  if (!request->answer().code.starts_with("ok")) {
    coverage_.add("refusal:" + request->answer().code);
  }
}

void World::hear_oracle() {
  for (const std::string& complaint : oracle_.take_complaints()) {
    complain("oracle: " + complaint);
  }
}

// Facts and answers are passed on in their true order: an answer precedes the first fact it caused.
void World::batch_landed(Process& process, const RowView& row, bool whole) {
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
      judge(*next++);
    }
    if (!there) {
      break;
    }
    kinds += (kinds.empty() ? "" : " ") + std::string(entry.value()->kind);
    store(*entry.value(), row, index);
  }
  note(process.name() + " commits batch " + std::to_string(row.position.value) +
       (whole ? ": " : " partially: ") + kinds);
  if (!oracle_stands_aside_) {
    oracle_.batch_ends(row.position.value, whole);
    hear_oracle();
  }
  watchers_->batch_landed();
  tell_others(process);
}

void World::take_in(const RowView& row) {
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
void World::tell_others(const Process& writer) {
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

void World::answered_unwritten(Process& process, const RequestPtr& request) {
  // The facts on which the answer is based may still be lost.
  if (process.groups_landed() != process.groups_begun() || request->end_fact() != 0) {
    complain(process.name() + " answers \"" + request->answer().code + "\" to " +
             request->answer().params + " before the facts it is based on are durable");
    return;
  }
  judge(request);
  hear_oracle();
}

void World::claimed(Process& process, const Assignment& assignment, std::string text) {
  if (oracle_stands_aside_) {
    return;
  }
  Answer answer;
  answer.what = Answer::What::claim;
  answer.at = process.now();
  answer.params = R"({"queues":[],"handlers":[],"claim_id":")" + assignment.claim_id.str() + "\"}";
  answer.code = "ok";
  answer.result = std::move(text);
  oracle_.answered(answer);
  hear_oracle();
}

void World::look_for_unanswered() { watchers_->look_for_unanswered(); }

void World::write_ended(Process& process) { watchers_->write_ended(process); }

void World::came_up(Process& process) {
  watchers_->came_up(process);
  if (witness_ != nullptr) {
    witness_->process_changed(process.name(), true, "");
  }
  workers_->hire(process);
}

void World::went_down(Process& process, const std::string& why) {
  if (witness_ != nullptr) {
    witness_->process_changed(process.name(), false, why);
  }
  workers_->fired(process);
  if (broken()) {
    return;
  }
  const std::int64_t delay =
      calm_ ? kMs : some_us(dice_, "restart", 20'000 * kMs, batches_ * 8 + process.number());
  schedule_.after(delay, [this, &process] {
    if (!process.up() && !broken()) {
      process.open();
    }
  });
}

}  // namespace holdfast::sim
