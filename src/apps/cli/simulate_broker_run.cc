#include "apps/cli/simulate_broker_run.h"

#include <fmt/format.h>

#include "apps/cli/command.h"
#include "base/text.h"
#include "lab/broker_sim/simulate_broker.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

using broker_sim::BrokerItem;
using broker_sim::BrokerSimulateOptions;
using broker_sim::BrokerSimulateReport;
using broker_sim::FailedBrokerSeed;

constexpr std::size_t kLastLines = 40;

std::string event_text(const sim::Trace::Line& line) {
  return fmt::format("{:>6}  {:>14.3f}s  {}", line.event, static_cast<double>(line.time_us) / 1e6,
                     line.text);
}

std::string command_for(const FailedBrokerSeed& failed) {
  std::string items;
  for (const BrokerItem& item : failed.items) {
    items += (items.empty() ? "" : ",") + std::to_string(item.number);
  }
  return fmt::format("holdfast simulate --broker --seed {}{}{} --story", failed.seed,
                     items.empty() ? "" : " --only ", items);
}

void print_failed_seed(const FailedBrokerSeed& failed, Context& context) {
  print_line(context, fmt::format("seed {} breaks a guarantee at event {}, after {:.3f} s:",
                                  failed.seed, failed.violation.event,
                                  static_cast<double>(failed.violation.time_us) / 1e6));
  print_line(context, "  " + failed.violation.what);
  print_line(context, fmt::format("\n{} of {} enough to break it:", failed.items.size(),
                                  counted(failed.items_at_first, "item is", "items are")));
  for (const BrokerItem& item : failed.items) {
    print_line(context, fmt::format("  {:>4}  {:>10.3f}s  {}", item.number,
                                    static_cast<double>(item.at_us) / 1e6, to_text(item.act)));
  }
  print_line(context, "\nlast events:");
  const std::size_t lines = failed.trace.size();
  for (std::size_t i = lines > kLastLines ? lines - kLastLines : 0; i < lines; ++i) {
    print_line(context, event_text(failed.trace[i]));
  }
  print_line(context, "\nrepeat: " + command_for(failed));
}

void print_broker_report(const SimulateArguments& given, const BrokerSimulateReport& report,
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
    print_failed_seed(*report.failed, context);
  } else if (missing.empty()) {
    print_line(context, "no guarantee was broken");
  }
}

void write_broker_report(const BrokerSimulateReport& report,
                         const std::vector<std::string>& missing, Context& context) {
  JsonWriter json;
  json.begin_object()
      .member("ok", !report.failed.has_value() && missing.empty())
      .member("simulations", report.seeds)
      .member("events", report.events)
      .member("trace", fmt::format("{:016x}", report.trace_hash));
  json.object("met", [&] {
    for (const auto& [what, times] : report.coverage.counts()) {
      json.member(what, times);
    }
  });
  json.strings("never_met", missing);
  if (report.failed.has_value()) {
    const FailedBrokerSeed& failed = *report.failed;
    json.object("failed", [&] {
      json.member("seed", failed.seed)
          .member("event", failed.violation.event)
          .member("what", failed.violation.what)
          .member("again", command_for(failed));
      json.objects("items", failed.items, [&](const BrokerItem& item) {
        json.member("number", std::uint64_t{item.number}).member("act", to_text(item.act));
      });
      json.list("story", failed.trace,
                [&](const sim::Trace::Line& line) { json.string(event_text(line)); });
    });
  }
  json.end_object();
  print_json(context, std::move(json));
}

int print_broker_story(const BrokerSimulateOptions& options, Context& context) {
  const auto played = broker_sim::play_broker_seed(options.first_seed, options);
  for (const sim::Trace::Line& line : played.trace.lines()) {
    print_line(context, event_text(line));
  }
  print_line(context, fmt::format("trace  {:016x}", played.trace.hash()));
  if (played.violation.has_value()) {
    print_line(context, fmt::format("broken at event {}: {}", played.violation->event,
                                    played.violation->what));
  }
  return played.violation.has_value() ? kExitNegativeResult : 0;
}

}  // namespace

Result<void> simulate_broker(const SimulateArguments& given, const sim::SimulateOptions& options,
                             Context& context) {
  if (given.faults != "all" || given.trace) {
    return Error{ErrorCode::invalid_argument,
                 "--faults and --trace are for workflows; --broker takes --seeds, --seed, "
                 "--seconds, --only, --story, --no-shrink and --coverage"};
  }
  BrokerSimulateOptions chosen;
  chosen.first_seed = options.first_seed;
  chosen.seeds = options.seeds;
  chosen.seconds = options.seconds;
  chosen.only = options.only;
  chosen.shrink = options.shrink;
  if (given.story) {
    context.exit_code = print_broker_story(chosen, context);
    return {};
  }
  const BrokerSimulateReport report = broker_sim::simulate_brokers(chosen);
  const std::vector<std::string> missing =
      given.coverage && !report.failed.has_value() ? report.missing() : std::vector<std::string>();
  context.json() ? write_broker_report(report, missing, context)
                 : print_broker_report(given, report, missing, context);
  context.exit_code = report.failed.has_value() || !missing.empty() ? kExitNegativeResult : 0;
  return {};
}

}  // namespace holdfast::cli
