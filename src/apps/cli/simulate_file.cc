#include "apps/cli/simulate_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "apps/cli/argument_values.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/workflow_files.h"
#include "base/text.h"
#include "lab/sim/user_scenario.h"
#include "runs/language/definition/definition_fault.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

using Setting = std::shared_ptr<const sim::UserSetting>;

// order.sim.yaml of order.yaml
std::string world_beside(const std::string& file) {
  const std::size_t name = file.find_last_of('/') + 1;
  const std::size_t dot = file.find_last_of('.');
  return (dot == std::string::npos || dot < name ? file : file.substr(0, dot)) + ".sim.yaml";
}

std::string fault_text(const std::string& file, const sim::WorldFault& fault) {
  const std::string path = path_text(fault.path);
  return fmt::format("{}:{}:{}: {}{}{}", file, fault.location.line, fault.location.column, path,
                     path.empty() ? "" : ": ", fault.message);
}

// Prints one line per fault; as JSON they are in the field "errors".
Error refuse(const std::string& file, const std::vector<sim::WorldFault>& faults,
             Context& context) {
  JsonWriter json;
  json.begin_array();
  for (const sim::WorldFault& fault : faults) {
    json.begin_object().member("path", path_text(fault.path)).member("message", fault.message);
    json.member("line", std::uint64_t{fault.location.line});
    json.member("column", std::uint64_t{fault.location.column}).end_object();
    if (!context.json()) {
      print_line(context, harmless(fault_text(file, fault)));
    }
  }
  json.end_array();
  context.out.flush();
  return Error{ErrorCode::invalid_argument,
               fmt::format("{} is not valid: {}", file, counted(faults.size(), "fault"))}
      .with("errors", std::move(json).take());
}

Result<sim::UserWorld> load_world(const SimulateArguments& given, const sim::Workflows& workflows,
                                  Context& context) {
  const std::string file = given.world.empty() ? world_beside(given.file) : given.world;
  if (given.world.empty() && access(file.c_str(), F_OK) != 0) {
    sim::ReadWorld read = sim::default_world(workflows);
    if (!read.faults.empty()) {
      return Error{ErrorCode::invalid_argument,
                   read.faults.front().message + "; declare it in " + file};
    }
    return std::move(read.world);
  }
  HOLDFAST_TRY(const std::string text, read_file_argument(file));
  sim::ReadWorld read = sim::read_world(text, workflows);
  if (!read.faults.empty()) {
    return refuse(file, read.faults, context);
  }
  return std::move(read.world);
}

Result<Setting> load(const SimulateArguments& given, Context& context) {
  sim::Workflows workflows;
  std::vector<std::string> files = given.with;
  files.insert(files.begin(), given.file);
  for (const std::string& file : files) {
    HOLDFAST_TRY(auto definition, load_workflow_file(file));
    workflows.push_back(std::move(definition));
  }
  auto setting = std::make_shared<sim::UserSetting>();
  HOLDFAST_TRY(setting->workflows, sim::simulated(workflows));
  HOLDFAST_TRY(setting->world, load_world(given, setting->workflows, context));
  setting->real = given.real;
  return Setting(std::move(setting));
}

std::string faults_text(const sim::Faults& faults) {
  std::string text;
  for (const sim::Fault fault : faults) {
    text += (text.empty() ? "" : ",") + std::string(to_text(fault));
  }
  return text.empty() ? "none" : text;
}

std::string repeat_command_of(const SimulateArguments& given, const sim::FailedSeed& failed) {
  std::string command = "holdfast simulate " + shell_word(given.file);
  for (const std::string& file : given.with) {
    command += " --with " + shell_word(file);
  }
  command += given.world.empty() ? "" : " --world " + shell_word(given.world);
  command += given.real ? " --real" : "";
  std::string items;
  for (const sim::Item& item : failed.items) {
    items += (items.empty() ? "" : ",") + std::to_string(item.number);
  }
  return command + fmt::format(" --seed {} --faults {} --only {} --story", failed.seed,
                               faults_text(failed.faults), items);
}

