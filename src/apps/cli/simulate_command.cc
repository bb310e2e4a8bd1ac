// holdfast simulate: the engine against a world where everything goes wrong that can.
#include <fmt/format.h>

#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/simulate_file.h"
#include "base/text.h"
#include "lab/sim/simulate.h"
#include "runs/view/view_words.h"

namespace holdfast {

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
                   "--only takes numbers with commas between them, as a failing simulation "
                   "prints them: 3,7,12"};
    }
    items.insert(static_cast<std::uint32_t>(*number));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

Result<sim::SimulateOptions> read(const SimulateCommandOptions& asked) {
  sim::SimulateOptions options;
  options.first_seed = asked.seed.value_or(1);
  options.seeds = asked.seeds.value_or(asked.seed.has_value() ? 1 : kSeeds);
  if (asked.seconds.has_value()) {
    options.seconds = static_cast<std::int64_t>(*asked.seconds);
    options.seeds = asked.seeds.value_or(UINT64_MAX);
  }
  options.shrink = !asked.no_shrink;
  HOLDFAST_TRY(options.faults, sim::parse_faults(asked.faults));
  HOLDFAST_TRY(options.only, parse_items(asked.only));
  if (asked.story && options.seeds != 1) {
    return Error{ErrorCode::invalid_argument, "--story tells one simulation: name it with --seed"};
  }
  return options;
}

std::string line_text(const sim::Trace::Line& line) {
  return fmt::format("{:>6}  {:>14.3f}s  {}", line.event, static_cast<double>(line.time_us) / 1e6,
                     line.text);
}

std::string again(const SimulateCommandOptions& asked, const sim::FailedSeed& failed) {
  std::string command = "holdfast simulate";
  command += fmt::format(" --seed {}", failed.seed);
  command += asked.faults == "all" ? "" : " --faults " + asked.faults;
  std::string items;
  for (const sim::Item& item : failed.items) {
    items += (items.empty() ? "" : ",") + std::to_string(item.number);
  }
  return command + (items.empty() ? "" : " --only " + items) + " --story";
}

void print_failure(const SimulateCommandOptions& asked, const sim::FailedSeed& failed,
                   Context& context) {
  print_line(context,
             fmt::format("seed {} breaks a promise at event {}, after {:.3f} s:", failed.seed,
                         failed.breach.event, static_cast<double>(failed.breach.time_us) / 1e6));
  print_line(context, "  " + failed.breach.what);
  print_line(context, fmt::format("\n{} of {} enough to break it:", failed.items.size(),
                                  counted(failed.items_at_first, "thing that happens is",
                                          "things that happen are")));
  for (const sim::Item& item : failed.items) {
    print_line(context, fmt::format("  {:>4}  {:>10.3f}s  {}", item.number,
                                    static_cast<double>(item.at_us) / 1e6, to_text(item.act)));
  }
  print_line(context, "\nthe end of the story:");
  const std::size_t lines = failed.story.size();
  for (std::size_t i = lines > kShownLines ? lines - kShownLines : 0; i < lines; ++i) {
    print_line(context, line_text(failed.story[i]));
  }
  print_line(context, "\nagain: " + again(asked, failed));
}

void print_report(const SimulateCommandOptions& asked, const sim::SimulateReport& report,
                  const std::vector<std::string>& missing, Context& context) {
  print_line(context, fmt::format("simulations  {}", with_thousands(report.seeds)));
  print_line(context, fmt::format("events       {}", with_thousands(report.events)));
  print_line(context, fmt::format("trace        {:016x}", report.trace_hash));
  if (asked.coverage) {
    for (const auto& [what, times] : report.coverage.met()) {
      print_line(context, fmt::format("  {:>10}  {}", with_thousands(times), what));
    }
  }
  for (const std::string& what : missing) {
    print_line(context, "never met    " + what);
  }
  if (report.failed.has_value()) {
    print_line(context, "");
    print_failure(asked, *report.failed, context);
  } else if (missing.empty()) {
    print_line(context, "no promise was broken");
  }
}

void write_failure(JsonWriter& json, const SimulateCommandOptions& asked,
                   const sim::FailedSeed& failed) {
  json.key("failed")
      .begin_object()
      .member("seed", failed.seed)
      .member("event", failed.breach.event)
      .member("what", failed.breach.what)
      .member("again", again(asked, failed));
  json.key("items").begin_array();
  for (const sim::Item& item : failed.items) {
    json.begin_object()
        .member("number", std::uint64_t{item.number})
        .member("act", to_text(item.act))
        .end_object();
  }
  json.end_array().key("story").begin_array();
  for (const sim::Trace::Line& line : failed.story) {
    json.string(line_text(line));
  }
  json.end_array().end_object();
}

void write_report(const SimulateCommandOptions& asked, const sim::SimulateReport& report,
                  const std::vector<std::string>& missing, Context& context) {
  JsonWriter json;
  json.begin_object()
      .member("ok", !report.failed.has_value() && missing.empty())
      .member("simulations", report.seeds)
      .member("events", report.events)
      .member("trace", fmt::format("{:016x}", report.trace_hash));
  json.key("met").begin_object();
  for (const auto& [what, times] : report.coverage.met()) {
    json.member(what, times);
  }
  json.end_object().key("never_met").begin_array();
  for (const std::string& what : missing) {
    json.string(what);
  }
  json.end_array();
  if (report.failed.has_value()) {
    write_failure(json, asked, *report.failed);
  }
  json.end_object();
  print_json(context, std::move(json));
}

int print_story_of(std::uint64_t seed, const sim::SimulateOptions& options, Context& context) {
  const sim::Played played = sim::play_seed(seed, options);
  for (const sim::Trace::Line& line : played.trace.lines()) {
    print_line(context, line_text(line));
  }
  print_line(context, fmt::format("trace  {:016x}", played.trace.hash()));
  if (played.breach.has_value()) {
    print_line(context,
               fmt::format("broken at event {}: {}", played.breach->event, played.breach->what));
  }
  return played.breach.has_value() ? kExitBadAnswer : 0;
}

}  // namespace

Result<void> run_command(const SimulateCommandOptions& asked, Context& context) {
  HOLDFAST_TRY(sim::SimulateOptions options, read(asked));
  if (!asked.file.empty()) {
    return simulate_file(asked, std::move(options), context);
  }
  if (asked.real || !asked.with.empty() || !asked.world.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "--with, --world and --real go with a workflow file: holdfast simulate FILE ..."};
  }
  if (asked.story) {
    context.exit_code = print_story_of(options.first_seed, options, context);
    return {};
  }
  const sim::SimulateReport report = simulate_with_bar(std::move(options));
  const std::vector<std::string> missing =
      asked.coverage ? report.coverage.missing() : std::vector<std::string>();
  context.json() ? write_report(asked, report, missing, context)
                 : print_report(asked, report, missing, context);
  context.exit_code = report.failed.has_value() || !missing.empty() ? kExitBadAnswer : 0;
  return {};
}

}  // namespace holdfast
