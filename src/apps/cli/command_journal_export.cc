#include <fmt/format.h>

#include "apps/cli/cli_terminal.h"
#include "apps/cli/command.h"
#include "apps/cli/new_file.h"
#include "apps/cli/option_groups.h"
#include "base/hash.h"
#include "runs/view/view_words.h"
#include "storage/journal/journal_transfer.h"

namespace holdfast::cli {

namespace {

Result<TransferReport> export_with_bar(Log& log, std::ostream& out) {
  ProgressBar bar("exporting", "batches");
  return export_journal(log, out, bar.progress());
}

Result<TransferReport> export_to_file(Log& log, const std::string& path) {
  HOLDFAST_TRY(const auto file, NewFile::create(path));
  TransferReport report;
  HOLDFAST_CHECK(file->write([&](std::ostream& stream) -> Result<void> {
    HOLDFAST_TRY(report, export_with_bar(log, stream));
    return {};
  }));
  HOLDFAST_CHECK(file->finish());
  return report;
}

struct JournalExportCommand {
  std::string store = {};
  std::string file = "-";  // standard output
  bool force = false;

  void declare(Arguments& arguments) {
    add_store(arguments, store);
    arguments.optional("FILE", file, "the file to write (default: standard output)");
    arguments.flag("--force", force, "Replace FILE if it exists");
  }

  Result<void> run(Context& context) const {
    if (file == "-") {
      HOLDFAST_TRY(const auto log, open_log_to_read(store, context));
      HOLDFAST_CHECK(export_with_bar(*log, context.out));
      return {};
    }
    HOLDFAST_CHECK(check_new_file(file, force));
    HOLDFAST_TRY(const auto log, open_log_to_read(store, context));
    HOLDFAST_TRY(const TransferReport report, export_to_file(*log, file));
    print_result(context,
                 fmt::format("exported {} in {} to {}", counted(report.entries, "entry", "entries"),
                             counted(report.batches, "batch", "batches"), harmless(file)),
                 [&](JsonWriter& json) {
                   json.member("file", file)
                       .member("entries", report.entries)
                       .member("batches", report.batches)
                       .member("head", report.head.value)
                       .member("chain", to_hex(report.chain));
                 });
    return {};
  }
};

}  // namespace

extern const Command kJournalExportCommand = make_command<JournalExportCommand>(
    "journal export", "Write a whole journal as JSON lines.",
    R"(Writes a header line, one line per entry, and an end line with the hash of everything. A
file appears under its name only when it is complete and on disk.

Examples:
  holdfast journal export sqlite:demo.db demo.jsonl
  holdfast journal export sqlite:demo.db | gzip > demo.jsonl.gz)");

}  // namespace holdfast::cli