// An invariant of the world file has a name; other guarantees are Holdfast's own.
std::string violation_text(const sim::Violation& violation) {
  return violation.invariant.empty()
             ? "Holdfast breaks a guarantee, please report it: " + violation.what
             : violation.run + " breaks \"" + violation.invariant + "\": " + violation.what;
}

std::string time_text(std::int64_t us) {
  const std::int64_t ms = us / 1000;
  const std::int64_t hours = ms / 3'600'000;
  return fmt::format("{}{:02}:{:02}.{:03}", hours > 0 ? fmt::format("{}:", hours) : "",
                     ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
}

// Lines of one run, and those that concern all runs.
std::vector<sim::Trace::Line> lines_about(const std::vector<sim::Trace::Line>& all,
                                          const std::string& run) {
  std::vector<sim::Trace::Line> lines;
  std::copy_if(all.begin(), all.end(), std::back_inserter(lines), [&](const auto& line) {
    return run.empty() || line.run.empty() || line.run == run;
  });
  return lines;
}

void print_story(const std::vector<sim::Trace::Line>& lines, Context& context) {
  for (const sim::Trace::Line& line : lines) {
    print_line(context, fmt::format("  {:>12}  {}{}{}", time_text(line.time_us), line.run,
                                    line.run.empty() ? "" : ": ", harmless(line.text)));
  }
}

void print_broken(const SimulateArguments& given, const sim::FailedSeed& failed, Context& context) {
  print_line(context, fmt::format("\nseed {}: {}", failed.seed, violation_text(failed.violation)));
  print_line(context, fmt::format("\nwhat happened ({} of {} needed):", failed.items.size(),
                                  counted(failed.items_at_first, "item is", "items are")));
  print_story(lines_about(failed.story, failed.violation.run), context);
  print_line(context, fmt::format("  {:>12}  broken at event {}, trace {:016x}",
                                  time_text(failed.violation.time_us), failed.violation.event,
                                  failed.trace_hash));
  print_line(context, "\nrepeat: " + repeat_command_of(given, failed));
}

void print_report(const SimulateArguments& given, const sim::SimulateReport& report,
                  const std::vector<sim::CoveredPart>& parts, Context& context) {
  print_line(context, fmt::format("simulations  {}", with_thousands(report.seeds)));
  print_line(context, fmt::format("events       {}", with_thousands(report.events)));
  print_line(context, fmt::format("trace        {:016x}", report.trace_hash));
  for (const sim::CoveredPart& one : parts) {
    if (given.coverage) {
      print_line(context,
                 fmt::format("  {:>10}  {} {}", with_thousands(one.times), one.kind, one.name));
    } else if (one.times == 0) {
      print_line(context, fmt::format("not covered  {} {}", one.kind, one.name));
    }
  }
  if (report.failed.has_value()) {
    print_broken(given, *report.failed, context);
  } else {
    print_line(context, "no invariant and no guarantee was broken");
  }
}

void write_story(JsonWriter& json, const std::vector<sim::Trace::Line>& lines) {
  json.key("story").begin_array();
  for (const sim::Trace::Line& line : lines) {
    json.begin_object().member("at_ms", line.time_us / 1000);
    if (!line.run.empty()) {
      json.member("run", line.run);
    }
    json.member("what", line.text).end_object();
  }
  json.end_array();
}

void write_violation(JsonWriter& json, const sim::Violation& violation, std::uint64_t trace_hash) {
  json.member("event", violation.event).member("at_ms", violation.time_us / 1000);
  json.member("trace", fmt::format("{:016x}", trace_hash));
  if (!violation.invariant.empty()) {
    json.member("invariant", violation.invariant).member("run", violation.run);
  }
  json.member("what", violation.what);
}

void write_report(const SimulateArguments& given, const sim::SimulateReport& report,
                  const std::vector<sim::CoveredPart>& parts, Context& context) {
  JsonWriter json;
  json.begin_object()
      .member("ok", !report.failed.has_value())
      .member("simulations", report.seeds)
      .member("events", report.events)
      .member("trace", fmt::format("{:016x}", report.trace_hash));
  for (const bool never : {false, true}) {
    json.key(never ? "never_met" : "met").begin_array();
    for (const sim::CoveredPart& one : parts) {
      if (never == (one.times == 0)) {
        json.begin_object().member("kind", one.kind).member("name", one.name);
        never ? json : json.member("times", one.times);
        json.end_object();
      }
    }
    json.end_array();
  }
  if (report.failed.has_value()) {
    const sim::FailedSeed& failed = *report.failed;
    json.key("failed").begin_object().member("seed", failed.seed);
    write_violation(json, failed.violation, failed.trace_hash);
    json.member("again", repeat_command_of(given, failed));
    write_story(json, lines_about(failed.story, failed.violation.run));
    json.end_object();
  }
  json.end_object();
  print_json(context, std::move(json));
}

void print_story_of(const SimulateArguments& given, const sim::SimulateOptions& options,
                    Context& context) {
  const std::uint64_t seed = options.first_seed;
  const sim::PlayedSeed played = sim::play_seed(seed, options);
  context.exit_code = played.violation.has_value() ? kExitNegativeResult : 0;
  if (context.json()) {
    JsonWriter json;
    json.begin_object().member("ok", !played.violation.has_value()).member("seed", seed);
    json.member("events", played.trace.events());
    if (played.violation.has_value()) {
      write_violation(json, *played.violation, played.trace.hash());
    } else {
      json.member("trace", fmt::format("{:016x}", played.trace.hash()));
    }
    write_story(json, given.trace ? played.trace.lines() : played.trace.story());
    json.end_object();
    print_json(context, std::move(json));
    return;
  }
  print_story(given.trace ? played.trace.lines() : played.trace.story(), context);
  if (played.violation.has_value()) {
    print_line(context, fmt::format("  {:>12}  broken at event {}, trace {:016x}",
                                    time_text(played.violation->time_us), played.violation->event,
                                    played.trace.hash()));
    print_line(context, "\n" + violation_text(*played.violation));
  } else {
    print_line(context, fmt::format("\nno invariant and no guarantee was broken in {}, "
                                    "trace {:016x}",
                                    counted(played.trace.events(), "event"), played.trace.hash()));
  }
}

}  // namespace

