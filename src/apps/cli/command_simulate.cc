#include <fmt/format.h>

#include "apps/cli/command.h"
#include "apps/cli/simulate_broker_run.h"
#include "apps/cli/simulate_file.h"
#include "base/text.h"
#include "lab/sim/simulate.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

constexpr std::uint64_t kSeeds = 200;
constexpr std::size_t kShownLines = 40;

Result<std::set<std::uint32_t>> parse_items(std::string_view text) {
  std::set<std::uint32_t> items;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto number = parse_decimal(text.substr(0, comma));
    if (!number.has_value() || *number > UINT32_MAX) {
      return Error{ErrorCode::invalid_argument,
                   "--only needs item numbers separated by commas, as a failing simulation "
                   "prints them: 3,7,12"};
    }
    items.insert(static_cast<std::uint32_t>(*number));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

Result<sim::SimulateOptions> read(const SimulateArguments& given) {
  sim::SimulateOptions options;
  options.first_seed = given.seed.value_or(1);
  options.seeds = given.seeds.value_or(given.seed.has_value() ? 1 : kSeeds);
  if (given.seconds.has_value()) {
    options.seconds = static_cast<std::int64_t>(*given.seconds);
    options.seeds = given.seeds.value_or(UINT64_MAX);
  }
  options.shrink = !given.no_shrink;
  HOLDFAST_TRY(options.faults, sim::parse_faults(given.faults));
  HOLDFAST_TRY(options.only, parse_items(given.only));
  if (given.story && options.seeds != 1) {
    return Error{ErrorCode::invalid_argument, "--story prints one simulation: name it with --seed"};
  }
  return options;
}

std::string line_text(const sim::Trace::Line& line) {
  return fmt::format("{:>6}  {:>14.3f}s  {}", line.event, static_cast<double>(line.time_us) / 1e6,
                     line.text);
}

std::string repeat_command(const SimulateArguments& given, const sim::FailedSeed& failed) {
  std::string command = "holdfast simulate";
  command += fmt::format(" --seed {}", failed.seed);
  command += given.faults == "all" ? "" : " --faults " + given.faults;
  std::string items;
  for (const sim::Item& item : failed.items) {
    items += (items.empty() ? "" : ",") + std::to_string(item.number);
  }
  return command + (items.empty() ? "" : " --only " + items) + " --story";
}

void print_failure(const SimulateArguments& given, const sim::FailedSeed& failed,
                   Context& context) {
  print_line(context, fmt::format("seed {} breaks a guarantee at event {}, after {:.3f} s:",
                                  failed.seed, failed.violation.event,
                                  static_cast<double>(failed.violation.time_us) / 1e6));
  print_line(context, "  " + failed.violation.what);
  print_line(context, fmt::format("\n{} of {} enough to break it:", failed.items.size(),
                                  counted(failed.items_at_first, "item is", "items are")));
  for (const sim::Item& item : failed.items) {
    print_line(context, fmt::format("  {:>4}  {:>10.3f}s  {}", item.number,
                                    static_cast<double>(item.at_us) / 1e6, to_text(item.act)));
  }
  print_line(context, "\nlast events:");
  const std::size_t lines = failed.trace.size();
  for (std::size_t i = lines > kShownLines ? lines - kShownLines : 0; i < lines; ++i) {
    print_line(context, line_text(failed.trace[i]));
  }
  print_line(context, "\nrepeat: " + repeat_command(given, failed));
}

void print_report(const SimulateArguments& given, const sim::SimulateReport& report,
                  const std::vector<std::string>& missing, Context& context) {
  print_line(context, fmt::format("simulations  {}", with_thousands(report.seeds)));
  print_line(context, fmt::format("events       {}", with_thousands(report.events)));
  print_line(context, fmt::format("trace        {:016x}", report.trace_hash));
  if (given.coverage) {
    for (const auto& [what, times] : report.coverage.counts()) {
      print_line(context, fmt::format("  {:>10}  {}", with_thousands(times), what));
    }
  }
  for (const std::string& what : missing) {
    print_line(context, "not covered  " + what);
  }
  if (report.failed.has_value()) {
    print_line(context, "");
    print_failure(given, *report.failed, context);
  } else if (missing.empty()) {
    print_line(context, "no guarantee was broken");
  }
}

void write_failure(JsonWriter& json, const SimulateArguments& given,
                   const sim::FailedSeed& failed) {
  json.key("failed")
      .begin_object()
      .member("seed", failed.seed)
      .member("event", failed.violation.event)
      .member("what", failed.violation.what)
      .member("again", repeat_command(given, failed));
  json.key("items").begin_array();
  for (const sim::Item& item : failed.items) {
    json.begin_object()
        .member("number", std::uint64_t{item.number})
        .member("act", to_text(item.act))
        .end_object();
  }
  json.end_array().key("story").begin_array();
  for (const sim::Trace::Line& line : failed.trace) {
    json.string(line_text(line));
  }
  json.end_array().end_object();
}

void write_report(const SimulateArguments& given, const sim::SimulateReport& report,
                  const std::vector<std::string>& missing, Context& context) {
  JsonWriter json;
  json.begin_object()
      .member("ok", !report.failed.has_value() && missing.empty())
      .member("simulations", report.seeds)
      .member("events", report.events)
      .member("trace", fmt::format("{:016x}", report.trace_hash));
  json.key("met").begin_object();
  for (const auto& [what, times] : report.coverage.counts()) {
    json.member(what, times);
  }
  json.end_object().key("never_met").begin_array();
  for (const std::string& what : missing) {
    json.string(what);
  }
  json.end_array();
  if (report.failed.has_value()) {
    write_failure(json, given, *report.failed);
  }
  json.end_object();
  print_json(context, std::move(json));
}

int print_story_of(std::uint64_t seed, const sim::SimulateOptions& options, Context& context) {
  const sim::PlayedSeed played = sim::play_seed(seed, options);
  for (const sim::Trace::Line& line : played.trace.lines()) {
    print_line(context, line_text(line));
  }
  print_line(context, fmt::format("trace  {:016x}", played.trace.hash()));
  if (played.violation.has_value()) {
    print_line(context, fmt::format("broken at event {}: {}", played.violation->event,
                                    played.violation->what));
  }
  return played.violation.has_value() ? kExitNegativeResult : 0;
}

struct SimulateCommand : SimulateArguments {
  void declare(Arguments& arguments) {
    arguments.optional("FILE", file,
                       "a workflow file; without one, Holdfast itself is tested with generated "
                       "workflows");
    arguments.option("--world", "SIM_FILE", world,
                     "Behaviour of everything outside the workflow (default: FILE with the "
                     "extension .sim.yaml, if it exists)");
    arguments.option("--with", "FILE", with,
                     "A workflow that FILE starts as a child; may be given several times");
    arguments.flag("--real", real,
                   "Execute the programs of exec steps; everything else is simulated");
    arguments.flag("--broker", broker, "Test message brokers instead of workflows (no FILE)");
    arguments.option("--seeds", "N", seeds, "Number of simulations (default: 200)");
    arguments.option("--seed", "N", seed, "First seed (default: 1); without --seeds, the only one");
    arguments.option("--seconds", "SECONDS", seconds, "Stop after this time (default: no limit)");
    arguments.option("--faults", "LIST", faults,
                     "all, none, or some of crash, split, io, conflict, stall, clock, checkpoint, "
                     "damage, worker, stale, foreign, backend (default: all; with FILE without "
                     "damage, foreign and backend, which test Holdfast itself)");
    arguments.option("--only", "ITEMS", only, "Simulate only these items: 3,7,12");
    arguments.flag("--story", story, "Print every event (with --seed)");
    arguments.flag("--trace", trace, "With FILE and --story: print what the processes did instead");
    arguments.flag("--no-shrink", no_shrink,
                   "Do not search for the shortest simulation that fails the same way");
    arguments.flag("--coverage", coverage,
                   "Print how often everything occurred; without FILE, fail when something never "
                   "did");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(sim::SimulateOptions options, read(*this));
    if (broker && !file.empty()) {
      return Error{ErrorCode::invalid_argument, "--broker takes no workflow file"};
    }
    if (!file.empty()) {
      return simulate_file(*this, std::move(options), context);
    }
    if (real || !with.empty() || !world.empty()) {
      return Error{ErrorCode::invalid_argument,
                   "--with, --world and --real need a workflow file: holdfast simulate FILE ..."};
    }
    if (broker) {
      return simulate_broker(*this, options, context);
    }
    if (story) {
      context.exit_code = print_story_of(options.first_seed, options, context);
      return {};
    }
    const sim::SimulateReport report = simulate_with_bar(std::move(options));
    const std::vector<std::string> missing =
        coverage ? report.coverage.missing() : std::vector<std::string>();
    context.json() ? write_report(*this, report, missing, context)
                   : print_report(*this, report, missing, context);
    context.exit_code = report.failed.has_value() || !missing.empty() ? kExitNegativeResult : 0;
    return {};
  }
};

}  // namespace

