#include "apps/cli/command.h"
#include "apps/cli/import_file.h"
#include "apps/cli/option_groups.h"

namespace holdfast::cli {

namespace {

struct JournalImportCommand {
  std::string store = {};
  std::string file = {};

  void declare(Arguments& arguments) {
    add_store(arguments, store);
    arguments.required("FILE", file, "an export; - reads standard input");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const TransferReport report, import_from(file, store));
    print_transfer("imported", store, report, context);
    return {};
  }
};

}  // namespace

extern const Command kJournalImportCommand = make_command<JournalImportCommand>(
    "journal import", "Create a journal from an export: same id, positions and hashes.",
    R"(Nothing is written unless the whole file is valid. Repeat an interrupted import to
continue it.

Examples:
  holdfast journal import sqlite:restored.db demo.jsonl
  gunzip -c demo.jsonl.gz | holdfast journal import sqlite:restored.db -)");

}  // namespace holdfast::cli
