#include <CLI/CLI.hpp>

#include "apps/cli/cli_help.h"
#include "apps/cli/grammar.h"

namespace holdfast {

namespace {

constexpr const char* kStoreHelp = "the store: sqlite:PATH or postgres://…";

void add_reading_commands(Grammar& grammar, CLI::App& parent) {
  auto [stat, stat_options] =
      grammar.add<StatOptions>(parent, "stat", help::kStat, help::kStatExamples);
  add_text(*stat, "STORE", stat_options->store, kStoreHelp);

  auto [cat, options] = grammar.add<CatOptions>(parent, "cat", help::kCat, help::kCatExamples);
  add_text(*cat, "STORE", options->store, kStoreHelp);
  cat->add_option("--thread", options->thread, "Only this thread, for example run:1")
      ->type_name("THREAD");
  add_number(*cat, "--from", options->from,
             "Begin at this position; with --thread at this entry of the thread");
  add_number(*cat, "--limit", options->limit, "Stop after so many entries");
  cat->add_flag("--follow,-f", options->follow, "Go on with entries as they are appended");

  auto [verify, verify_options] =
      grammar.add<VerifyOptions>(parent, "verify", help::kVerify, help::kVerifyExamples);
  add_text(*verify, "STORE", verify_options->store, kStoreHelp);
}

void add_writing_commands(Grammar& grammar, CLI::App& parent) {
  auto [append, options] =
      grammar.add<AppendOptions>(parent, "append", help::kAppend, help::kAppendExamples);
  add_text(*append, "STORE", options->store, kStoreHelp);
  add_text(*append, "THREAD", options->thread, "the thread, for example run:1");
  add_text(*append, "KIND", options->kind, "what happened, for example run_started");
  append
      ->add_option("DATA", options->data,
                   "a JSON object; - reads it from standard input (default: {})")
      ->type_name("");
  add_number(*append, "--expected-rev", options->expected_rev,
             "Append only if the thread has exactly so many entries");
  add_number(*append, "--at", options->at_ms,
             "When it happened, in milliseconds since 1970 (default: now)");

  auto [seal, seal_options] =
      grammar.add<SealCommandOptions>(parent, "seal", help::kSeal, help::kSealExamples);
  add_text(*seal, "STORE", seal_options->store, kStoreHelp);
  add_number(*seal, "--below", seal_options->below, "Only batches below this position");
  seal->add_flag("--reclaim", seal_options->reclaim,
                 "Give the freed space back to the system; rewrites the store");
}

void add_moving_commands(Grammar& grammar, CLI::App& parent) {
  auto [exporter, options] =
      grammar.add<ExportOptions>(parent, "export", help::kExport, help::kExportExamples);
  add_text(*exporter, "STORE", options->store, kStoreHelp);
  exporter->add_option("FILE", options->file, "the file to write (default: standard output)")
      ->type_name("");
  exporter->add_flag("--force", options->force, "Replace FILE if it exists");

  auto [importer, import_options] =
      grammar.add<ImportOptions>(parent, "import", help::kImport, help::kImportExamples);
  add_text(*importer, "STORE", import_options->store, kStoreHelp);
  add_text(*importer, "FILE", import_options->file, "an export; - reads standard input");

  auto [copy, copy_options] =
      grammar.add<CopyOptions>(parent, "copy", help::kCopy, help::kCopyExamples);
  add_text(*copy, "FROM", copy_options->from, kStoreHelp);
  add_text(*copy, "TO", copy_options->to, "the store to make or bring up to date");
}

}  // namespace

void add_journal_commands(Grammar& grammar, CLI::App& program) {
  CLI::App& journal =
      grammar.add_family(program, "journal", help::kJournal, help::kJournalExamples);
  add_reading_commands(grammar, journal);
  add_writing_commands(grammar, journal);
  add_moving_commands(grammar, journal);
}

}  // namespace holdfast