extern const Command kSimulateCommand = make_command<SimulateCommand>(
    "simulate", "Test a workflow with simulated crashes, lost workers and network faults.",
    R"(The real engine, journal and log run in virtual time, with processes that crash at any
step, stores that fail, clocks that jump, and workers that stall, repeat themselves and report
late. When the faults stop, every run must end. The same seed gives the same simulation.

With FILE, your workflow is simulated. Handlers, http and exec steps are not called; they
respond as the world file declares (order.sim.yaml beside order.yaml). It also declares
decisions, events, and invariants, which must always hold:

  runs: {count: 1..3, inputs: [{order_id: o-1}]}
  handlers:
    charge:
      - {ok: {receipt: r-1}, weight: 8, takes: 100ms..3s}
      - {error: busy, retryable: true}
      - {error: no_answer, done: true}     # it happened, and the response was lost
  decisions: {review: {approve: 4, reject: 1, after: 1m..2h}}
  events: [{event: paid, chance: 90, after: 1s..3h}]
  invariants:
    - {step: ship, needs: charge}
    - {step: charge, followed_by: [ship, refund], as: executed}
    - {step: charge, at_most: 1, as: executed}
    - {ends_within: 4h}

Without such a file, every handler returns {} after 1 ms to 1 s, and every approval is granted.
docs/simulate.md describes the file.

The first seed that breaks an invariant is shrunk, and printed as events of your workflow with
the command that repeats it. Steps, transitions, decisions and outcomes that no simulation
covered are listed. Without FILE, workflows are generated and a model of Holdfast's guarantees
checks everything. With --broker, the same is done to message brokers: processes that die at any
step of an accept or a sweep, and a network that loses, repeats and reorders requests.

Examples:
  holdfast simulate order.yaml
  holdfast simulate order.yaml --seeds 5000 --faults crash,worker
  holdfast simulate order.yaml --seed 42 --story
  holdfast simulate order.yaml --with shipping.yaml --world rough.sim.yaml --json
  holdfast simulate backup.yaml --real
  holdfast simulate --seconds 60 --coverage
  holdfast simulate --broker --seeds 500

Exit codes: 0 everything held; 1 an invariant or a guarantee was broken, or --coverage without
FILE found something that never occurred; 2 a file or an option is invalid.)");

}  // namespace holdfast::cli
