#include "cli/parse.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "base/text.h"
#include "cli/help.h"

namespace holdfast {

namespace {

constexpr const char* kStoreHelp = "the store: sqlite:PATH or postgres://…";

// One command that can be run, and how to take what was parsed for it.
struct Leaf {
  CLI::App* app;
  std::function<Command()> command;
  std::shared_ptr<bool> json;
};

// Decimal only: the library's own numbers also read 010 as 8.
void add_number(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& target,
                const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name, &target](const std::string& text) {
           target = parse_decimal(text);
           if (!target.has_value()) {
             throw CLI::ValidationError(
                 fmt::format("{} needs a whole number, not \"{}\"", name, text));
           }
         },
         help)
      ->type_name("N");
}

void add_text(CLI::App& app, const std::string& name, std::string& target,
              const std::string& help) {
  app.add_option(name, target, help)->required()->type_name("");
}

class Grammar {
 public:
  Grammar() : app_(help::kProgram, "holdfast") {
    app_.footer(help::kProgramExamples);
    app_.get_formatter()->column_width(26);
    app_.set_version_flag("--version", "holdfast " HOLDFAST_VERSION, "Print the version and exit");
    app_.require_subcommand(0, 1);
    CLI::App* const journal = app_.add_subcommand("journal", help::kJournal);
    journal->footer(help::kJournalExamples);
    journal->require_subcommand(0, 1);
    add_reading_commands(*journal);
    add_writing_commands(*journal);
    add_moving_commands(*journal);
    CLI::App* const workflow = app_.add_subcommand("workflow", help::kWorkflow);
    workflow->footer(help::kWorkflowExamples);
    workflow->require_subcommand(0, 1);
    add_workflow_commands(*workflow);
    CLI::App* const bench = app_.add_subcommand("bench", help::kBench);
    bench->footer(help::kBenchExamples);
    bench->require_subcommand(0, 1);
    add_bench_commands(*bench);
    app_.add_subcommand("help", "Print this help and exit");
  }

  Result<CommandLine> parse(std::span<char*> arguments) {
    try {
      app_.parse(static_cast<int>(arguments.size()), arguments.data());
    } catch (const CLI::CallForVersion&) {
      return CommandLine{ShowText{app_.version() + "\n"}};
    } catch (const CLI::CallForHelp&) {
      return help_of(deepest());
    } catch (const CLI::ParseError& error) {
      return usage_error(error.what());
    }
    for (const Leaf& leaf : leaves_) {
      if (leaf.app->parsed()) {
        return CommandLine{leaf.command(), *leaf.json ? OutputForm::json : OutputForm::text};
      }
    }
    if (deepest()->get_name() == "help") {
      app_.clear();  // otherwise the library shows the help of "help"
    }
    return help_of(deepest());
  }

 private:
  template <typename Options>
  std::pair<CLI::App*, Options*> add(CLI::App& parent, const std::string& name,
                                     const char* description, const char* examples) {
    CLI::App* const app = parent.add_subcommand(name, description);
    app->footer(examples);
    auto options = std::make_shared<Options>();
    auto json = std::make_shared<bool>(false);
    app->add_flag("--json", *json, "Print JSON for programs");
    leaves_.push_back(Leaf{app, [options] { return Command(*options); }, json});
    return {app, options.get()};
  }

  void add_reading_commands(CLI::App& parent) {
    auto [stat, stat_options] = add<StatOptions>(parent, "stat", help::kStat, help::kStatExamples);
    add_text(*stat, "STORE", stat_options->store, kStoreHelp);

    auto [cat, options] = add<CatOptions>(parent, "cat", help::kCat, help::kCatExamples);
    add_text(*cat, "STORE", options->store, kStoreHelp);
    cat->add_option("--thread", options->thread, "Only this thread, for example run:1")
        ->type_name("THREAD");
    add_number(*cat, "--from", options->from,
               "Begin at this position; with --thread at this entry of the thread");
    add_number(*cat, "--limit", options->limit, "Stop after so many entries");
    cat->add_flag("--follow,-f", options->follow, "Go on with entries as they are appended");

    auto [verify, verify_options] =
        add<VerifyOptions>(parent, "verify", help::kVerify, help::kVerifyExamples);
    add_text(*verify, "STORE", verify_options->store, kStoreHelp);
  }

  void add_writing_commands(CLI::App& parent) {
    auto [append, options] =
        add<AppendOptions>(parent, "append", help::kAppend, help::kAppendExamples);
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
        add<SealCommandOptions>(parent, "seal", help::kSeal, help::kSealExamples);
    add_text(*seal, "STORE", seal_options->store, kStoreHelp);
    add_number(*seal, "--below", seal_options->below, "Only batches below this position");
    seal->add_flag("--reclaim", seal_options->reclaim,
                   "Give the freed space back to the system; rewrites the store");
  }

