#include <CLI/CLI.hpp>

#include "apps/cli/cli_help.h"
#include "apps/cli/grammar.h"

namespace holdfast {

void add_simulate_command(Grammar& grammar, CLI::App& program) {
  auto [simulate, options] = grammar.add<SimulateCommandOptions>(
      program, "simulate", help::kSimulate, help::kSimulateExamples);
  simulate
      ->add_option("FILE", options->file,
                   "a workflow file; without one Holdfast itself is tried, on workflows that are "
                   "made up")
      ->type_name("");
  add_option(*simulate, "--world", options->world, "SIM_FILE",
             "What is outside of the workflow (default: FILE with the ending .sim.yaml, if there "
             "is one)");
  add_list(*simulate, "--with", options->with, "FILE",
           "A workflow that FILE starts as a child; may be named several times");
  simulate->add_flag("--real", options->real,
                     "Really execute the programs of exec steps; everything else is as declared");
  add_number(*simulate, "--seeds", options->seeds, "How many simulations (default: 200)");
  add_number(*simulate, "--seed", options->seed,
             "The first of them (default: 1); alone: only this one");
  add_number(*simulate, "--seconds", options->seconds, "Stop after so much time");
  add_option(*simulate, "--faults", options->faults, "LIST",
             "all, none, or some of crash, split, io, conflict, stall, clock, checkpoint, damage, "
             "worker, stale, foreign (default: all; with FILE without damage and foreign, which "
             "try Holdfast itself)");
  add_option(*simulate, "--only", options->only, "ITEMS",
             "Leave out everything that happens but these: 3,7,12");
  simulate->add_flag("--story", options->story, "Tell everything that happens (with --seed)");
  simulate->add_flag("--trace", options->trace,
                     "With FILE and --story: tell it by what the processes did, line by line");
  simulate->add_flag("--no-shrink", options->no_shrink,
                     "Do not look for the shortest way to break the same promise");
  simulate->add_flag(
      "--coverage", options->coverage,
      "Tell how often everything was met; without FILE fail when something never was");
}

}  // namespace holdfast
