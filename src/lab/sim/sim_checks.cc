#include "lab/sim/sim_checks.h"

#include <algorithm>

#include "lab/sim/simulation.h"
#include "runs/inspect/inspector.h"
#include "runs/view/run_snapshot.h"
#include "storage/journal/journal_verify.h"
#include "storage/log/memory_store.h"

namespace holdfast::sim {

namespace {

constexpr std::size_t kMostSeen = 12;
constexpr std::size_t kRunsPerLook = 3;

RunSource source_of(LiveState& state, const RunProjection& run, TimeMs now) {
  RunSource source{&run, {}, state.position(), now};
  for (const auto& [name, queue] : state.queues().all()) {
    source.queues.push_back(queue.get());
  }
  return source;
}

At at_position(Position position) {
  At at;
  at.kind = At::Kind::position;
  at.number = position.value;
  return at;
}

std::string text(const JsonText& json) { return std::string(json.view()); }

Result<std::unique_ptr<Journal>> open_journal_on(const std::shared_ptr<MemoryDisk>& disk) {
  HOLDFAST_TRY(auto store, open_memory_store(disk, OpenMode::read, StoreOrigin{}));
  HOLDFAST_TRY(auto log, Log::open(std::move(store)));
  return Journal::open(std::move(log));
}

// The part of two texts around their first difference.
std::string difference(const std::string& left, const std::string& right) {
  constexpr std::size_t kAround = 160;
  const auto parted = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  const auto at = static_cast<std::size_t>(parted.first - left.begin());
  const std::size_t from = at < kAround ? 0 : at - kAround;
  return "..." + left.substr(from, 2 * kAround) + "... and ..." + right.substr(from, 2 * kAround) +
         "...";
}

// The live state, with or without the checkpoint.
Result<std::string> state_of(Journal& journal, bool from_checkpoint) {
  Definitions definitions(journal);
  LiveState state(journal, definitions, {.cached_bytes = 100'000});
  if (from_checkpoint) {
    HOLDFAST_CHECK(state.restore());
  }
  HOLDFAST_TRY(const Position head, journal.catch_up());
  HOLDFAST_CHECK(state.read_up_to(head));
  return state.encode();
}

}  // namespace

void Watchers::batch_landed() {
  if (!world_.oracle_judges()) {
    return;
  }
  for (const std::string& anomaly : world_.audit().anomalies()) {
    world_.complain("an engine stored a fact that violates a rule: " + anomaly);
  }
}

void Watchers::write_ended(Process& process) {
  if (!process.quiet() || world_.broken()) {
    return;
  }
  const Dice dice = world_.dice().about("look", ++looks_);
  const std::vector<RunId> live = process.core().state().runs().ids();
  for (std::size_t i = 0; i < std::min(live.size(), kRunsPerLook); ++i) {
    const RunId& run = live[dice.below(live.size(), "run", i)];
    look_at(process, run, seen_.size() < kMostSeen && dice.chance(10, "remember", i));
  }
}

void Watchers::look_at(Process& process, const RunId& run, bool remember) {
  LiveState& state = process.core().state();
  const auto find = [&](const RunId& id) -> Result<std::optional<RunSource>> {
    HOLDFAST_TRY(const bool exists, state.runs().exists(id));
    if (!exists) {
      return std::optional<RunSource>();
    }
    HOLDFAST_TRY(const RunProjection* known, state.runs().get(id));
    return std::optional(source_of(state, *known, process.now()));
  };
  const auto source = find(run);
  if (!source.ok() || !source.value().has_value()) {
    return;  // the store fails at the moment
  }
  const auto why = explain_run(*source.value(), find);
  if (!why.ok()) {
    return;
  }
  world_.count("reason:" + std::string(to_text(why.value().reason)));
  const bool good = why.value().reason > Reason::terminal && why.value().reason < Reason::idle &&
                    !why.value().next_actions.empty();
  if (!good && world_.oracle_judges()) {
    world_.complain("run " + to_string(run) +
                    " has no reason or no next action: " + text(to_json(why.value())));
  }
  if (!remember) {
    return;
  }
  Inspector inspector(process.journal(), process.clock());
  const auto moment = inspector.moment(at_position(state.position()));
  if (!moment.ok()) {
    return;
  }
  RunSource then = *source.value();
  then.now = moment.value().now;
  const auto find_then = [&](const RunId& id) -> Result<std::optional<RunSource>> {
    HOLDFAST_TRY(auto found, find(id));
    if (found.has_value()) {
      found->now = then.now;
    }
    return found;
  };
  const auto why_then = explain_run(then, find_then);
  if (why_then.ok()) {
    seen_.push_back(
        {run, state.position(), text(run_snapshot(then)), text(to_json(why_then.value()))});
  }
}

// Not after foreign facts: some of the recovery they seem to need turns out to be unnecessary,
// which only a process that has tried it knows.
void Watchers::came_up(Process& process) {
  if (!world_.oracle_judges()) {
    return;
  }
  for (const auto& other : world_.processes()) {
    if (other.get() == &process || !other->quiet() ||
        other->core().position() != process.core().position()) {
      continue;
    }
    world_.count("check:newcomer");
    const std::string known = other->core().state().encode();
    const std::string read = process.core().state().encode();
    // Empty: the store fails at the moment.
    if (!read.empty() && !known.empty() && read != known) {
      world_.complain(process.name() + " has started with another state than " + other->name() +
                      ": " + difference(read, known));
    }
  }
}

// While a process is up, every request to it gets an answer.
void Watchers::look_for_unanswered() {
  constexpr std::int64_t kLongest = 300'000'000;
  for (const auto& process : world_.processes()) {
    if (!process->up()) {
      continue;
    }
    for (const RequestPtr& request : process->unanswered(world_.schedule().now_us() - kLongest)) {
      world_.complain(process->name() + " did not answer " + request->answer().params);
    }
  }
}

void Watchers::count_anomalies() {
  const auto count = [&](const char* where, const std::vector<Anomaly>& anomalies) {
    for (const Anomaly& anomaly : anomalies) {
      world_.count(std::string("anomaly:") + where + ":" + anomaly.reason.str());
    }
  };
  for (const auto& [id, run] : world_.audit().runs) {
    count("run", run->anomalies());
  }
  for (const auto& [name, queue] : world_.audit().queues) {
    count("dispatch", queue->anomalies());
  }
}

void Watchers::look_at_the_end() {
  look_for_unanswered();
  count_anomalies();
  const auto journal = open_journal_on(world_.shared_disk());
  if (!journal.ok()) {
    world_.complain("the journal cannot be opened: " + journal.error().text());
    return;
  }
  if (const auto whole = verify_journal(journal.value()->log()); !whole.ok()) {
    world_.complain("the journal is damaged: " + whole.error().text());
    return;
  }
  // Foreign facts may name attempts of other runs, which only a process that reads everything sees.
  if (world_.oracle_judges()) {
    compare_with_then(*journal.value());
    compare_with_scratch(*journal.value());
    SimClock clock(world_.schedule());
    const auto doctor = Inspector(*journal.value(), clock).doctor();
    if (!doctor.ok() || doctor.value().verdict() == Check::Verdict::fault) {
      world_.complain("the doctor finds a fault: " +
                      (doctor.ok() ? text(to_json(doctor.value())) : doctor.error().text()));
    }
    compare_with_oracle();
  }
}

void Watchers::compare_with_then(Journal& journal) {
  SimClock clock(world_.schedule());
  Inspector inspector(journal, clock);
  for (const Seen& then : seen_) {
    const At at = at_position(then.position);
    const auto snapshot = inspector.snapshot(then.run, at);
    const auto why = inspector.explain(then.run, at);
    world_.count("check:past");
    if (!snapshot.ok() || text(snapshot.value()) != then.snapshot) {
      world_.complain("run " + to_string(then.run) + " at " + std::to_string(then.position.value) +
                      " is now shown as " +
                      (snapshot.ok() ? text(snapshot.value()) : snapshot.error().text()) +
                      " and was shown as " + then.snapshot);
    } else if (!why.ok() || text(to_json(why.value())) != then.explanation) {
      world_.complain("run " + to_string(then.run) + " at " + std::to_string(then.position.value) +
                      " is explained differently now; earlier: " + then.explanation);
    }
  }
}

void Watchers::compare_with_scratch(Journal& journal) {
  const auto with = state_of(journal, true);
  const auto without = state_of(journal, false);
  if (!with.ok() || !without.ok() || with.value() != without.value()) {
    world_.complain("the state restored from the checkpoint differs from the rebuilt state: " +
                    (with.ok() && without.ok() ? difference(with.value(), without.value()) : ""));
  }
}

void Watchers::compare_with_oracle() {
  for (const auto& [id, run] : world_.audit().runs) {
    const std::string expected = world_.oracle().run(to_string(id));
    if (expected.empty()) {
      world_.complain("the oracle does not know run " + to_string(id));
      return;
    }
    const auto json = Json::parse(expected);
    const auto status = json.ok() ? json.value().find("status") : std::nullopt;
    if (!status.has_value() || status->string() != to_text(run->status())) {
      world_.complain("run " + to_string(id) + " is " + std::string(to_text(run->status())) +
                      ", according to the oracle " + expected);
    }
  }
  for (const auto& [promise, times] : world_.oracle().tested()) {
    world_.coverage().add("guarantee:" + promise, times);
  }
}

std::string Watchers::why_not_ended() {
  Process* process = world_.some_process(world_.dice());
  for (const auto& [id, run] : world_.audit().runs) {
    if (run->started().has_value() && !run->is_terminal() && process != nullptr) {
      const auto why = Inspector(process->journal(), process->clock()).explain(id);
      return "run " + to_string(id) + ": " + (why.ok() ? why.value().summary : why.error().text());
    }
  }
  return "no process is up";
}

}  // namespace holdfast::sim
