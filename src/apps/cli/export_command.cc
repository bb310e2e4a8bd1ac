#include <fmt/format.h>

#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/fd_stream.h"
#include "apps/cli/new_file.h"
#include "base/hash.h"
#include "base/text.h"
#include "runs/view/view_words.h"
#include "storage/journal/journal_transfer.h"

namespace holdfast {

namespace {

Result<TransferReport> export_with_bar(Log& log, std::ostream& out) {
  ProgressBar bar("exporting", "batches");
  return export_journal(log, out, bar.progress());
}

Result<TransferReport> export_to_file(Log& log, const std::string& path) {
  HOLDFAST_TRY(const auto file, NewFile::create(path));
  FdStream stream(file->descriptor());
  auto report = export_with_bar(log, stream);
  if (stream.failure() != 0) {
    return file->error(stream.failure());
  }
  if (report.ok()) {
    HOLDFAST_CHECK(file->sync());
    HOLDFAST_CHECK(file->finish());
  }
  return report;
}

void print_report(const TransferReport& report, const std::string& file, Context& context) {
  if (context.json()) {
    JsonWriter writer;
    writer.begin_object();
    writer.member("file", file);
    writer.member("entries", report.entries);
    writer.member("batches", report.batches);
    writer.member("head", report.head.value);
    writer.member("chain", to_hex(report.chain));
    writer.end_object();
    print_json(context, std::move(writer));
    return;
  }
  print_line(context,
             fmt::format("exported {} in {} to {}", counted(report.entries, "entry", "entries"),
                         counted(report.batches, "batch", "batches"), harmless(file)));
}

}  // namespace

Result<void> run_command(const ExportOptions& options, Context& context) {
  if (options.file == "-") {
    HOLDFAST_TRY(const auto log, open_log_to_read(options.store, context));
    HOLDFAST_CHECK(export_with_bar(*log, context.out));
    return {};
  }
  HOLDFAST_CHECK(check_new_file(options.file, options.force));
  HOLDFAST_TRY(const auto log, open_log_to_read(options.store, context));
  HOLDFAST_TRY(const TransferReport report, export_to_file(*log, options.file));
  print_report(report, options.file, context);
  return {};
}

}  // namespace holdfast
