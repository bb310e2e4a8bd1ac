#include "lab/sim/sim_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "lab/sim/simulation.h"
#include "runs/inspect/inspector.h"
#include "runs/view/run_snapshot.h"
#include "storage/journal/journal_verify.h"

namespace holdfast::sim {

namespace {

constexpr std::size_t kMostSeen = 12;
constexpr std::size_t kRunsPerCheck = 3;

RunSource source_of(LiveState& state, const RunProjection& run, TimeMs now) {
  RunSource source{&run, {}, state.position(), now};
  for (const auto& [name, queue] : state.queues().all()) {
    source.queues.push_back(queue.get());
  }
  return source;
}

At at_position(Position position) { return At{At::Kind::position, position.value}; }

std::string text(const JsonText& json) { return std::string(json.view()); }

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
Result<std::string> state_of(Journal& journal, bool from_checkpoint,
                             std::set<std::string>* letters = nullptr) {
  Definitions definitions(journal);
  LiveState state(journal, definitions, {.cached_bytes = 100'000});
  if (from_checkpoint) {
    HOLDFAST_CHECK(state.restore());
  }
  HOLDFAST_TRY(const Position head, journal.catch_up());
  HOLDFAST_CHECK(state.read_up_to(head));
  if (letters != nullptr) {
    for (const auto& [place, letter] : state.runs().dead_letters()) {
      letters->insert(letter.runnable_key.str());
    }
  }
  return state.encode();
}

}  // namespace

void Checks::batch_landed() {
  if (!simulation_.oracle_enabled()) {
    return;
  }
  for (const std::string& anomaly : simulation_.audit().anomalies()) {
    simulation_.report_violation("an engine stored a fact that violates a rule: " + anomaly);
  }
}

void Checks::write_ended(Process& process) {
  if (!process.quiet() || simulation_.violated()) {
    return;
  }
  const Dice dice = simulation_.dice().about("look", ++rounds_);
  const std::vector<RunId> live = process.core().state().runs().ids();
  for (std::size_t i = 0; i < std::min(live.size(), kRunsPerCheck); ++i) {
    const RunId& run = live[dice.below(live.size(), "run", i)];
    check_run(process, run, seen_.size() < kMostSeen && dice.chance(10, "remember", i));
  }
}

void Checks::check_run(Process& process, const RunId& run, bool remember) {
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
  simulation_.count("reason:" + std::string(to_text(why.value().reason)));
  const bool good = why.value().reason > Reason::terminal && why.value().reason < Reason::idle &&
                    !why.value().next_actions.empty();
  if (!good && simulation_.oracle_enabled()) {
    simulation_.report_violation("run " + to_string(run) +
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
void Checks::process_started(Process& process) {
  if (!simulation_.oracle_enabled()) {
    return;
  }
  for (const auto& other : simulation_.processes()) {
    if (other.get() == &process || !other->quiet() ||
        other->core().position() != process.core().position()) {
      continue;
    }
    simulation_.count("check:restart");
    const std::string known = other->core().state().encode();
    const std::string read = process.core().state().encode();
    // Empty: the store fails at the moment.
    if (!read.empty() && !known.empty() && read != known) {
      simulation_.report_violation(process.name() + " has started with another state than " +
                                   other->name() + ": " + difference(read, known));
    }
  }
}

// While a process is up, every request to it gets an answer.
void Checks::check_unanswered() {
  constexpr std::int64_t kLongest = 300'000'000;
  for (const auto& process : simulation_.processes()) {
    if (!process->up()) {
      continue;
    }
    for (const RequestPtr& request :
         process->unanswered(simulation_.schedule().now_us() - kLongest)) {
      simulation_.report_violation(process->name() + " did not answer " + request->answer().params);
    }
  }
}

void Checks::count_anomalies() {
  const auto count = [&](const char* where, const std::vector<Anomaly>& anomalies) {
    for (const Anomaly& anomaly : anomalies) {
      simulation_.count(std::string("anomaly:") + where + ":" + anomaly.reason.str());
    }
  };
  for (const auto& [id, run] : simulation_.audit().runs) {
    count("run", run->anomalies());
  }
  for (const auto& [name, queue] : simulation_.audit().queues) {
    count("dispatch", queue->anomalies());
  }
}

void Checks::check_end() {
  check_unanswered();
  count_anomalies();
  const auto journal = open_disk(simulation_.shared_disk(), OpenMode::read);
  if (!journal.ok()) {
    simulation_.report_violation("the journal cannot be opened: " + journal.error().text());
    return;
  }
  if (const auto whole = verify_journal(journal.value()->log()); !whole.ok()) {
    simulation_.report_violation("the journal is damaged: " + whole.error().text());
    return;
  }
  // Foreign facts may name attempts of other runs, which only a process that reads everything sees.
  if (simulation_.oracle_enabled()) {
    compare_with_past(*journal.value());
    compare_with_rebuild(*journal.value());
    SimClock clock(simulation_.schedule());
    const auto doctor = Inspector(*journal.value(), clock).doctor();
    if (!doctor.ok() || doctor.value().verdict() == Check::Verdict::fault) {
      simulation_.report_violation(
          "the doctor finds a fault: " +
          (doctor.ok() ? text(to_json(doctor.value())) : doctor.error().text()));
    }
    compare_with_oracle();
  }
}

void Checks::compare_with_past(Journal& journal) {
  SimClock clock(simulation_.schedule());
  Inspector inspector(journal, clock);
  for (const Seen& then : seen_) {
    const At at = at_position(then.position);
    const auto snapshot = inspector.snapshot(then.run, at);
    const auto why = inspector.explain(then.run, at);
    simulation_.count("check:past");
    if (!snapshot.ok() || text(snapshot.value()) != then.snapshot) {
      simulation_.report_violation(
          "run " + to_string(then.run) + " at " + std::to_string(then.position.value) +
          " is now shown as " + (snapshot.ok() ? text(snapshot.value()) : snapshot.error().text()) +
          " and was shown as " + then.snapshot);
    } else if (!why.ok() || text(to_json(why.value())) != then.explanation) {
      simulation_.report_violation("run " + to_string(then.run) + " at " +
                                   std::to_string(then.position.value) +
                                   " is explained differently now; earlier: " + then.explanation);
    }
  }
}

void Checks::compare_with_rebuild(Journal& journal) {
  std::set<std::string> letters;
  const auto with = state_of(journal, true, &letters);
  const auto without = state_of(journal, false);
  if (!with.ok() || !without.ok() || with.value() != without.value()) {
    simulation_.report_violation(
        "the state restored from the checkpoint differs from the rebuilt state: " +
        (with.ok() && without.ok() ? difference(with.value(), without.value()) : ""));
  }
  const std::set<std::string> expected = simulation_.oracle().dead_letters();
  simulation_.count("check:dead_letters");
  if (with.ok() && letters != expected) {
    simulation_.report_violation(fmt::format("the dead letters are [{}], not [{}]",
                                             fmt::join(letters, ", "), fmt::join(expected, ", ")));
  }
}

void Checks::compare_with_oracle() {
  for (const auto& [id, run] : simulation_.audit().runs) {
    const std::string expected = simulation_.oracle().run(to_string(id));
    if (expected.empty()) {
      simulation_.report_violation("the oracle does not know run " + to_string(id));
      return;
    }
    const auto json = Json::parse(expected);
    const auto status = json.ok() ? json.value().find("status") : std::nullopt;
    if (!status.has_value() || status->string() != to_text(run->status())) {
      simulation_.report_violation("run " + to_string(id) + " is " +
                                   std::string(to_text(run->status())) +
                                   ", according to the oracle " + expected);
    }
  }
  for (const auto& [guarantee, times] : simulation_.oracle().tested()) {
    simulation_.coverage().add("guarantee:" + guarantee, times);
  }
}

std::string Checks::why_not_ended() {
  Process* process = simulation_.some_process(simulation_.dice());
  for (const auto& [id, run] : simulation_.audit().runs) {
    if (run->started().has_value() && !run->is_terminal() && process != nullptr) {
      const auto why = Inspector(process->journal(), process->clock()).explain(id);
      return "run " + to_string(id) + ": " + (why.ok() ? why.value().summary : why.error().text());
    }
  }
  return "no process is up";
}

}  // namespace holdfast::sim
