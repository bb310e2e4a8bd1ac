#include <CLI/CLI.hpp>

#include "apps/cli/cli_help.h"
#include "apps/cli/grammar.h"

namespace holdfast {

namespace {

void add_bench_workflow(Grammar& grammar, CLI::App& parent) {
  auto [workflow, options] = grammar.add<BenchWorkflowOptions>(
      parent, "workflow", help::kBenchWorkflow, help::kBenchWorkflowExamples);
  workflow->add_option("--store", options->store, "Where: sqlite:PATH, postgres://… or memory:")
      ->type_name("URL");
  workflow->add_option("--only", options->only, "One case")->type_name("CASE");
  add_number(*workflow, "--sleeping", options->sleeping,
             "Runs of the case with many asleep (default: 1000000)");
  workflow->add_flag("--keep", options->keep, "Leave the journal that was made");
  workflow->add_flag("--quick", options->quick, "A few seconds only; the numbers mean little");
}

void add_bench_engine(Grammar& grammar, CLI::App& parent) {
  auto [engine, options] = grammar.add<BenchEngineOptions>(parent, "engine", help::kBenchEngine,
                                                           help::kBenchEngineExamples);
  engine->add_option("--store", options->store, "Where: sqlite:PATH, postgres://… or memory:")
      ->type_name("URL");
  engine->add_option("--only", options->only, "One case")->type_name("CASE");
  add_number(*engine, "--pending", options->pending,
             "Pending attempts of the case with many (default: 1000000)");
  add_number(*engine, "--steps", options->steps, "Steps of the long run (default: 100000)");
  engine->add_flag("--keep", options->keep, "Leave the journal that was made");
  engine->add_flag("--quick", options->quick, "A few seconds only; the numbers mean little");
}

void add_bench_server(Grammar& grammar, CLI::App& parent) {
  auto [server, options] = grammar.add<BenchServerOptions>(parent, "server", help::kBenchServer,
                                                           help::kBenchServerExamples);
  server->add_option("--only", options->only, "One case")->type_name("CASE");
  server->add_flag("--quick", options->quick, "A few seconds only; the numbers mean little");
}

}  // namespace

void add_bench_commands(Grammar& grammar, CLI::App& program) {
  CLI::App& parent = grammar.add_family(program, "bench", help::kBench, help::kBenchExamples);
  auto [journal, options] = grammar.add<BenchJournalOptions>(parent, "journal", help::kBenchJournal,
                                                             help::kBenchJournalExamples);
  journal->add_option("--store", options->store, "Where: sqlite:PATH, postgres://… or memory:")
      ->type_name("URL");
  add_number(*journal, "--entries", options->entries,
             "Entries in the journal that is opened and sealed (default: 1000000)");
  journal->add_flag("--keep", options->keep, "Leave the journal that was made");
  journal->add_flag("--quick", options->quick, "A few seconds only; the numbers mean little");
  add_bench_engine(grammar, parent);
  add_bench_workflow(grammar, parent);
  add_bench_server(grammar, parent);
}

}  // namespace holdfast