sim::SimulateReport simulate_with_bar(sim::SimulateOptions options) {
  ProgressBar bar("simulating", "seeds");
  const Progress progress = bar.progress();
  options.progress = [&](std::uint64_t done) {
    if (progress) {
      progress(ProgressPoint{done, options.seeds == UINT64_MAX ? 0 : options.seeds});
    }
    return true;
  };
  return sim::simulate(options);
}

Result<void> simulate_file(const SimulateArguments& given, sim::SimulateOptions options,
                           Context& context) {
  HOLDFAST_TRY(const Setting setting, load(given, context));
  if (given.faults == "all") {
    options.faults = sim::user_faults();
  }
  if (options.faults.contains(sim::Fault::foreign)) {
    return Error{ErrorCode::invalid_argument,
                 "the fault foreign tests Holdfast itself with facts that no workflow produces; "
                 "use it without FILE"};
  }
  if (options.faults.contains(sim::Fault::backend)) {
    return Error{ErrorCode::invalid_argument,
                 "no queue of a FILE is bound to a lease backend; use the fault backend without "
                 "FILE"};
  }
  options.scenario = [setting](std::uint64_t seed) {
    return sim::make_user_scenario(setting, seed);
  };
  options.plan = [setting](std::uint64_t seed, const sim::Faults& allowed) {
    return sim::make_user_plan(*setting, seed, allowed);
  };
  options.shrink_faults = true;
  // Real programs need not be deterministic.
  options.twice_every = given.real ? 0 : options.twice_every;
  if (given.story) {
    print_story_of(given, options, context);
    return {};
  }
  const sim::SimulateReport report = simulate_with_bar(std::move(options));
  const std::vector<sim::CoveredPart> parts = sim::flow_coverage(*setting, report.coverage);
  context.json() ? write_report(given, report, parts, context)
                 : print_report(given, report, parts, context);
  context.exit_code = report.failed.has_value() ? kExitNegativeResult : 0;
  return {};
}

}  // namespace holdfast::cli