  void add_moving_commands(CLI::App& parent) {
    auto [exporter, options] =
        add<ExportOptions>(parent, "export", help::kExport, help::kExportExamples);
    add_text(*exporter, "STORE", options->store, kStoreHelp);
    exporter->add_option("FILE", options->file, "the file to write (default: standard output)")
        ->type_name("");
    exporter->add_flag("--force", options->force, "Replace FILE if it exists");

    auto [importer, import_options] =
        add<ImportOptions>(parent, "import", help::kImport, help::kImportExamples);
    add_text(*importer, "STORE", import_options->store, kStoreHelp);
    add_text(*importer, "FILE", import_options->file, "an export; - reads standard input");

    auto [copy, copy_options] = add<CopyOptions>(parent, "copy", help::kCopy, help::kCopyExamples);
    add_text(*copy, "FROM", copy_options->from, kStoreHelp);
    add_text(*copy, "TO", copy_options->to, "the store to make or bring up to date");
  }

  void add_workflow_commands(CLI::App& parent) {
    auto [check, options] = add<WorkflowCheckOptions>(parent, "check", help::kWorkflowCheck,
                                                      help::kWorkflowCheckExamples);
    check->add_option("FILE", options->files, "workflow files; - reads standard input")
        ->required()
        ->type_name("");
    add<WorkflowSchemaOptions>(parent, "schema", help::kWorkflowSchema,
                               help::kWorkflowSchemaExamples);
  }

  void add_bench_commands(CLI::App& parent) {
    auto [journal, options] = add<BenchJournalOptions>(parent, "journal", help::kBenchJournal,
                                                       help::kBenchJournalExamples);
    journal->add_option("--store", options->store, "Where: sqlite:PATH, postgres://… or memory:")
        ->type_name("URL");
    add_number(*journal, "--entries", options->entries,
               "Entries in the journal that is opened and sealed (default: 1000000)");
    journal->add_flag("--keep", options->keep, "Leave the journal that was made");
    journal->add_flag("--quick", options->quick, "A few seconds only; the numbers mean little");
    add_bench_engine(parent);
    add_bench_workflow(parent);
  }

  void add_bench_workflow(CLI::App& parent) {
    auto [workflow, options] = add<BenchWorkflowOptions>(parent, "workflow", help::kBenchWorkflow,
                                                         help::kBenchWorkflowExamples);
    workflow->add_option("--store", options->store, "Where: sqlite:PATH, postgres://… or memory:")
        ->type_name("URL");
    workflow->add_option("--only", options->only, "One case")->type_name("CASE");
    add_number(*workflow, "--sleeping", options->sleeping,
               "Runs of the case with many asleep (default: 1000000)");
    workflow->add_flag("--keep", options->keep, "Leave the journal that was made");
    workflow->add_flag("--quick", options->quick, "A few seconds only; the numbers mean little");
  }

  void add_bench_engine(CLI::App& parent) {
    auto [engine, options] =
        add<BenchEngineOptions>(parent, "engine", help::kBenchEngine, help::kBenchEngineExamples);
    engine->add_option("--store", options->store, "Where: sqlite:PATH, postgres://… or memory:")
        ->type_name("URL");
    engine->add_option("--only", options->only, "One case")->type_name("CASE");
    add_number(*engine, "--pending", options->pending,
               "Pending attempts of the case with many (default: 1000000)");
    add_number(*engine, "--steps", options->steps, "Steps of the long run (default: 100000)");
    engine->add_flag("--keep", options->keep, "Leave the journal that was made");
    engine->add_flag("--quick", options->quick, "A few seconds only; the numbers mean little");
  }

  // The innermost command that was named.
  [[nodiscard]] const CLI::App* deepest() const {
    const CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) {
      app = app->get_subcommands().front();
    }
    return app;
  }

  static CommandLine help_of(const CLI::App* app) {
    const CLI::App* const parent = app->get_parent();
    return CommandLine{ShowText{app->help(parent == nullptr ? "" : path_of(parent))}};
  }

  static std::string path_of(const CLI::App* app) {
    const CLI::App* const parent = app->get_parent();
    return parent == nullptr ? app->get_name() : path_of(parent) + " " + app->get_name();
  }

  [[nodiscard]] Error usage_error(std::string message) const {
    std::replace(message.begin(), message.end(), '\n', ' ');
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}; see {} --help", message, path_of(deepest()))};
  }

  CLI::App app_;
  std::vector<Leaf> leaves_;
};

}  // namespace

Result<CommandLine> parse_command_line(std::span<char*> arguments) {
  Grammar grammar;
  return grammar.parse(arguments);
}

}  // namespace holdfast
